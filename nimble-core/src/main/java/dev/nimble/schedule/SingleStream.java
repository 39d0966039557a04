package dev.nimble.schedule;

import dev.nimble.graph.Graph;
import dev.nimble.op.KernelChoices;

/** Every node on stream 0, in program order. */
record SingleStream() implements SchedulingPolicy {
  static final String NAME = "single-stream";

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public Schedule schedule(Graph graph, KernelChoices kernels) {
    Dependencies dependencies = Dependencies.of(graph);
    int[] streamOf = new int[graph.nodes().size()];
    return dependencies.schedule(
        NAME, streamOf, dependencies.programOrder(), "one stream by definition");
  }
}
