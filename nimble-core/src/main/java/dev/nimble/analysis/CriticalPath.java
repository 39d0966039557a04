package dev.nimble.analysis;

/**
 * Longest paths of a DAG whose nodes have lengths: for each node the longest path that leads to it,
 * and the longest that begins with it. The longest of all bounds the makespan from below, however
 * many streams there are. O(V + E).
 */
public final class CriticalPath {
  private final long[] earliestStart;
  private final long[] toSink;
  private final long length;
  private final long total;

  private CriticalPath(long[] earliestStart, long[] toSink, long length, long total) {
    this.earliestStart = earliestStart;
    this.toSink = toSink;
    this.length = length;
    this.total = total;
  }

  /**
   * Computes it for nodes of these lengths, in any unit.
   *
   * @throws IllegalArgumentException if there is not one length a node, or one is negative
   * @throws ArithmeticException if the lengths add up to more than a long holds
   */
  public static CriticalPath of(Dag dag, long[] lengths) {
    int n = dag.nodes();
    if (lengths.length != n) {
      throw new IllegalArgumentException(lengths.length + " lengths for " + n + " nodes");
    }
    long total = 0;
    for (int v = 0; v < n; v++) {
      if (lengths[v] < 0) {
        throw new IllegalArgumentException("node " + v + " has the length " + lengths[v]);
      }
      total = Math.addExact(total, lengths[v]);
    }
    long[] earliestStart = new long[n];
    long[] toSink = lengths.clone();
    long longest = 0;
    for (int v = 0; v < n; v++) { // predecessors are complete
      for (int i = dag.start(v); i < dag.start(v + 1); i++) {
        int p = dag.flatPredecessors()[i];
        earliestStart[v] = Math.max(earliestStart[v], earliestStart[p] + lengths[p]);
      }
    }
    for (int v = n - 1; v >= 0; v--) { // successors are complete
      longest = Math.max(longest, toSink[v]);
      for (int i = dag.start(v); i < dag.start(v + 1); i++) {
        int p = dag.flatPredecessors()[i];
        toSink[p] = Math.max(toSink[p], lengths[p] + toSink[v]);
      }
    }
    return new CriticalPath(earliestStart, toSink, longest, total);
  }

  /** The length of the longest path that leads to {@code v}, without {@code v} itself. */
  public long earliestStart(int v) {
    return earliestStart[v];
  }

  /** The length of the longest path that begins with {@code v}, {@code v} included. */
  public long toSink(int v) {
    return toSink[v];
  }

  /**
   * How much longer {@code v} may take with no longest path becoming longer; 0 on a critical path.
   */
  public long slack(int v) {
    return length - earliestStart[v] - toSink[v];
  }

  /** The length of the longest path. */
  public long length() {
    return length;
  }

  /** What no schedule on so many streams can beat: the longest path, or all work evenly spread. */
  public long leastMakespan(int streams) {
    return Math.max(length, total / streams + (total % streams == 0 ? 0 : 1));
  }
}
