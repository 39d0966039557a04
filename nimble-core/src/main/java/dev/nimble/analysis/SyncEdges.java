package dev.nimble.analysis;

import com.google.common.primitives.ImmutableIntArray;
import java.util.Arrays;

/**
 * The synchronisations that make streams respect a DAG: the transitive reduction of dependencies
 * and stream order together, without the edges that stream order itself gives. None can be dropped,
 * and no other set orders the same nodes with as few, since the reduction of a DAG is unique. A
 * smaller set may exist that makes some node wait for more than it needs; that would give
 * concurrency away.
 *
 * @param from for each synchronisation the node that must finish
 * @param to and the node that must wait; rising in launch order of {@code to}, then of {@code from}
 */
public record SyncEdges(ImmutableIntArray from, ImmutableIntArray to) {
  /**
   * Finds them.
   *
   * @param dag the dependencies; their transitive reduction will do
   * @param streamOf the stream of each node, from 0
   * @param launchOrder every node once, in a topological order; nodes of a stream run in this order
   * @throws IllegalArgumentException if the order is not that
   */
  public static SyncEdges of(Dag dag, int[] streamOf, int[] launchOrder) {
    int n = dag.nodes();
    int[] position = positions(launchOrder, n);
    int[] lastOf = new int[Arrays.stream(streamOf).max().orElse(-1) + 1];
    Arrays.fill(lastOf, -1);
    int[] starts = new int[n + 1];
    int[] flat = new int[dag.edges() + n];
    int count = 0;
    for (int i = 0; i < n; i++) { // the same DAG, numbered by launch order, with stream order added
      starts[i] = count;
      int v = launchOrder[i];
      for (int k = dag.start(v); k < dag.start(v + 1); k++) {
        flat[count++] = position[dag.flatPredecessors()[k]];
      }
      if (lastOf[streamOf[v]] >= 0) {
        flat[count++] = lastOf[streamOf[v]];
      }
      lastOf[streamOf[v]] = i;
    }
    starts[n] = count;
    Dag reduced = TransitiveReduction.of(Dag.of(starts, flat)).meg();
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

  private static int[] positions(int[] launchOrder, int nodes) {
    int[] position = new int[nodes];
    Arrays.fill(position, -1);
    for (int i = 0; i < launchOrder.length; i++) {
      int v = launchOrder[i];
      if (v < 0 || v >= nodes || position[v] >= 0) {
        throw new IllegalArgumentException(
            "node " + v + " of " + nodes + " is launched twice or unknown");
      }
      position[v] = i;
    }
    if (launchOrder.length != nodes) {
      throw new IllegalArgumentException(
          launchOrder.length + " of " + nodes + " nodes are launched");
    }
    return position;
  }

  /** How many there are. */
  public int count() {
    return from.length();
  }
}
