/**
 * Rewrites of graphs: {@link dev.nimble.transform.Transforms} runs the chosen {@link
 * dev.nimble.transform.Pass passes}; {@link dev.nimble.transform.OutputCopies} gives a graph the
 * form that planning needs.
 *
 * <p>Program order gives variables their meaning, so a pass moves no node that reads or updates
 * one.
 */
@NullMarked
package dev.nimble.transform;

import org.jspecify.annotations.NullMarked;
