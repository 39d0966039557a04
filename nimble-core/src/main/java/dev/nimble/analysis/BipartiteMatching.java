package dev.nimble.analysis;

import java.util.Arrays;

/**
 * A matching of the bipartite graph that has a left node x_u and a right node y_u for each node u
 * of a DAG, and an edge (x_u, y_v) for each edge or each path from u to v: each node is followed by
 * at most one, and follows at most one [Nimble, Algorithm 1, steps 2 and 3]. So it is a cover of
 * the nodes by chains.
 */
final class BipartiteMatching {
  private static final int MOST_ROUNDS = 32;

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

  /** A maximal matching of the edges of {@code dag}: each node follows the latest that is free. */
  static BipartiteMatching greedy(Dag dag) {
    BipartiteMatching matching = new BipartiteMatching(dag.nodes());
    int[] flat = dag.flatPredecessors();
    for (int v = 0; v < dag.nodes(); v++) {
      for (int i = dag.start(v + 1) - 1; i >= dag.start(v); i--) {
        if (matching.follower[flat[i]] < 0) {
          matching.match(flat[i], v);
          matching.size++;
          break;
        }
      }
    }
    return matching;
  }

  /**
   * Makes this a maximum matching of {@code edges}. What is matched on either side stays matched.
   *
   * <p>A sweep first, which finds most paths. Then searches for one path at a time, and further
   * sweeps, by turns of equal and doubling length: it depends on the graph which of them sees less
   * of it. And should they not have come to an end after {@link #MOST_ROUNDS}, the rest in layers,
   * whose number has a good bound: O((V + E) sqrt(V)) in all, beside the lengths of the paths.
   *
   * @return a minimum vertex cover of the edges
   */
  VertexCover grow(MatchingEdges edges) {
    return grow(edges, 1, 2, MOST_ROUNDS);
  }

  /**
   * The same with other limits, for tests of what comes after them.
   *
   * @param sweeps how many sweeps come first
   * @param rounds how long the first turn is, in steps for each node and edge; at least 1
   * @param mostRounds how long the last one may be
   */
  VertexCover grow(MatchingEdges edges, int sweeps, int rounds, int mostRounds) {
    RoundSearch sweeping = new RoundSearch(edges, this);
    for (int sweep = 0; sweep < sweeps; sweep++) {
      if (!sweeping.sweep()) {
        return minimumVertexCover(sweeping.reached());
      }
    }
    NearestFirstSearch nearest = new NearestFirstSearch(edges, this);
    for (long turn = rounds; turn <= mostRounds; turn *= 2) {
      if (nearest.grow(turn * (leader.length + (long) edges.dag().edges()))) {
        return minimumVertexCover(nearest.reached());
      }
      for (int sweep = 0; sweep < turn; sweep++) {
        if (!sweeping.sweep()) {
          return minimumVertexCover(sweeping.reached());
        }
      }
    }
    sweeping.finishInLayers();
    return minimumVertexCover(sweeping.reached());
  }

  /**
   * A minimum vertex cover of the edges in which this is a maximum matching, by König's theorem:
   * what alternating paths from free right nodes reach on the left and do not on the right.
   */
  private VertexCover minimumVertexCover(boolean[] reachedLeft) {
    boolean[] right = new boolean[leader.length];
    for (int v = 0; v < right.length; v++) {
      right[v] = leader[v] >= 0 && !reachedLeft[leader[v]];
    }
    return new VertexCover(reachedLeft, right);
  }

  /** How many pairs are matched. */
  int size() {
    return size;
  }

  /** How many chains the pairs make of the nodes. */
  int chains() {
    return leader.length - size;
  }

  void match(int leading, int following) {
    follower[leading] = following;
    leader[following] = leading;
  }

  /** Says that one more pair is matched. */
  void grow() {
    size++;
  }

  /** Numbers the chains from 0, in the order of their first nodes; the chain of each node. */
  int[] numberedChains() {
    int[] chainOf = new int[leader.length];
    int chains = 0;
    for (int v = 0; v < chainOf.length; v++) {
      chainOf[v] = leader[v] < 0 ? chains++ : chainOf[leader[v]];
    }
    return chainOf;
  }
}
