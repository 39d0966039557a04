/**
 * The operator DAG: immutable, insertion-ordered, with static shapes.
 *
 * <p>{@link dev.nimble.graph.GraphBuilder} is the way in, {@link dev.nimble.graph.Graph} the
 * result. A {@link dev.nimble.graph.Node} is one use of an {@link dev.nimble.graph.Operator}; a
 * {@link dev.nimble.graph.Value} is what flows between nodes. Mutable state is a value of kind
 * {@link dev.nimble.graph.Value.Kind#VARIABLE}; the order in which nodes were added is the program
 * order that gives reads and writes of a variable their meaning, and {@link dev.nimble.graph.Graph}
 * turns it into dependencies.
 */
@NullMarked
package dev.nimble.graph;

import org.jspecify.annotations.NullMarked;
