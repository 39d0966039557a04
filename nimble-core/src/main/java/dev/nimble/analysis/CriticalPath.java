package dev.nimble.analysis;

/**
 * Longest paths of a DAG whose nodes have lengths: for each node the longest path that begins with
 * it. The longest of all is a lower bound on the makespan, however many streams there are. O(V +
 * E).
 */
public final class CriticalPath {
  private final long[] toSink;
  private final long length;

  private CriticalPath(long[] toSink, long length) {
    this.toSink = toSink;
    this.length = length;
  }

  /** Computes it for nodes of these lengths, none negative. */
  public static CriticalPath of(Dag dag, long[] lengths) {
    long[] toSink = lengths.clone();
    long longest = 0;
    for (int v = dag.nodes() - 1; v >= 0; v--) { // successors are complete
      longest = Math.max(longest, toSink[v]);
      for (int i = 0; i < dag.inDegree(v); i++) {
        int p = dag.predecessor(v, i);
        toSink[p] = Math.max(toSink[p], lengths[p] + toSink[v]);
      }
    }
    return new CriticalPath(toSink, longest);
  }

  /** The length of the longest path that begins with {@code v}, {@code v} included. */
  public long toSink(int v) {
    return toSink[v];
  }

  /** The length of the longest path. */
  public long length() {
    return length;
  }
}
