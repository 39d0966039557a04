package dev.nimble.analysis;

/**
 * Finds implied edges with a bit for each pair of nodes, the closure being made for a block of
 * ancestors at a time, and only as far as an edge from the block may be implied. For wide graphs.
 */
final class BlockReduction {
  /** Longs a row: 1,024 ancestors a block. */
  private static final int MOST_WORDS = 16;

  private BlockReduction() {}

  /** How many longs {@link #impliedEdges} will combine. */
  static long cost(Dag dag, int[] lastHeads) {
    int words = words(dag);
    long edges = 0;
    for (int first = 0; first < dag.nodes(); first += 64 * words) {
      int end = end(lastHeads, first, first + 64 * words);
      edges += end > first ? dag.start(end) - dag.start(first) : 0;
    }
    return edges * words;
  }

  /**
   * Which edges are implied, in the order of {@link Dag#flatPredecessors}.
   *
   * @param lastHeads see {@link TransitiveReduction#lastDoubtfulHeads}
   */
  static boolean[] impliedEdges(Dag dag, int[] lastHeads) {
    int n = dag.nodes();
    int[] flat = dag.flatPredecessors();
    boolean[] implied = new boolean[flat.length];
    int words = words(dag);
    long[] rows = new long[0];
    for (int first = 0; first < n; first += 64 * words) {
      int end = end(lastHeads, first, first + 64 * words);
      int length = Math.multiplyExact(Math.max(0, end - first), words);
      if (rows.length < length) {
        rows = new long[length];
      } else {
        java.util.Arrays.fill(rows, 0, length, 0);
      }
      for (int v = first; v < end; v++) {
        int to = (v - first) * words;
        for (int i = dag.start(v + 1) - 1; i >= dag.start(v) && flat[i] >= first; i--) {
          int bit = flat[i] - first;
          if (bit < 64 * words) {
            int word = to + (bit >>> 6);
            implied[i] = (rows[word] & 1L << bit) != 0; // by a later predecessor
            rows[word] |= 1L << bit;
          }
          if (!implied[i]) {
            int from = bit * words;
            for (int w = 0; w < words; w++) {
              rows[to + w] |= rows[from + w];
            }
          }
        }
      }
    }
    return implied;
  }

  private static int words(Dag dag) {
    return Math.min(MOST_WORDS, (dag.nodes() + 63) >>> 6);
  }

  /** One more than the last head of an edge from the block that may be implied; else 0. */
  private static int end(int[] lastHeads, int first, int to) {
    int last = -1;
    for (int u = first; u < Math.min(to, lastHeads.length); u++) {
      last = Math.max(last, lastHeads[u]);
    }
    return last + 1;
  }
}
