package dev.nimble.transform;

import com.google.common.collect.ImmutableList;
import dev.nimble.graph.Graph;

/**
 * What passes made of a graph, and how.
 *
 * @param original the graph as it was given
 * @param graph the graph that equals it
 * @param steps what each pass that changed something did, in order
 */
public record Transformation(Graph original, Graph graph, ImmutableList<Step> steps) {
  /**
   * One pass over the graph that changed it.
   *
   * @param pass which
   * @param round in which round over all passes, from 1
   * @param nodesBefore nodes of the graph before it
   * @param nodesAfter nodes after it; as many, or more, where the pass leaves parts that are no
   *     longer read to {@link Pass#DEAD_CODE}
   */
  public record Step(Pass pass, int round, int nodesBefore, int nodesAfter) {
    /** For example {@code round 1: constant-folding, 692 nodes before, 549 after}. */
    @Override
    public String toString() {
      return "round "
          + round
          + ": "
          + pass
          + ", "
          + nodesBefore
          + " nodes before, "
          + nodesAfter
          + " after";
    }
  }

  /** A line a step, and a line for the whole. */
  public String explain() {
    StringBuilder text = new StringBuilder();
    steps.forEach(step -> text.append(step).append('\n'));
    return text.append(original.nodes().size())
        .append(" nodes became ")
        .append(graph.nodes().size())
        .append('\n')
        .toString();
  }
}
