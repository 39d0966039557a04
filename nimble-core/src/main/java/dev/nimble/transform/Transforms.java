package dev.nimble.transform;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import dev.nimble.graph.Graph;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A choice of passes. They run in the order of {@link Pass}.
 *
 * @param passes those that run
 */
public record Transforms(ImmutableSet<Pass> passes) {
  private static final int MOST_ROUNDS = 32;

  /** Every pass. */
  public static Transforms all() {
    return new Transforms(ImmutableSet.copyOf(Pass.values()));
  }

  /** No pass. */
  public static Transforms none() {
    return new Transforms(ImmutableSet.of());
  }

  /** Every pass that keeps results bit for bit and each operator a node of its own. */
  public static Transforms unfused() {
    return all()
        .without(Pass.PATTERNS, Pass.CONV_BATCH_NORM, Pass.EPILOGUES, Pass.ELEMENTWISE_FUSION);
  }

  /** These passes but those. */
  public Transforms without(Pass... dropped) {
    Set<Pass> left = EnumSet.noneOf(Pass.class);
    left.addAll(passes);
    left.removeAll(Arrays.asList(dropped));
    return new Transforms(ImmutableSet.copyOf(left));
  }

  /** What {@link #trace} makes of a graph. */
  public Graph apply(Graph graph) {
    return trace(graph).graph();
  }

  /**
   * Runs the passes in order, again and again until none finds anything, for one pass may make work
   * for an earlier one. Fusion of elementwise nodes runs once, after the others: it hides what they
   * look for.
   */
  public Transformation trace(Graph graph) {
    ImmutableList.Builder<Transformation.Step> steps = ImmutableList.builder();
    Graph current = graph;
    @Nullable Graph before = null;
    int round = 0;
    while (current != before && round < MOST_ROUNDS) {
      before = current;
      round++;
      for (Pass pass : Pass.values()) {
        if (passes.contains(pass) && pass != Pass.ELEMENTWISE_FUSION) {
          current = step(pass, round, current, steps);
        }
      }
    }
    if (passes.contains(Pass.ELEMENTWISE_FUSION)) {
      current = step(Pass.ELEMENTWISE_FUSION, round, current, steps);
    }
    return new Transformation(graph, current, steps.build());
  }

  private static Graph step(
      Pass pass, int round, Graph graph, ImmutableList.Builder<Transformation.Step> steps) {
    Graph rewritten = pass.apply(graph);
    if (rewritten != graph) {
      int before = graph.nodes().size();
      steps.add(new Transformation.Step(pass, round, before, rewritten.nodes().size()));
    }
    return rewritten;
  }
}
