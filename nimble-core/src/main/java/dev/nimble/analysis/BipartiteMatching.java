package dev.nimble.analysis;

import java.util.Arrays;

/**
 * A matching of the bipartite graph that has a left node x_u and a right node y_u for each node u of a DAG,
 * and the edge (x_u, y_v) for each edge u to v: each node is followed by at most one, and follows at most
 * one [Nimble, Algorithm 1, steps 2 and 3].
 */
final class BipartiteMatching {
  /** The node matched to x_u (its follower), or -1. */
  final int[] follower;
  /** The node matched to y_v (whom it follows), or -1. */
  final int[] leader;
  private int size;

  private BipartiteMatching(int nodes) {
    follower = new int[nodes];
    leader = new int[nodes];
    Arrays.fill(follower, -1);
    Arrays.fill(leader, -1);
  }

  /** A maximum matching, by Hopcroft and Karp: O(E sqrt(V)). Searches start from free right nodes. */
  static BipartiteMatching maximum(Dag dag) {
    BipartiteMatching matching = new BipartiteMatching(dag.nodes());
    matching.greedy(dag);
    Phase phase = new Phase(dag, matching);
    while (phase.layer()) {
      phase.augment();
    }
    return matching;
  }

  int size() {
    return size;
  }

  void match(int leading, int following) {
    follower[leading] = following;
    leader[following] = leading;
  }

  /** Says that one more pair is matched. */
  void grow() {
    size++;
  }

  private void greedy(Dag dag) {
    int[] flat = dag.flatPredecessors();
    for (int v = 0; v < dag.nodes(); v++) {
      for (int i = dag.start(v + 1) - 1; i >= dag.start(v); i--) {
        if (follower[flat[i]] < 0) {
          match(flat[i], v);
          size++;
          break;
        }
      }
    }
  }

  /** One round: layers by breadth-first search, then disjoint shortest augmenting paths. */
  private static final class Phase {
    private final Dag dag;
    private final int[] flat;
    private final BipartiteMatching m;
    /** The layer of each right node, or -1. */
    private final int[] layer;
    private final int[] queue;
    private final int[] next;
    private final int[] stack;
    private int lastLayer;

    Phase(Dag dag, BipartiteMatching matching) {
      this.dag = dag;
      this.flat = dag.flatPredecessors();
      this.m = matching;
      this.layer = new int[dag.nodes()];
      this.queue = new int[dag.nodes()];
      this.next = new int[dag.nodes()];
      this.stack = new int[dag.nodes() + 1];
    }

    /** Finds the layers up to the first free left node; false if none can be reached. */
    boolean layer() {
      int tail = 0;
      for (int v = 0; v < dag.nodes(); v++) {
        layer[v] = -1;
        next[v] = dag.start(v);
        if (m.leader[v] < 0 && dag.inDegree(v) > 0) {
          layer[v] = 0;
          queue[tail++] = v;
        }
      }
      lastLayer = Integer.MAX_VALUE;
      for (int head = 0; head < tail && layer[queue[head]] < lastLayer; head++) {
        int v = queue[head];
        for (int i = dag.start(v); i < dag.start(v + 1); i++) {
          int w = m.follower[flat[i]];
          if (w < 0) {
            lastLayer = layer[v];
          } else if (layer[w] < 0) {
            layer[w] = layer[v] + 1;
            queue[tail++] = w;
          }
        }
      }
      return lastLayer < Integer.MAX_VALUE;
    }

    void augment() {
      for (int v = 0; v < dag.nodes(); v++) {
        if (layer[v] == 0 && m.leader[v] < 0) {
          search(v);
        }
      }
    }

    private void search(int root) {
      int depth = 0;
      stack[0] = root;
      while (depth >= 0) {
        int v = stack[depth];
        if (next[v] == dag.start(v + 1)) {
          layer[v] = -1; // leads nowhere in this round
          depth--;
          continue;
        }
        int u = flat[next[v]++];
        int w = m.follower[u];
        if (w < 0 && layer[v] <= lastLayer) {
          for (int d = depth; d >= 0; d--) { // flip: each node on the stack follows its last candidate
            int node = stack[d];
            int leading = flat[next[node] - 1];
            m.match(leading, node);
            layer[node] = -1;
          }
          m.size++;
          return;
        }
        if (w >= 0 && layer[w] == layer[v] + 1 && layer[w] <= lastLayer) {
          stack[++depth] = w;
        }
      }
    }
  }
}
