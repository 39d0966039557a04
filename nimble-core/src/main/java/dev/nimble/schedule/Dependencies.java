package dev.nimble.schedule;

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.analysis.Dag;
import dev.nimble.analysis.PathCover;
import dev.nimble.analysis.SyncEdges;
import dev.nimble.analysis.TransitiveReduction;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import java.util.stream.IntStream;

/** A graph as numbers, and the way back: what every policy begins and ends with. */
record Dependencies(Graph graph, Dag dag, PathCover cover) {
  static Dependencies of(Graph graph) {
    Dag dag = Dag.of(graph.predecessorIds());
    return new Dependencies(graph, dag, PathCover.of(TransitiveReduction.of(dag)));
  }

  int[] programOrder() {
    return IntStream.range(0, dag.nodes()).toArray();
  }

  /** Completes the cover's own placement, in program order. */
  Schedule scheduleCover(String policy, String optimality) {
    return schedule(policy, cover.chainOf(), programOrder(), cover.syncEdges(), optimality);
  }

  /** Completes a placement with the fewest synchronisations that it needs. */
  Schedule schedule(String policy, int[] streamOf, int[] launchOrder, String optimality) {
    SyncEdges edges = SyncEdges.of(dag, streamOf, launchOrder);
    return schedule(policy, streamOf, launchOrder, edges, optimality);
  }

  private Schedule schedule(
      String policy, int[] streamOf, int[] launchOrder, SyncEdges edges, String optimality) {
    ImmutableList<Node> nodes = graph.nodes();
    ImmutableList.Builder<Sync> syncs = ImmutableList.builder();
    for (int i = 0; i < edges.count(); i++) {
      syncs.add(new Sync(nodes.get(edges.from().get(i)), nodes.get(edges.to().get(i))));
    }
    return new Schedule(
        graph,
        policy,
        IntStream.of(streamOf).max().orElse(-1) + 1,
        ImmutableIntArray.copyOf(streamOf),
        IntStream.of(launchOrder).mapToObj(nodes::get).collect(ImmutableList.toImmutableList()),
        syncs.build(),
        cover.width(),
        optimality);
  }
}
