package dev.nimble.analysis;

import java.util.Arrays;

/**
 * A matching of the bipartite graph that has a left node x_u and a right node y_u for each node u
 * of a DAG, and an edge (x_u, y_v) for each edge or each path from u to v: each node is followed by
 * at most one, and follows at most one [Nimble, Algorithm 1, steps 2 and 3]. So it is a cover of
 * the nodes by chains. {@link Augmentation} makes it grow.
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
