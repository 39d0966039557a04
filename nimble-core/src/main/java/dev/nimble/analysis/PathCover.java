package dev.nimble.analysis;

import com.google.common.primitives.ImmutableIntArray;

/**
 * A cover of a DAG's nodes by chains of which each node reaches the next: Nimble's stream
 * assignment [Nimble, Algorithm 1], with the number of chains made minimal as well.
 *
 * <p>Every cover by chains keeps independent nodes apart (maximum logical concurrency). Among
 * those, this one has the fewest synchronisations, |E'| - |M|, where E' are the edges of the
 * minimum equivalent graph and M is a maximum matching of it; and among those the fewest chains.
 * Both are exact for every DAG; {@link #optimality} says whether the chains are also as few as the
 * width, which no cover can beat. They nearly always are, yet not always: see
 * docs/stream-assignment.md for proofs and for the smallest exception.
 *
 * <p>How both at once: a cover is a matching of the closure, and it saves a synchronisation for
 * each MEG edge that it uses. Give MEG edges weight 1 and other closure edges weight 0: wanted is
 * the largest among the matchings of greatest weight. König's theorem gives a vertex cover Z of the
 * MEG's bipartite graph with |Z| = |M|; its indicator is an optimal dual solution, so by
 * complementary slackness the matchings of greatest weight are exactly those that cover Z and use
 * only tight edges: MEG edges with one end in Z, and closure edges with no end in Z. Growing M
 * along augmenting paths of tight edges keeps Z covered, and ends with the largest such matching.
 * Unlike the second matching of whole chains in the authors' code, this may take chains of M apart.
 *
 * <p>O((V + E) sqrt(V)) steps beside the lengths of the augmenting paths, and O(V + E) memory.
 */
public final class PathCover {
  /** How the number of chains compares with the width, the fewest that any cover has. */
  public enum Optimality {
    /** Fewest syncs, and as many chains as the width: no cover has fewer of either. */
    BOTH,
    /** Fewest syncs; fewest chains at that number of syncs, yet more than the width. */
    FEWEST_CHAINS_AT_FEWEST_SYNCS
  }

  private final Dag meg;
  private final int[] chainOf;
  private final int chains;
  private final int syncs;
  private final ImmutableIntArray antichain;

  private PathCover(Dag meg, int[] chainOf, int chains, int syncs, ImmutableIntArray antichain) {
    this.meg = meg;
    this.chainOf = chainOf;
    this.chains = chains;
    this.syncs = syncs;
    this.antichain = antichain;
  }

  /** Covers the DAG of which {@code reduction} was made. */
  public static PathCover of(TransitiveReduction reduction) {
    Dag meg = reduction.meg();
    return of(meg, BipartiteMatching::grow);
  }

  /** How a matching is made maximum; for tests of other ways. */
  interface Growth {
    /** See {@link BipartiteMatching#grow(MatchingEdges)}. */
    VertexCover grow(BipartiteMatching matching, MatchingEdges edges);
  }

  static PathCover of(Dag meg, Growth growth) {
    BipartiteMatching matching = BipartiteMatching.greedy(meg);
    VertexCover cover = growth.grow(matching, MatchingEdges.of(meg));
    int syncs = meg.edges() - matching.size();
    growth.grow(matching, MatchingEdges.tight(meg, cover));
    int[] chainOf = matching.numberedChains();
    int chains = matching.chains();
    VertexCover closureCover = growth.grow(matching, MatchingEdges.ofClosure(meg));
    return new PathCover(meg, chainOf, chains, syncs, antichain(closureCover));
  }

  /**
   * The nodes of which neither x_v nor y_v is in a minimum vertex cover of the closure. No closure
   * edge joins two of them, and there are V - |cover| of them at least, which is the number of
   * chains of a maximum matching: the theorem of Dilworth.
   */
  private static ImmutableIntArray antichain(VertexCover cover) {
    ImmutableIntArray.Builder nodes = ImmutableIntArray.builder();
    for (int v = 0; v < cover.left().length; v++) {
      if (!cover.left()[v] && !cover.right()[v]) {
        nodes.add(v);
      }
    }
    return nodes.build();
  }

  /** The chain of each node, from 0 in the order of their first nodes; a fresh copy. */
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
   * The MEG edges whose ends lie on different chains: what {@link SyncEdges#of} finds for this
   * cover, launched by number, and known without another reduction, since chains add no order.
   */
  public SyncEdges syncEdges() {
    ImmutableIntArray.Builder from = ImmutableIntArray.builder(syncs);
    ImmutableIntArray.Builder to = ImmutableIntArray.builder(syncs);
    for (int v = 0; v < meg.nodes(); v++) {
      for (int i = 0; i < meg.inDegree(v); i++) {
        int p = meg.predecessor(v, i);
        if (chainOf[p] != chainOf[v]) {
          from.add(p);
          to.add(v);
        }
      }
    }
    return new SyncEdges(from.build(), to.build());
  }

  /** The most nodes of which none reaches another: the degree of logical concurrency. */
  public int width() {
    return antichain.length();
  }

  /** As many nodes as the {@link #width}, in rising order, of which none reaches another. */
  public ImmutableIntArray antichain() {
    return antichain;
  }

  /** What is proved of this cover. */
  public Optimality optimality() {
    return chains == width() ? Optimality.BOTH : Optimality.FEWEST_CHAINS_AT_FEWEST_SYNCS;
  }
}
