package dev.nimble.plan;

import com.google.common.collect.ImmutableList;
import dev.nimble.buffer.BufferUse;
import dev.nimble.graph.Node;

/**
 * One command of an {@link ExecutionPlan}, on one stream. Commands of a stream run in the order in
 * which they are issued; commands of different streams are ordered only by events.
 */
public sealed interface Command {
  /** The stream, in {@code [0, plan.streams())}. */
  int stream();

  /**
   * Runs the kernel of {@code node}.
   *
   * @param stream the stream
   * @param node the node
   * @param uses inputs in order (READ, or UPDATE for a mutated variable), then outputs (WRITE),
   *     then the workspace (SCRATCH) if there is one
   */
  record Launch(int stream, Node node, ImmutableList<BufferUse> uses) implements Command {}

  /**
   * Stands for {@code node} whose output 0 shows the bytes of its input 0: no kernel runs.
   *
   * @param stream the stream
   * @param node the node
   */
  record View(int stream, Node node) implements Command {}

  /**
   * Records {@code event}: it fires when all earlier commands of this stream have finished. Each
   * event is recorded once a step, and may be waited for several times.
   *
   * @param stream the stream
   * @param event the event, in {@code [0, plan.events())}
   */
  record RecordEvent(int stream, int event) implements Command {}

  /**
   * Holds the stream's later commands until {@code event}, which was recorded by an earlier command
   * of the plan on another stream, has fired.
   *
   * @param stream the stream
   * @param event the event
   */
  record WaitEvent(int stream, int event) implements Command {}
}
