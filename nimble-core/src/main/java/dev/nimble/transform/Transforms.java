package dev.nimble.transform;

import com.google.common.collect.ImmutableSet;
import dev.nimble.graph.Graph;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;

/**
 * A choice of passes.
 *
 * @param passes those that run
 */
public record Transforms(ImmutableSet<Pass> passes) {
  private static final int MOST_ROUNDS = 8;

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

  /**
   * Runs the passes in order, again and again until none finds anything, for one pass may make work
   * for an earlier one. Fusion of elementwise nodes runs once, after the others: it hides what they
   * look for.
   */
  public Graph apply(Graph graph) {
    Graph current = graph;
    for (int round = 0; round < MOST_ROUNDS; round++) {
      int before = current.nodes().size();
      for (Pass pass : passes) {
        current = pass == Pass.ELEMENTWISE_FUSION ? current : pass.apply(current);
      }
      if (current.nodes().size() == before) {
        break;
      }
    }
    return passes.contains(Pass.ELEMENTWISE_FUSION)
        ? Pass.ELEMENTWISE_FUSION.apply(current)
        : current;
  }
}
