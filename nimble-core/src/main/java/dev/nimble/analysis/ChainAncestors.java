package dev.nimble.analysis;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * The closure over a cover of the nodes by chains (each node reaches the next of its chain): for each node
 * and chain, the last node of the chain that reaches it; all earlier ones then do as well. V times k
 * numbers for k chains, so much less than {@link BitAncestors} where a large graph is narrow.
 *
 * <p>The chains are found on the way, greedily: a node joins a chain whose last node reaches it. On the
 * graphs of networks their number is the width or little more.
 */
final class ChainAncestors implements Ancestors {
  private final int nodes;
  /** The chain of each node, and its place there, from 0. */
  private final int[] chainOf;
  private final int[] placeIn;
  /** The node before on its chain, or -1. */
  private final int[] before;
  /** For each chain its last node. */
  private int[] last;
  private int chains;
  /** {@code rows[v][c]}: the last place in chain c that reaches v, or -1; chains beyond the end: -1. */
  private final int[][] rows;
  /** For each chain and place the node; filled by {@link #finish}. */
  private int[][] members = new int[0][];

  private ChainAncestors(int nodes) {
    this.nodes = nodes;
    this.chainOf = new int[nodes];
    this.placeIn = new int[nodes];
    this.before = new int[nodes];
    this.last = new int[16];
    this.rows = new int[nodes][];
  }

  /** A closure and the transitive reduction that fell out of building it. */
  record Built(ChainAncestors ancestors, int[] starts, int[] predecessors) {}

  /** Builds it in O(E k), or returns null once it takes more than {@code mostInts} numbers. */
  static @Nullable Built build(Dag dag, long mostInts) {
    int n = dag.nodes();
    ChainAncestors closure = new ChainAncestors(n);
    int[] flat = dag.flatPredecessors();
    int[] starts = new int[n + 1];
    int[] kept = new int[dag.edges()];
    int[] row = new int[64];
    int count = 0;
    long ints = 0;
    for (int v = 0; v < n; v++) {
      starts[v] = count;
      int length = 0;
      // Later predecessors first: only they can be reached from earlier ones.
      for (int i = dag.start(v + 1) - 1; i >= dag.start(v); i--) {
        int p = flat[i];
        int chain = closure.chainOf[p];
        int place = closure.placeIn[p];
        if (chain < length && row[chain] >= place) {
          continue; // implied by a later predecessor
        }
        kept[count++] = p;
        int[] other = closure.rows[p];
        int needed = Math.max(other.length, chain + 1);
        if (needed > length) {
          if (needed > row.length) {
            row = Arrays.copyOf(row, Math.max(needed, 2 * row.length));
          }
          Arrays.fill(row, length, needed, -1);
          length = needed;
        }
        maximum(row, other);
        row[chain] = Math.max(row[chain], place);
      }
      reverse(kept, starts[v], count);
      closure.rows[v] = Arrays.copyOf(row, length);
      ints += length;
      if (ints > mostInts) {
        return null;
      }
      closure.join(v, row, length, flat, dag.start(v), dag.start(v + 1));
    }
    starts[n] = count;
    closure.finish();
    return new Built(closure, starts, Arrays.copyOf(kept, count));
  }

  private static void maximum(int[] row, int[] other) {
    for (int c = 0; c < other.length; c++) {
      row[c] = Math.max(row[c], other[c]);
    }
  }

  private static void reverse(int[] array, int from, int to) {
    for (int i = from, j = to - 1; i < j; i++, j--) {
      int swapped = array[i];
      array[i] = array[j];
      array[j] = swapped;
    }
  }

  /** Puts {@code v} at the end of a chain whose last node reaches it, best a predecessor; or a new one. */
  private void join(int v, int[] row, int length, int[] flat, int from, int to) {
    int chain = -1;
    for (int i = to - 1; i >= from && chain < 0; i--) {
      chain = last[chainOf[flat[i]]] == flat[i] ? chainOf[flat[i]] : -1;
    }
    for (int c = 0; c < length && chain < 0; c++) {
      chain = row[c] >= 0 && row[c] == placeIn[last[c]] ? c : -1;
    }
    if (chain < 0) {
      chain = chains++;
      if (chain == last.length) {
        last = Arrays.copyOf(last, 2 * chain);
      }
      before[v] = -1;
      placeIn[v] = 0;
    } else {
      before[v] = last[chain];
      placeIn[v] = placeIn[last[chain]] + 1;
    }
    chainOf[v] = chain;
    last[chain] = v;
  }

  private void finish() {
    members = new int[chains][];
    for (int c = 0; c < chains; c++) {
      members[c] = new int[placeIn[last[c]] + 1];
    }
    for (int v = 0; v < nodes; v++) {
      members[chainOf[v]][placeIn[v]] = v;
    }
  }

  @Override
  public boolean reaches(int u, int v) {
    int chain = chainOf[u];
    return chain < rows[v].length && rows[v][chain] >= placeIn[u];
  }

  @Override
  public Untaken untaken(boolean[] member) {
    return new Remaining(member);
  }

  /** Per chain a union-find over places: {@code next[v]} leads to the nearest node left at or before v. */
  private final class Remaining implements Untaken {
    private final boolean[] member;
    private final int[] next = new int[nodes];

    Remaining(boolean[] member) {
      this.member = member;
      reset();
    }

    @Override
    public void reset() {
      for (int v = 0; v < nodes; v++) {
        next[v] = member[v] ? v : before[v];
      }
    }

    private int find(int v) {
      int root = v;
      while (root >= 0 && next[root] != root) {
        root = next[root];
      }
      while (v != root && v >= 0) { // compress the path
        int up = next[v];
        next[v] = root;
        v = up;
      }
      return root;
    }

    @Override
    public int take(int v, int[] cursor, int frame) {
      int[] row = rows[v];
      for (int c = cursor[frame]; c < row.length; c++) {
        if (row[c] >= 0) {
          int u = find(members[c][row[c]]);
          if (u >= 0) {
            next[u] = before[u];
            cursor[frame] = c;
            return u;
          }
        }
      }
      cursor[frame] = row.length;
      return -1;
    }
  }
}
