package dev.nimble.analysis;

import java.util.Arrays;

/**
 * An immutable directed acyclic graph whose numbering is a topological order: every edge goes from
 * a lower to a higher number. Edges are stored once each, by head, in two flat arrays.
 */
public final class Dag {
  private final int nodes;
  private final int[] starts;
  private final int[] predecessors;

  private Dag(int nodes, int[] starts, int[] predecessors) {
    this.nodes = nodes;
    this.starts = starts;
    this.predecessors = predecessors;
  }

  /**
   * Returns the graph in which node {@code v} has the predecessors {@code predecessors[v]};
   * repeated ones count once. O(V + E log E).
   *
   * @throws IllegalArgumentException if a predecessor of a node is not a lower number: the
   *     numbering is not topological, as on a cycle
   */
  public static Dag of(int[][] predecessors) {
    int n = predecessors.length;
    int[] starts = new int[n + 1];
    int total = 0;
    for (int v = 0; v < n; v++) {
      total = Math.addExact(total, predecessors[v].length);
      starts[v + 1] = total;
    }
    int[] flat = new int[total];
    for (int v = 0; v < n; v++) {
      System.arraycopy(predecessors[v], 0, flat, starts[v], predecessors[v].length);
    }
    return of(starts, flat);
  }

  /**
   * The graph in which node v has the predecessors from {@code starts[v]} to {@code starts[v + 1]}
   * of {@code flat}. Takes both arrays for itself.
   */
  static Dag of(int[] starts, int[] flat) {
    int n = starts.length - 1;
    int count = 0;
    int from = 0;
    for (int v = 0; v < n; v++) {
      int to = starts[v + 1];
      sort(flat, from, to);
      starts[v] = count;
      if (from < to && (flat[from] < 0 || flat[to - 1] >= v)) {
        throw new IllegalArgumentException(
            "edge "
                + (flat[from] < 0 ? flat[from] : flat[to - 1])
                + " -> "
                + v
                + ": the numbering is not a topological order");
      }
      for (int i = from; i < to; i++) {
        if (i == from || flat[i] != flat[i - 1]) {
          flat[count++] = flat[i];
        }
      }
      from = to;
    }
    starts[n] = count;
    return new Dag(n, starts, count == flat.length ? flat : Arrays.copyOf(flat, count));
  }

  /** Sorts a part of an array that is mostly short, and often in order. */
  private static void sort(int[] array, int from, int to) {
    if (to - from > 32) {
      Arrays.sort(array, from, to);
      return;
    }
    for (int i = from + 1; i < to; i++) {
      int value = array[i];
      int at = i;
      while (at > from && array[at - 1] > value) {
        array[at] = array[at - 1];
        at--;
      }
      array[at] = value;
    }
  }

  /** Trusts its arguments: predecessors distinct, rising and lower. */
  static Dag ofFlat(int[] starts, int[] predecessors) {
    return new Dag(starts.length - 1, starts, predecessors);
  }

  /** The number of nodes. */
  public int nodes() {
    return nodes;
  }

  /** The number of edges. */
  public int edges() {
    return predecessors.length;
  }

  /** How many predecessors {@code v} has. */
  public int inDegree(int v) {
    return starts[v + 1] - starts[v];
  }

  /** Predecessor {@code i} of {@code v}; they rise with {@code i}. */
  public int predecessor(int v, int i) {
    return predecessors[starts[v] + i];
  }

  /** Where the predecessors of {@code v} begin in {@link #flatPredecessors}; {@code v} may be V. */
  int start(int v) {
    return starts[v];
  }

  /** {@link #start} of every node, and of V. Not to be modified. */
  int[] starts() {
    return starts;
  }

  /** The predecessors of all nodes, one after the other. Not to be modified. */
  int[] flatPredecessors() {
    return predecessors;
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder(nodes + " nodes:");
    for (int v = 0; v < nodes; v++) {
      for (int i = 0; i < inDegree(v); i++) {
        text.append(' ').append(predecessor(v, i)).append('>').append(v);
      }
    }
    return text.toString();
  }
}
