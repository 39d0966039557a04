package dev.nimble.analysis;

/**
 * Grows a matching along one augmenting path at a time. Each search goes on from the highest number
 * that it has come upon: there a path from y_v is likely to end not far before v, and the search
 * sees little else. A search that fails has seen nodes that no later path can use (as the matching
 * does not change there any more), so they are left out from then on.
 */
final class NearestFirstSearch {
  private final MatchingEdges edges;
  private final int[] flat;
  private final BipartiteMatching matching;

  /** Whether x_u, t_u have been seen by a search that failed or by this one. */
  private final boolean[] xSeen;

  private final boolean[] tSeen;

  /** Whence: 2v for y_v, 2u + 1 for t_u. */
  private final int[] xFrom;

  private final int[] tFrom;

  /**
   * What has been come upon, in the same numbers: a bit each, a bit for each word of those that is
   * not 0, and no word of the latter after {@code highest} that is not 0.
   */
  private final long[] pending;

  private final long[] pendingWords;
  private int highest = -1;

  /** What this search has seen: u for x_u, ~u for t_u. */
  private final int[] trail;

  private int trailSize;

  /** No search from a lower node succeeds any more. */
  private int nextRoot;

  NearestFirstSearch(MatchingEdges edges, BipartiteMatching matching) {
    int n = edges.dag().nodes();
    this.edges = edges;
    this.flat = edges.dag().flatPredecessors();
    this.matching = matching;
    this.xSeen = new boolean[n];
    this.tSeen = new boolean[n];
    this.xFrom = new int[n];
    this.tFrom = new int[n];
    this.pending = new long[(2 * n >>> 6) + 1];
    this.pendingWords = new long[(2 * n >>> 12) + 1];
    this.trail = new int[2 * n];
  }

  /**
   * Grows until there is no augmenting path, or until {@code mostSteps} are taken, going on from
   * where the last call ended; whether the matching is a maximum one then.
   */
  boolean grow(long mostSteps) {
    Dag dag = edges.dag();
    long steps = 0;
    for (; nextRoot < dag.nodes(); nextRoot++) {
      if (matching.leader[nextRoot] < 0 && dag.inDegree(nextRoot) > 0) {
        if (steps > mostSteps) {
          return false;
        }
        steps += search(nextRoot);
      }
    }
    return true;
  }

  /**
   * The nodes u whose x_u an alternating path from a free y reaches, once the matching is maximum.
   */
  boolean[] reached() {
    return xSeen;
  }

  /** Looks for an augmenting path from the free y_root and augments; returns the steps taken. */
  private long search(int root) {
    Dag dag = edges.dag();
    long steps = 0;
    trailSize = 0;
    push(2 * root);
    for (int at = pop(); at >= 0; at = pop()) {
      int v = at >> 1;
      boolean isRight = (at & 1) == 0;
      boolean enters = !isRight || edges.enters(v);
      steps += 1 + dag.inDegree(v);
      for (int i = dag.start(v + 1) - 1; i >= dag.start(v); i--) {
        int p = flat[i];
        if (isRight && !xSeen[p] && edges.joins(p, v) && see(p, at)) {
          return steps;
        }
        if (enters && !tSeen[p]) {
          tSeen[p] = true;
          trail[trailSize++] = ~p;
          tFrom[p] = at;
          if (!xSeen[p] && edges.leaves(p) && see(p, 2 * p + 1)) {
            return steps;
          }
          push(2 * p + 1);
        }
      }
    }
    return steps;
  }

  /** Comes upon x_u; whether that completes an augmenting path. */
  private boolean see(int u, int from) {
    xSeen[u] = true;
    trail[trailSize++] = u;
    xFrom[u] = from;
    if (matching.follower[u] >= 0) {
      push(2 * matching.follower[u]);
      return false;
    }
    augment(u);
    forget();
    return true;
  }

  /** Augments along the path that was found, back from the free x_last. */
  private void augment(int last) {
    for (int left = last; left >= 0; ) {
      int at = xFrom[left];
      while ((at & 1) == 1) {
        at = tFrom[at >> 1];
      }
      int before = matching.leader[at >> 1];
      matching.match(left, at >> 1);
      left = before;
    }
    matching.grow();
  }

  /** Undoes what a search that succeeded has seen. */
  private void forget() {
    while (pop() >= 0) {
      // the next search begins with none
    }
    while (trailSize > 0) {
      int seen = trail[--trailSize];
      if (seen >= 0) {
        xSeen[seen] = false;
      } else {
        tSeen[~seen] = false;
      }
    }
  }

  private void push(int added) {
    pending[added >>> 6] |= 1L << added;
    pendingWords[added >>> 12] |= 1L << (added >>> 6);
    highest = Math.max(highest, added >>> 12);
  }

  /** Takes out the highest; -1 if there is none. */
  private int pop() {
    while (highest >= 0 && pendingWords[highest] == 0) {
      highest--;
    }
    if (highest < 0) {
      return -1;
    }
    int word = (highest << 6) + 63 - Long.numberOfLeadingZeros(pendingWords[highest]);
    int bit = 63 - Long.numberOfLeadingZeros(pending[word]);
    pending[word] &= ~(1L << bit);
    if (pending[word] == 0) {
      pendingWords[highest] &= ~(1L << word);
    }
    return (word << 6) + bit;
  }
}
