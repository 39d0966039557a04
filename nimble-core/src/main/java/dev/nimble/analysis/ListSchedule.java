package dev.nimble.analysis;

import java.util.Arrays;

/**
 * Places the nodes of a DAG on a bounded number of streams by list scheduling: whenever a stream is
 * idle, of the nodes whose predecessors have finished the one with the longest path to a sink
 * starts. So no stream idles while a node is ready, and the makespan is at most 2 - 1/k of the best
 * on k streams, if the lengths are right [Graham 1969].
 *
 * <p>Of the idle streams a node takes the one whose last node is its latest predecessor, which
 * saves a synchronisation; else one that is still unused; else the one that holds most of its
 * predecessors, and of equal ones the one that has been idle longest. Hence, if the streams are
 * fewer than the width, all are used: else each would be a chain.
 */
public final class ListSchedule {
  private final Dag dag;
  private final long[] end;
  private final int[] streamOf;

  /** Per stream: its last node or -1, whether that has finished; and how many streams are used. */
  private final int[] last;

  private final boolean[] idle;
  private int used;
  private int idleCount;

  /** Scratch of {@link #streamFor}: how many predecessors of the node each stream holds. */
  private final int[] held;

  private final int[] order;
  private long makespan;

  private ListSchedule(Dag dag, int streams) {
    this.dag = dag;
    this.end = new long[dag.nodes()];
    this.streamOf = new int[dag.nodes()];
    this.order = new int[dag.nodes()];
    this.last = new int[streams];
    this.idle = new boolean[streams];
    this.held = new int[streams];
    this.idleCount = streams;
    Arrays.fill(last, -1);
    Arrays.fill(idle, true);
  }

  /**
   * Schedules {@code dag}, whose nodes run for {@code lengths}, on at most {@code streams} streams.
   * O(V log V + V streams + E).
   *
   * @throws IllegalArgumentException if there is no stream, or as {@link CriticalPath#of} says
   */
  public static ListSchedule of(Dag dag, long[] lengths, int streams) {
    if (streams < 1) {
      throw new IllegalArgumentException(streams + " streams; at least 1 is needed");
    }
    ListSchedule schedule = new ListSchedule(dag, Math.max(1, Math.min(streams, dag.nodes())));
    schedule.run(lengths, CriticalPath.of(dag, lengths));
    return schedule;
  }

  private void run(long[] lengths, CriticalPath path) {
    int n = dag.nodes();
    int[] flat = dag.flatPredecessors();
    int[] starts = new int[n + 2]; // successors of u: from starts[u] to starts[u + 1]
    for (int p : flat) {
      starts[p + 2]++;
    }
    for (int v = 0; v < n; v++) {
      starts[v + 2] += starts[v + 1];
    }
    int[] successors = new int[flat.length];
    int[] open = new int[n];
    long[] priority = new long[n];
    NodeHeap ready = new NodeHeap(priority);
    for (int v = 0; v < n; v++) {
      open[v] = dag.inDegree(v);
      for (int i = dag.start(v); i < dag.start(v + 1); i++) {
        successors[starts[flat[i] + 1]++] = v;
      }
      priority[v] = -path.toSink(v);
      if (open[v] == 0) {
        ready.add(v);
      }
    }
    NodeHeap running = new NodeHeap(end);
    int placed = 0;
    long time = 0;
    while (placed < n) {
      while (idleCount > 0 && !ready.isEmpty()) {
        int v = ready.removeLeast();
        order[placed++] = v;
        start(v, streamFor(v), time + lengths[v]);
        running.add(v);
      }
      if (!running.isEmpty()) {
        time = end[running.least()];
      }
      while (!running.isEmpty() && end[running.least()] == time) {
        int u = running.removeLeast();
        idle[streamOf[u]] = true;
        idleCount++;
        for (int i = starts[u]; i < starts[u + 1]; i++) {
          if (--open[successors[i]] == 0) {
            ready.add(successors[i]);
          }
        }
      }
    }
  }

  private void start(int v, int stream, long endOfNode) {
    streamOf[v] = stream;
    end[v] = endOfNode;
    used += last[stream] < 0 ? 1 : 0;
    last[stream] = v;
    idle[stream] = false;
    idleCount--;
    makespan = Math.max(makespan, endOfNode);
  }

  private int streamFor(int v) {
    int latest = -1;
    for (int i = 0; i < dag.inDegree(v); i++) {
      int p = dag.predecessor(v, i);
      if (last[streamOf[p]] == p && (latest < 0 || end[p] > end[latest])) {
        latest = p;
      }
    }
    if (latest >= 0) {
      return streamOf[latest];
    }
    if (used < last.length) {
      return used;
    }
    for (int i = 0; i < dag.inDegree(v); i++) {
      held[streamOf[dag.predecessor(v, i)]]++;
    }
    int best = -1;
    for (int s = 0; s < last.length; s++) {
      if (idle[s]
          && (best < 0
              || held[s] > held[best]
              || (held[s] == held[best] && end[last[s]] < end[last[best]]))) {
        best = s;
      }
    }
    for (int i = 0; i < dag.inDegree(v); i++) {
      held[streamOf[dag.predecessor(v, i)]] = 0;
    }
    return best;
  }

  /** The stream of each node, from 0 in the order of their first nodes; a fresh copy. */
  public int[] streamOf() {
    return streamOf.clone();
  }

  /** The nodes in the order in which they start, a topological one; a fresh copy. */
  public int[] order() {
    return order.clone();
  }

  /** How many streams hold a node. */
  public int streams() {
    return used;
  }

  /** When the last node ends, if every node runs for its length. */
  public long makespan() {
    return makespan;
  }
}
