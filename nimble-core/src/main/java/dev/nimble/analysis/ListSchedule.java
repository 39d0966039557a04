package dev.nimble.analysis;

import java.util.Arrays;
import java.util.Comparator;
import java.util.PriorityQueue;

/**
 * Places the nodes of a DAG on a bounded number of streams by list scheduling: of the nodes whose
 * predecessors are placed, the one with the longest path to a sink goes next, to the stream on
 * which it can start first; of equal streams, one whose last node is a predecessor, which saves a
 * synchronisation.
 */
public final class ListSchedule {
  private final int[] streamOf;
  private final int[] order;

  private ListSchedule(int[] streamOf, int[] order) {
    this.streamOf = streamOf;
    this.order = order;
  }

  /**
   * Schedules {@code dag}, whose nodes run for {@code lengths}, none negative, on {@code streams}
   * streams. O(V log V + V streams + E).
   */
  public static ListSchedule of(Dag dag, long[] lengths, int streams) {
    int n = dag.nodes();
    CriticalPath path = CriticalPath.of(dag, lengths);
    int[] open = new int[n];
    int[] degree = new int[n];
    for (int v = 0; v < n; v++) {
      open[v] = dag.inDegree(v);
      for (int i = 0; i < open[v]; i++) {
        degree[dag.predecessor(v, i)]++;
      }
    }
    int[][] successors = new int[n][];
    for (int v = 0; v < n; v++) {
      successors[v] = new int[degree[v]];
    }
    for (int v = n - 1; v >= 0; v--) {
      for (int i = 0; i < dag.inDegree(v); i++) {
        int p = dag.predecessor(v, i);
        successors[p][--degree[p]] = v;
      }
    }
    PriorityQueue<Integer> ready =
        new PriorityQueue<>(
            Comparator.<Integer>comparingLong(v -> -path.toSink(v)).thenComparing(v -> v));
    for (int v = 0; v < n; v++) {
      if (open[v] == 0) {
        ready.add(v);
      }
    }
    int[] streamOf = new int[n];
    int[] order = new int[n];
    long[] end = new long[n];
    long[] free = new long[streams];
    int[] last = new int[streams];
    Arrays.fill(last, -1);
    int placed = 0;
    while (!ready.isEmpty()) {
      int v = ready.remove();
      long earliest = 0;
      for (int i = 0; i < dag.inDegree(v); i++) {
        earliest = Math.max(earliest, end[dag.predecessor(v, i)]);
      }
      int best = 0;
      boolean bestFollows = false;
      for (int s = 0; s < streams; s++) {
        long start = Math.max(earliest, free[s]);
        long bestStart = Math.max(earliest, free[best]);
        boolean follows = last[s] >= 0 && isPredecessor(dag, last[s], v);
        if (s == 0 || start < bestStart || (start == bestStart && follows && !bestFollows)) {
          best = s;
          bestFollows = follows;
        }
      }
      streamOf[v] = best;
      order[placed++] = v;
      end[v] = Math.max(earliest, free[best]) + lengths[v];
      free[best] = end[v];
      last[best] = v;
      for (int w : successors[v]) {
        if (--open[w] == 0) {
          ready.add(w);
        }
      }
    }
    return new ListSchedule(streamOf, order);
  }

  private static boolean isPredecessor(Dag dag, int u, int v) {
    for (int i = 0; i < dag.inDegree(v); i++) {
      if (dag.predecessor(v, i) == u) {
        return true;
      }
    }
    return false;
  }

  /** The stream of each node; a fresh copy. */
  public int[] streamOf() {
    return streamOf.clone();
  }

  /** The nodes in the order in which they were placed, a topological one; a fresh copy. */
  public int[] order() {
    return order.clone();
  }
}
