package dev.nimble.schedule;

import dev.nimble.analysis.ListSchedule;
import dev.nimble.analysis.PathCover;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.op.KernelChoice;
import dev.nimble.op.KernelChoices;
import dev.nimble.op.ResourceDemand;

/** Nimble's stream assignment, with a bound on the streams. */
record NimblePolicy(int mostStreams) implements SchedulingPolicy {
  static final String NAME = "nimble";

  @Override
  public String name() {
    return mostStreams == Integer.MAX_VALUE ? NAME : NAME + "(" + mostStreams + ")";
  }

  @Override
  public Schedule schedule(Graph graph, KernelChoices kernels) {
    Dependencies dependencies = Dependencies.of(graph);
    PathCover cover = dependencies.cover();
    if (cover.chains() <= mostStreams) {
      return dependencies.scheduleCover(name(), inWords(cover.optimality()));
    }
    ListSchedule bounded =
        ListSchedule.of(dependencies.dag(), lengths(graph, kernels), mostStreams);
    return dependencies.schedule(
        name(),
        bounded.streamOf(),
        bounded.order(),
        "bounded to "
            + mostStreams
            + " of "
            + cover.chains()
            + " streams; no sync that stream order implies");
  }

  private static String inWords(PathCover.Optimality optimality) {
    return optimality == PathCover.Optimality.BOTH
        ? "fewest syncs and fewest streams, both proved"
        : "fewest syncs, and fewest streams at that number of syncs; more streams than the width";
  }

  /**
   * Relative run times: what is measured, else what the kernels demand; never 0, so that order
   * counts.
   */
  private static long[] lengths(Graph graph, KernelChoices kernels) {
    long[] lengths = new long[graph.nodes().size()];
    for (Node node : graph.nodes()) {
      KernelChoice choice = kernels.of(node);
      ResourceDemand demand = choice.demand();
      long estimated =
          demand.estimatedNanos() > 0
              ? demand.estimatedNanos()
              : Math.max(demand.floatingPointOperations(), demand.bytesMoved());
      lengths[node.id()] = 1 + (choice.view() ? 0 : estimated);
    }
    return lengths;
  }
}
