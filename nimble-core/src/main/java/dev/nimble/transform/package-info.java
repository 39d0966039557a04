/**
 * Rewrites of graphs: {@link dev.nimble.transform.Transforms} runs the chosen {@link
 * dev.nimble.transform.Pass passes}; {@link dev.nimble.transform.OutputCopies} gives a graph the
 * form that planning needs.
 *
 * <p>Program order gives variables their meaning, so a pass moves a node that reads one only where
 * no update lies between, and never an update.
 */
@NullMarked
package dev.nimble.transform;

import org.jspecify.annotations.NullMarked;
