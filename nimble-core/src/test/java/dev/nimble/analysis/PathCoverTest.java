package dev.nimble.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.nimble.testkit.Dags;
import dev.nimble.testkit.Seeds;
import java.util.BitSet;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class PathCoverTest {
  private static PathCover cover(Dag dag) {
    return PathCover.of(TransitiveReduction.of(dag));
  }

  /** By the searches that otherwise only finish what others leave. */
  private static PathCover coverByLayers(Dag dag) {
    return PathCover.of(
        TransitiveReduction.of(dag).meg(), (matching, edges) -> matching.grow(edges, 0, 1, 0));
  }

  private static PathCover coverNearestFirst(Dag dag) {
    return PathCover.of(
        TransitiveReduction.of(dag).meg(),
        (matching, edges) -> matching.grow(edges, 0, 1 << 20, 1 << 20));
  }

  private static PathCover coverBySweeps(Dag dag) {
    return PathCover.of(
        TransitiveReduction.of(dag).meg(),
        (matching, edges) -> matching.grow(edges, Integer.MAX_VALUE, 1, 0));
  }

  /** Each of the three a little. */
  private static PathCover coverInTurns(Dag dag) {
    return PathCover.of(
        TransitiveReduction.of(dag).meg(), (matching, edges) -> matching.grow(edges, 0, 1, 1));
  }

  private static void checkAgainstBruteForce(Dag dag) {
    BruteForce truth = new BruteForce(dag);
    int width = truth.width();
    assertThat(truth.fewestChains).as("Dilworth on %s", dag).isEqualTo(width);
    assertThat(truth.megEdges - truth.largestMatching()).isEqualTo(truth.fewestSyncs);
    for (PathCover cover :
        new PathCover[] {
          cover(dag),
          coverByLayers(dag),
          coverNearestFirst(dag),
          coverBySweeps(dag),
          coverInTurns(dag)
        }) {
      checkIsCover(cover, truth);
      assertThat(cover.syncs()).as("syncs of %s", dag).isEqualTo(truth.fewestSyncs);
      assertThat(cover.width()).as("width of %s", dag).isEqualTo(width);
      assertThat(cover.chains()).as("chains of %s", dag).isEqualTo(truth.fewestChainsAtFewestSyncs);
      assertThat(cover.optimality())
          .isEqualTo(
              truth.fewestChainsAtFewestSyncs == width
                  ? PathCover.Optimality.BOTH
                  : PathCover.Optimality.FEWEST_CHAINS_AT_FEWEST_SYNCS);
    }
  }

  private static void checkIsCover(PathCover cover, BruteForce truth) {
    int[] chainOf = cover.chainOf();
    int cut = 0;
    for (int u = 0; u < truth.nodes; u++) {
      for (int v = u + 1; v < truth.nodes; v++) {
        if (chainOf[u] == chainOf[v] && !truth.reaches[u][v]) {
          throw new AssertionError(u + " and " + v + " are independent and share a chain");
        }
        cut += truth.meg[u][v] && chainOf[u] != chainOf[v] ? 1 : 0;
      }
    }
    assertThat(cut).isEqualTo(cover.syncs());
    assertThat(IntStream.of(chainOf).distinct().count()).isEqualTo(cover.chains());
    for (int u : cover.antichain().toArray()) {
      for (int v : cover.antichain().toArray()) {
        assertThat(truth.reaches[u][v]).as("antichain: %d reaches %d", u, v).isFalse();
      }
    }
  }

  @Test
  void isBestOnEveryDagOfUpToFiveNodes() {
    for (int n = 0; n <= 5; n++) {
      Dags.forEach(n, PathCoverTest::checkAgainstBruteForce);
    }
  }

  /**
   * What a cover must do depends on the partial order only, so this is every DAG of so many nodes.
   */
  @Test
  void isBestOnEveryPartialOrderOfUpToSevenNodes() {
    int[] orders = {1, 1, 2, 7, 40, 357, 4824, 96428}; // OEIS A006455
    for (int n = 0; n <= 7; n++) {
      AtomicInteger count = new AtomicInteger();
      Dags.forEachReduced(
          n,
          dag -> {
            count.incrementAndGet();
            BruteForce truth = new BruteForce(dag);
            PathCover cover = cover(dag);
            if (cover.syncs() != truth.fewestSyncs
                || cover.chains() != truth.fewestChainsAtFewestSyncs
                || cover.chains() != cover.width()
                || cover.width() != truth.fewestChains) {
              throw new AssertionError(dag.toString());
            }
          });
      assertThat(count.get()).isEqualTo(orders[n]);
    }
  }

  @Test
  void isBestOnRandomDagsOfUpToTenNodes() {
    Seeds.forEach(4000, (random, seed) -> checkAgainstBruteForce(small(random)));
  }

  private static Dag small(Random random) {
    int n = 6 + random.nextInt(5);
    switch (random.nextInt(4)) {
      case 0:
        return Dags.random(n, 0.1 + 0.5 * random.nextDouble(), random);
      case 1:
        return Dags.layered(n, 2 + random.nextInt(3), 1 + random.nextDouble(), random);
      case 2:
        return Dags.local(n, 5, 1.5, random);
      default:
        return Dags.seriesParallel(n, random);
    }
  }

  /** Where the authors' second matching, of whole chains, may end with 6 streams. */
  @Test
  void chainsOfTheFirstMatchingAreTakenApartWhereThatSavesAStream() {
    Dag dag = Dags.dag("a>c a>h b>c b>h c>e c>f d g>h i");
    checkAgainstBruteForce(dag);
    PathCover cover = cover(dag);
    assertThat(cover.chains()).isEqualTo(5);
    assertThat(cover.syncs()).isEqualTo(4);
  }

  /**
   * A DAG, the smallest there is, on which fewest syncs and fewest streams exclude each other: 4
   * syncs need 5 streams, while 4 streams (the width) need 5 syncs. See docs/stream-assignment.md.
   */
  @Test
  void bothOptimaCannotAlwaysBeHadAtOnce() {
    Dag dag = Dags.dag("a>d b>d c>f e>f d>g d>h e>h f>i f>j");
    BruteForce truth = new BruteForce(dag);
    assertThat(truth.width()).isEqualTo(4);
    assertThat(truth.fewestSyncs).isEqualTo(4);
    assertThat(truth.fewestChainsAtFewestSyncs).isEqualTo(5);
    checkAgainstBruteForce(dag);
    assertThat(cover(dag).optimality())
        .isEqualTo(PathCover.Optimality.FEWEST_CHAINS_AT_FEWEST_SYNCS);
  }

  @Test
  void isBestOnLargerDagsByJgrapht() {
    int dags = 320;
    AtomicInteger both = new AtomicInteger();
    Seeds.forEach(
        dags,
        (random, seed) -> {
          Dag dag = larger(8 + random.nextInt(seed % 40 == 39 ? 392 : 80), (int) seed % 8, random);
          Jgrapht peer = new Jgrapht(dag);
          PathCover cover = cover(dag);
          assertThat(TransitiveReduction.of(dag).meg().edges()).isEqualTo(peer.megEdges);
          assertThat(cover.syncs()).isEqualTo(peer.megEdges - peer.megMatching);
          assertThat(cover.width()).isEqualTo(dag.nodes() - peer.closureMatching);
          checkCertificates(dag, cover);
          for (PathCover other :
              new PathCover[] {
                coverByLayers(dag), coverNearestFirst(dag), coverBySweeps(dag), coverInTurns(dag)
              }) {
            assertThat(other.syncs()).isEqualTo(cover.syncs());
            assertThat(other.width()).isEqualTo(cover.width());
            assertThat(other.chains()).isEqualTo(cover.chains());
            assertThat(other.optimality()).isEqualTo(cover.optimality());
            checkCertificates(dag, other);
          }
          if (cover.optimality() == PathCover.Optimality.BOTH) {
            assertThat(cover.chains()).isEqualTo(cover.width());
            both.incrementAndGet();
          }
        });
    if (Long.getLong("nimble.seed") == null) {
      assertThat(both.get()).as("both optima are had at once nearly always").isGreaterThan(310);
    }
  }

  private static Dag larger(int n, int kind, Random random) {
    switch (kind) {
      case 0:
        return Dags.random(n, 2.5 / n, random);
      case 1:
        return Dags.random(n, random.nextDouble() * 0.4, random);
      case 2:
        return Dags.layered(n, 2 + random.nextInt(12), 1 + 2 * random.nextDouble(), random);
      case 3:
        return Dags.seriesParallel(n, random);
      case 4:
        return Dags.outTree(n, random);
      case 5:
        return Dags.inTree(n, random);
      case 6:
        return Dags.local(n, 2 + random.nextInt(20), 1 + random.nextDouble(), random);
      default:
        return Dags.sparse(n, 1.5, random);
    }
  }

  /** Chains are chains, cut as many MEG edges as said, and the antichain is one, by a closure. */
  private static void checkCertificates(Dag dag, PathCover cover) {
    int n = dag.nodes();
    BitSet[] ancestors = new BitSet[n];
    for (int v = 0; v < n; v++) {
      ancestors[v] = new BitSet(v);
      for (int i = 0; i < dag.inDegree(v); i++) {
        ancestors[v].or(ancestors[dag.predecessor(v, i)]);
        ancestors[v].set(dag.predecessor(v, i));
      }
    }
    int[] chainOf = cover.chainOf();
    int[] last = new int[cover.chains()];
    java.util.Arrays.fill(last, -1);
    int cut = 0;
    Dag meg = TransitiveReduction.of(dag).meg();
    for (int v = 0; v < n; v++) {
      int before = last[chainOf[v]];
      if (before >= 0 && !ancestors[v].get(before)) {
        throw new AssertionError(before + " and " + v + " are independent and share a chain");
      }
      last[chainOf[v]] = v;
      for (int i = 0; i < meg.inDegree(v); i++) {
        cut += chainOf[meg.predecessor(v, i)] != chainOf[v] ? 1 : 0;
      }
    }
    assertThat(cut).isEqualTo(cover.syncs());
    BitSet antichain = new BitSet(n);
    cover.antichain().forEach(antichain::set);
    assertThat(antichain.cardinality()).isEqualTo(cover.width());
    antichain.stream().forEach(v -> assertThat(ancestors[v].intersects(antichain)).isFalse());
  }

  @Test
  void largeDagsCarryTheirCertificates() {
    Random random = new Random(11);
    for (Dag dag :
        new Dag[] {
          Dags.layered(5000, 16, 2.5, random),
          Dags.layered(8000, 64, 2.5, random),
          Dags.sparse(6000, 2, random),
          Dags.local(6000, 50, 1.8, random),
          Dags.seriesParallel(6000, random)
        }) {
      PathCover cover = cover(dag);
      checkCertificates(dag, cover);
      PathCover byLayers = coverByLayers(dag);
      checkCertificates(dag, byLayers);
      assertThat(byLayers.chains()).isEqualTo(cover.chains());
    }
  }

  @Test
  void extremeShapes() {
    assertCover(Dag.of(new int[0][]), 0, 0);
    assertCover(Dag.of(new int[100_000][0]), 100_000, 0); // no edges at all
    assertCover(Dags.bipartite(1, 99_999), 99_999, 99_998); // a star, and one the other way
    assertCover(Dags.bipartite(99_999, 1), 99_999, 99_998);
    assertCover(Dags.chain(100_000), 1, 0);
    assertCover(Dags.bipartite(1000, 1000), 1000, 1000 * 1000 - 1000);
    Random random = new Random(2);
    for (Dag tree : new Dag[] {Dags.outTree(100_000, random), Dags.inTree(100_000, random)}) {
      int leaves = ends(tree);
      assertCover(tree, leaves, leaves - 1);
    }
  }

  /** Sources or sinks, whichever are more. */
  private static int ends(Dag dag) {
    BitSet followed = new BitSet();
    int sources = 0;
    for (int v = 0; v < dag.nodes(); v++) {
      sources += dag.inDegree(v) == 0 ? 1 : 0;
      for (int i = 0; i < dag.inDegree(v); i++) {
        followed.set(dag.predecessor(v, i));
      }
    }
    return Math.max(sources, dag.nodes() - followed.cardinality());
  }

  private static void assertCover(Dag dag, int chains, int syncs) {
    PathCover cover = cover(dag);
    assertThat(cover.chains()).isEqualTo(chains);
    assertThat(cover.syncs()).isEqualTo(syncs);
    assertThat(cover.optimality()).isEqualTo(PathCover.Optimality.BOTH);
  }

  /** Wide, deep and dense ones of 100,000 nodes fit into an ordinary test heap. */
  @Test
  void aHundredThousandNodes() {
    Random random = new Random(4);
    for (Dag dag :
        new Dag[] {
          Dags.layered(100_000, 64, 2.5, random),
          Dags.local(100_000, 50, 2, random),
          Dags.seriesParallel(100_000, random),
          Dags.sparse(100_000, 1.2, random)
        }) {
      PathCover cover = cover(dag);
      assertThat(cover.chains()).isBetween(cover.width(), cover.width() + 100);
      assertThat(IntStream.of(cover.chainOf()).max().getAsInt()).isEqualTo(cover.chains() - 1);
    }
  }
}
