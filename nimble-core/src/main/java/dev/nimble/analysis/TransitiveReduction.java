package dev.nimble.analysis;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The transitive reduction of a DAG, which for a DAG is unique and is its minimum equivalent graph
 * (MEG): the edges that no longer path implies [Nimble, Algorithm 1, step 1].
 *
 * <p>An edge can only be implied if its tail has another successor, and its head is two levels or
 * more after it; where there is none such, nothing is computed. Else {@link ChainReduction} does it
 * in O(E k) for the k chains of a greedy cover, unless {@link BlockReduction}, O(E V / 64), is the
 * cheaper of the two. Neither keeps a closure, so memory is in the order of the DAG's own.
 */
public final class TransitiveReduction {
  private final Dag meg;

  private TransitiveReduction(Dag meg) {
    this.meg = meg;
  }

  /** Reduces {@code dag}. */
  public static TransitiveReduction of(Dag dag) {
    int[] lastHeads = lastDoubtfulHeads(dag);
    if (lastHeads == null) {
      return new TransitiveReduction(dag);
    }
    boolean[] implied = ChainReduction.impliedEdges(dag, 1 + BlockReduction.cost(dag, lastHeads));
    if (implied == null) {
      implied = BlockReduction.impliedEdges(dag, lastHeads);
    }
    return new TransitiveReduction(without(dag, implied));
  }

  /**
   * For each node the last successor to which its edge may be implied, or -1 for none; null if no
   * edge may be.
   */
  static int @Nullable [] lastDoubtfulHeads(Dag dag) {
    int n = dag.nodes();
    int[] flat = dag.flatPredecessors();
    int[] level = new int[n];
    int[] lastHeads = new int[n];
    int[] successors = new int[n];
    for (int p : flat) {
      successors[p]++;
    }
    Arrays.fill(lastHeads, -1);
    boolean any = false;
    for (int v = 0; v < n; v++) {
      int from = dag.start(v);
      int to = dag.start(v + 1);
      for (int i = from; i < to; i++) {
        level[v] = Math.max(level[v], level[flat[i]] + 1);
      }
      for (int i = from; i < to; i++) {
        if (level[flat[i]] < level[v] - 1 && successors[flat[i]] > 1) {
          lastHeads[flat[i]] = v;
          any = true;
        }
      }
    }
    return any ? lastHeads : null;
  }

  /** The DAG without the edges, in the order of {@link Dag#flatPredecessors}, that are implied. */
  static Dag without(Dag dag, boolean[] implied) {
    int n = dag.nodes();
    int[] flat = dag.flatPredecessors();
    int[] starts = new int[n + 1];
    int[] kept = new int[flat.length];
    int count = 0;
    for (int v = 0; v < n; v++) {
      starts[v] = count;
      for (int i = dag.start(v); i < dag.start(v + 1); i++) {
        if (!implied[i]) {
          kept[count++] = flat[i];
        }
      }
    }
    starts[n] = count;
    return Dag.ofFlat(starts, Arrays.copyOf(kept, count));
  }

  /** The minimum equivalent graph. */
  public Dag meg() {
    return meg;
  }
}
