package dev.nimble.plan;

import com.google.common.collect.ImmutableList;
import dev.nimble.graph.Node;

/**
 * When each launch of one replay ran.
 *
 * @param spans in order of start
 * @param totalNanos from the call of replay to its return
 */
public record Timeline(ImmutableList<Span> spans, long totalNanos) {
  /**
   * One launch.
   *
   * @param node what ran
   * @param stream the plan's stream
   * @param worker the host thread or hardware queue that ran it
   * @param startNanos since the start of the replay
   * @param endNanos since the start of the replay
   */
  public record Span(Node node, int stream, int worker, long startNanos, long endNanos) {}
}
