package dev.nimble.schedule;

import dev.nimble.graph.Graph;
import dev.nimble.op.KernelChoices;

/** A way of placing a graph's nodes on streams. Pure: equal arguments give equal schedules. */
public interface SchedulingPolicy {
  /** The policy's name, as printed and as given on the command line. */
  String name();

  /** Schedules every node of {@code graph}, whose kernels have been chosen. */
  Schedule schedule(Graph graph, KernelChoices kernels);
}
