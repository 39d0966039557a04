package dev.nimble.analysis;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The transitive reduction of a DAG, which for a DAG is unique and is its minimum equivalent graph (MEG):
 * the edges that no longer path implies [Nimble, Algorithm 1, step 1].
 *
 * <p>The closure that it needs is kept for the matching that follows, in whichever of two forms is smaller
 * for this graph: chains (V k numbers for k chains) or bits (V^2 / 8 bytes). O(E k) or O(E V / 64) time.
 * Where both exceed {@link #MOST_CLOSURE_BYTES} the reduction is still computed, block by block, and no
 * closure is kept.
 */
public final class TransitiveReduction {
  /** The most memory that a closure may take. */
  static final long MOST_CLOSURE_BYTES = 512L << 20;

  private static final int BLOCK = 4096;

  private final Dag meg;
  private final @Nullable Ancestors ancestors;

  private TransitiveReduction(Dag meg, @Nullable Ancestors ancestors) {
    this.meg = meg;
    this.ancestors = ancestors;
  }

  /** Reduces {@code dag}. */
  public static TransitiveReduction of(Dag dag) {
    return of(dag, MOST_CLOSURE_BYTES);
  }

  /** As {@link #of(Dag)}, with another limit on the closure's size. */
  static TransitiveReduction of(Dag dag, long mostClosureBytes) {
    long bitBytes = BitAncestors.sizeBytes(dag.nodes());
    long mostChainBytes = Math.min(mostClosureBytes, Math.max(bitBytes, 1 << 16));
    ChainAncestors.Built chains = ChainAncestors.build(dag, mostChainBytes / 4);
    if (chains != null) {
      return new TransitiveReduction(
          Dag.ofFlat(chains.starts(), chains.predecessors()), chains.ancestors());
    }
    if (bitBytes <= mostClosureBytes) {
      return byBits(dag);
    }
    return new TransitiveReduction(byBlocks(dag), null);
  }

  /** The closure as bits; for tests of both forms. */
  static TransitiveReduction byBits(Dag dag) {
    int n = dag.nodes();
    BitAncestors closure = new BitAncestors(n);
    int[] flat = dag.flatPredecessors();
    int[] starts = new int[n + 1];
    int[] kept = new int[flat.length];
    int count = 0;
    for (int v = 0; v < n; v++) {
      starts[v] = count;
      for (int i = dag.start(v + 1) - 1; i >= dag.start(v); i--) {
        if (!closure.reaches(flat[i], v)) { // else a later predecessor implies it
          closure.addPredecessor(v, flat[i]);
          kept[count++] = flat[i];
        }
      }
      Arrays.sort(kept, starts[v], count);
    }
    starts[n] = count;
    return new TransitiveReduction(Dag.ofFlat(starts, Arrays.copyOf(kept, count)), closure);
  }

  /**
   * The reduction alone, from a closure that exists for {@link #BLOCK} ancestors at a time: V times BLOCK
   * bits of memory, O(E V / 64) time.
   */
  static Dag byBlocks(Dag dag) {
    int n = dag.nodes();
    int[] flat = dag.flatPredecessors();
    boolean[] implied = new boolean[flat.length];
    int words = BLOCK / 64;
    for (int first = 0; first < n; first += BLOCK) {
      long[] rows = new long[(n - first) * words]; // earlier nodes have no ancestor in this block
      for (int v = first; v < n; v++) {
        int to = (v - first) * words;
        for (int i = dag.start(v + 1) - 1; i >= dag.start(v) && flat[i] >= first; i--) {
          int p = flat[i];
          int bit = p - first;
          if (bit < BLOCK) {
            implied[i] = (rows[to + (bit >>> 6)] & 1L << bit) != 0;
            rows[to + (bit >>> 6)] |= 1L << bit;
          }
          int from = (p - first) * words;
          for (int w = 0; w < words; w++) {
            rows[to + w] |= rows[from + w];
          }
        }
      }
    }
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

  /** The closure, or null if it was too large to keep. */
  @Nullable Ancestors ancestors() {
    return ancestors;
  }

  /**
   * Whether a path leads from {@code u} to {@code v}.
   *
   * @throws IllegalStateException if the closure was too large to keep
   */
  public boolean reaches(int u, int v) {
    if (ancestors == null) {
      throw new IllegalStateException("the closure of " + meg.nodes() + " nodes was not kept");
    }
    return ancestors.reaches(u, v);
  }
}
