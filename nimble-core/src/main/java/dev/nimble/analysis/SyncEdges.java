package dev.nimble.analysis;

import com.google.common.primitives.ImmutableIntArray;

/**
 * The fewest synchronisations that make streams respect a DAG: the transitive reduction of
 * dependencies and stream order together, without the edges that stream order itself gives. No
 * smaller set does, since the reduction of a DAG is unique: any set that orders the same pairs
 * contains it.
 *
 * @param from for each synchronisation the node that must finish
 * @param to and the node that must wait; rising in launch order of {@code to}, then of {@code from}
 */
public record SyncEdges(ImmutableIntArray from, ImmutableIntArray to) {
  /**
   * Finds them.
   *
   * @param dag the dependencies
   * @param streamOf the stream of each node
   * @param launchOrder every node once, in a topological order; nodes of a stream run in this order
   */
  public static SyncEdges of(Dag dag, int[] streamOf, int[] launchOrder) {
    int n = dag.nodes();
    int[] position = new int[n];
    for (int i = 0; i < n; i++) {
      position[launchOrder[i]] = i;
    }
    int[] lastOf = new int[java.util.stream.IntStream.of(streamOf).max().orElse(-1) + 1];
    java.util.Arrays.fill(lastOf, -1);
    int[][] predecessors = new int[n][];
    for (int i = 0; i < n; i++) { // the same DAG, numbered by launch order, with stream order added
      int v = launchOrder[i];
      int before = lastOf[streamOf[v]];
      int degree = dag.inDegree(v);
      int[] list = new int[degree + (before < 0 ? 0 : 1)];
      for (int k = 0; k < degree; k++) {
        list[k] = position[dag.predecessor(v, k)];
      }
      if (before >= 0) {
        list[degree] = before;
      }
      predecessors[i] = list;
      lastOf[streamOf[v]] = i;
    }
    Dag reduced = TransitiveReduction.of(Dag.of(predecessors)).meg();
    ImmutableIntArray.Builder from = ImmutableIntArray.builder();
    ImmutableIntArray.Builder to = ImmutableIntArray.builder();
    for (int i = 0; i < n; i++) {
      for (int k = 0; k < reduced.inDegree(i); k++) {
        int u = launchOrder[reduced.predecessor(i, k)];
        if (streamOf[u] != streamOf[launchOrder[i]]) {
          from.add(u);
          to.add(launchOrder[i]);
        }
      }
    }
    return new SyncEdges(from.build(), to.build());
  }

  /** How many there are. */
  public int count() {
    return from.length();
  }
}
