/** Tests of {@link dev.nimble.graph}. */
@NullMarked
package dev.nimble.graph;

import org.jspecify.annotations.NullMarked;
