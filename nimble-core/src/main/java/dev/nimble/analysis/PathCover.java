package dev.nimble.analysis;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A cover of a DAG's nodes by chains of which each node reaches the next: Nimble's stream assignment
 * [Nimble, Algorithm 1], with the number of chains made minimal as well.
 *
 * <p>Every cover by chains keeps independent nodes apart (maximum logical concurrency). Among those, this
 * one has the fewest synchronisations, |E'| - |M|, where E' are the edges of the minimum equivalent graph
 * and M is a maximum matching of it; and among those the fewest chains.
 *
 * <p>How both at once: a cover is a matching of the closure, and it saves a synchronisation for each MEG
 * edge that it uses. Give MEG edges weight 1 and other closure edges weight 0: wanted is the largest among
 * the matchings of greatest weight. König's theorem gives a vertex cover Z of the MEG's bipartite graph
 * with |Z| = |M|; its indicator is an optimal dual solution, so by complementary slackness the matchings of
 * greatest weight are exactly those that cover Z and use only tight edges: MEG edges with one end in Z, and
 * closure edges with no end in Z. Growing M along augmenting paths of tight edges keeps Z covered, and
 * ends with the largest such matching. Unlike the second matching of whole chains in the authors' code,
 * this may take chains of M apart.
 */
public final class PathCover {
  /** How far the result is proved to be the best. */
  public enum Optimality {
    /** Fewest syncs, and as many chains as the width: no cover has fewer. */
    BOTH,
    /** Fewest syncs; fewest chains at that number of syncs, yet more than the width. */
    FEWEST_CHAINS_AT_FEWEST_SYNCS,
    /** Fewest syncs only: the closure was too large to keep, so chains were not joined. */
    SYNCS_ONLY
  }

  private final int[] chainOf;
  private final int chains;
  private final int syncs;
  private final int width;
  private final Optimality optimality;

  private PathCover(int[] chainOf, int chains, int syncs, int width, Optimality optimality) {
    this.chainOf = chainOf;
    this.chains = chains;
    this.syncs = syncs;
    this.width = width;
    this.optimality = optimality;
  }

  /** Covers the DAG of which {@code reduction} was made. */
  public static PathCover of(TransitiveReduction reduction) {
    Dag meg = reduction.meg();
    int n = meg.nodes();
    BipartiteMatching matching = BipartiteMatching.maximum(meg);
    int syncs = meg.edges() - matching.size();
    Ancestors ancestors = reduction.ancestors();
    if (ancestors == null) {
      int chains = n - matching.size();
      return new PathCover(numbered(matching), chains, syncs, chains, Optimality.SYNCS_ONLY);
    }
    Cover cover = Cover.minimum(meg, matching);
    Growth tight = new Growth(meg, ancestors, matching, cover);
    tight.run();
    int[] chainOf = numbered(matching);
    int chains = n - matching.size();
    new Growth(meg, ancestors, matching, null).run(); // the width, by Dilworth's theorem
    int width = n - matching.size();
    return new PathCover(
        chainOf, chains, syncs, width,
        chains == width ? Optimality.BOTH : Optimality.FEWEST_CHAINS_AT_FEWEST_SYNCS);
  }

  /** Numbers the chains of a matching from 0, in the order of their first nodes. */
  private static int[] numbered(BipartiteMatching matching) {
    int[] chainOf = new int[matching.leader.length];
    int chains = 0;
    for (int v = 0; v < chainOf.length; v++) {
      chainOf[v] = matching.leader[v] < 0 ? chains++ : chainOf[matching.leader[v]];
    }
    return chainOf;
  }

  /** The chain of each node, from 0; a fresh copy. */
  public int[] chainOf() {
    return chainOf.clone();
  }

  /** The number of chains. */
  public int chains() {
    return chains;
  }

  /** MEG edges whose ends lie on different chains: |E'| - |M|. */
  public int syncs() {
    return syncs;
  }

  /**
   * The most nodes of which none reaches another (the degree of logical concurrency); with {@link
   * Optimality#SYNCS_ONLY} only an upper bound of it.
   */
  public int width() {
    return width;
  }

  /** What is proved of this cover. */
  public Optimality optimality() {
    return optimality;
  }

  /** A minimum vertex cover of the MEG's bipartite graph, by König's theorem. */
  private record Cover(boolean[] left, boolean[] right) {
    static Cover minimum(Dag meg, BipartiteMatching matching) {
      int n = meg.nodes();
      boolean[] reachedLeft = new boolean[n];
      boolean[] reachedRight = new boolean[n];
      int[] queue = new int[n];
      int tail = 0;
      for (int v = 0; v < n; v++) { // alternating paths from free right nodes
        if (matching.leader[v] < 0) {
          reachedRight[v] = true;
          queue[tail++] = v;
        }
      }
      int[] flat = meg.flatPredecessors();
      for (int head = 0; head < tail; head++) {
        int v = queue[head];
        for (int i = meg.start(v); i < meg.start(v + 1); i++) {
          int u = flat[i];
          int w = matching.follower[u];
          if (!reachedLeft[u]) {
            reachedLeft[u] = true; // matched, else the matching were not maximum
            if (!reachedRight[w]) {
              reachedRight[w] = true;
              queue[tail++] = w;
            }
          }
        }
      }
      boolean[] right = new boolean[n];
      for (int v = 0; v < n; v++) {
        right[v] = !reachedRight[v];
      }
      return new Cover(reachedLeft, right);
    }
  }

  /**
   * Grows a matching along augmenting paths of allowed edges until there is none: all closure edges, or
   * those that are tight for a vertex cover. Rounds of depth-first searches from free right nodes, in which
   * each left node is visited at most once.
   */
  private static final class Growth {
    private final Dag meg;
    private final int[] flat;
    private final BipartiteMatching matching;
    private final @Nullable Cover cover;
    private final Ancestors.Untaken untaken;
    private final boolean[] visited;
    private final int[] stack;
    private final int[] chosen;
    private final int[] nextEdge;
    private final int[] cursor;

    Growth(Dag meg, Ancestors ancestors, BipartiteMatching matching, @Nullable Cover cover) {
      int n = meg.nodes();
      this.meg = meg;
      this.flat = meg.flatPredecessors();
      this.matching = matching;
      this.cover = cover;
      boolean[] outside = new boolean[n];
      for (int u = 0; u < n; u++) {
        outside[u] = cover == null || !cover.left()[u];
      }
      this.untaken = ancestors.untaken(outside);
      this.visited = new boolean[n];
      this.stack = new int[n + 1];
      this.chosen = new int[n + 1];
      this.nextEdge = new int[n + 1];
      this.cursor = new int[n + 1];
    }

    void run() {
      boolean grown = true;
      while (grown) {
        grown = false;
        untaken.reset();
        Arrays.fill(visited, false);
        for (int v = 0; v < matching.leader.length; v++) {
          if (matching.leader[v] < 0 && meg.inDegree(v) > 0) {
            grown |= search(v);
          }
        }
      }
    }

    private boolean search(int root) {
      int depth = 0;
      push(0, root);
      while (depth >= 0) {
        int u = candidate(depth);
        if (u < 0) {
          depth--;
          continue;
        }
        chosen[depth] = u;
        int w = matching.follower[u];
        if (w < 0) {
          for (int d = depth; d >= 0; d--) {
            matching.match(chosen[d], stack[d]);
          }
          matching.grow();
          return true;
        }
        push(++depth, w);
      }
      return false;
    }

    private void push(int depth, int v) {
      stack[depth] = v;
      nextEdge[depth] = meg.start(v);
      cursor[depth] = 0;
    }

    /** The next left node to try for the right node at {@code depth}, or -1. */
    private int candidate(int depth) {
      int v = stack[depth];
      if (cover == null) {
        return untaken.take(v, cursor, depth);
      }
      boolean covered = cover.right()[v];
      while (nextEdge[depth] < meg.start(v + 1)) { // MEG edges with exactly one end in the cover
        int u = flat[nextEdge[depth]++];
        if (cover.left()[u] != covered && !visited[u]) {
          visited[u] = true;
          return u;
        }
      }
      if (covered) {
        return -1;
      }
      int u = untaken.take(v, cursor, depth);
      while (u >= 0 && visited[u]) { // visited along a MEG edge
        u = untaken.take(v, cursor, depth);
      }
      if (u >= 0) {
        visited[u] = true;
      }
      return u;
    }
  }
}
