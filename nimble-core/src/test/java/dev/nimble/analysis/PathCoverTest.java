package dev.nimble.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.nimble.testkit.Dags;
import dev.nimble.testkit.Seeds;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.jgrapht.alg.TransitiveClosure;
import org.jgrapht.alg.matching.HopcroftKarpMaximumCardinalityBipartiteMatching;
import org.jgrapht.graph.DefaultEdge;
import org.jgrapht.graph.SimpleDirectedGraph;
import org.jgrapht.graph.SimpleGraph;
import org.junit.jupiter.api.Test;

class PathCoverTest {
  private static void checkAgainstBruteForce(Dag dag) {
    BruteForce truth = new BruteForce(dag);
    TransitiveReduction reduction = TransitiveReduction.of(dag);
    assertThat(edges(reduction.meg())).as("MEG of %s", dag).isDeepEqualTo(truth.meg);
    PathCover cover = PathCover.of(reduction);
    checkIsCover(cover, truth);
    assertThat(cover.syncs()).as("syncs of %s", dag).isEqualTo(truth.fewestSyncs);
    assertThat(cover.width()).as("width of %s", dag).isEqualTo(truth.width());
    assertThat(cover.chains()).as("chains of %s", dag).isEqualTo(truth.fewestChainsAtFewestSyncs);
    assertThat(cover.optimality())
        .isEqualTo(
            cover.chains() == truth.width()
                ? PathCover.Optimality.BOTH
                : PathCover.Optimality.FEWEST_CHAINS_AT_FEWEST_SYNCS);
  }

  private static boolean[][] edges(Dag dag) {
    boolean[][] edges = new boolean[dag.nodes()][dag.nodes()];
    for (int v = 0; v < dag.nodes(); v++) {
      for (int i = 0; i < dag.inDegree(v); i++) {
        edges[dag.predecessor(v, i)][v] = true;
      }
    }
    return edges;
  }

  private static void checkIsCover(PathCover cover, BruteForce truth) {
    int[] chainOf = cover.chainOf();
    int cut = 0;
    for (int u = 0; u < truth.nodes; u++) {
      for (int v = u + 1; v < truth.nodes; v++) {
        if (chainOf[u] == chainOf[v]) {
          assertThat(truth.reaches[u][v]).as("%d and %d share a chain", u, v).isTrue();
        }
        cut += truth.meg[u][v] && chainOf[u] != chainOf[v] ? 1 : 0;
      }
    }
    assertThat(cut).isEqualTo(cover.syncs());
    assertThat(IntStream.of(chainOf).distinct().count()).isEqualTo(cover.chains());
  }

  @Test
  void everyDagOfUpToFiveNodes() {
    for (int n = 0; n <= 5; n++) {
      int pairs = n * (n - 1) / 2;
      for (int set = 0; set < 1 << pairs; set++) {
        int[][] predecessors = new int[n][];
        int bit = 0;
        for (int v = 0; v < n; v++) {
          int first = bit;
          int chosen = set;
          int base = v;
          predecessors[v] =
              IntStream.range(0, base).filter(u -> (chosen >> (first + u) & 1) == 1).toArray();
          bit += v;
        }
        checkAgainstBruteForce(Dag.of(predecessors));
      }
    }
  }

  @Test
  void randomDagsOfUpToNineNodes() {
    Seeds.forEach(4000, (random, seed) -> checkAgainstBruteForce(small(random)));
  }

  private static Dag small(Random random) {
    int n = 6 + random.nextInt(4);
    switch (random.nextInt(3)) {
      case 0:
        return Dags.random(n, 0.1 + 0.5 * random.nextDouble(), random);
      case 1:
        return Dags.layered(n, 2 + random.nextInt(3), 1 + random.nextDouble(), random);
      default:
        return Dags.seriesParallel(n, random);
    }
  }

  /** Where the authors' second matching, of whole chains, may end with 6 streams. */
  @Test
  void chainsOfTheFirstMatchingAreTakenApartWhereThatSavesAStream() {
    Dag dag = Dags.dag(9, "0>2 0>7 1>2 1>7 2>4 2>5 6>7");
    checkAgainstBruteForce(dag);
    PathCover cover = PathCover.of(TransitiveReduction.of(dag));
    assertThat(cover.chains()).isEqualTo(5);
    assertThat(cover.syncs()).isEqualTo(4);
  }

  /**
   * The smallest DAG found on which fewest syncs and fewest streams exclude each other: 4 syncs
   * need 5 streams, while 4 streams (the width) need 5 syncs.
   */
  @Test
  void bothOptimaCannotAlwaysBeHadAtOnce() {
    Dag dag = Dags.dag(10, "0>3 1>3 2>5 4>5 3>6 3>7 4>7 5>8 5>9");
    BruteForce truth = new BruteForce(dag);
    assertThat(truth.width()).isEqualTo(4);
    assertThat(truth.fewestSyncs).isEqualTo(4);
    assertThat(truth.fewestChainsAtFewestSyncs).isEqualTo(5);
    checkAgainstBruteForce(dag);
  }

  private int both;

  @Test
  void largerDagsAgainstJgrapht() {
    Seeds.forEach(
        300,
        (random, seed) -> {
          int n = 10 + random.nextInt(seed % 10 == 0 ? 300 : 60);
          Dag dag =
              seed % 3 == 0
                  ? Dags.random(n, 2.5 / n, random)
                  : seed % 3 == 1
                      ? Dags.layered(n, 2 + random.nextInt(12), 1 + 2 * random.nextDouble(), random)
                      : Dags.seriesParallel(n, random);
          SimpleDirectedGraph<Integer, DefaultEdge> graph = jgrapht(dag);
          org.jgrapht.alg.TransitiveReduction.INSTANCE.reduce(graph);
          int megEdges = graph.edgeSet().size();
          int matching = maximumMatching(graph);
          int closureMatching = maximumMatching(closed(graph));
          PathCover cover = PathCover.of(TransitiveReduction.of(dag));
          assertThat(TransitiveReduction.of(dag).meg().edges()).isEqualTo(megEdges);
          assertThat(cover.syncs()).isEqualTo(megEdges - matching);
          assertThat(cover.width()).isEqualTo(n - closureMatching);
          assertThat(cover.chains()).isGreaterThanOrEqualTo(cover.width());
          both += cover.optimality() == PathCover.Optimality.BOTH ? 1 : 0;
        });
    assertThat(both).as("both optima are had at once nearly always").isGreaterThan(290);
  }

  private static SimpleDirectedGraph<Integer, DefaultEdge> jgrapht(Dag dag) {
    SimpleDirectedGraph<Integer, DefaultEdge> graph = new SimpleDirectedGraph<>(DefaultEdge.class);
    for (int v = 0; v < dag.nodes(); v++) {
      graph.addVertex(v);
      for (int i = 0; i < dag.inDegree(v); i++) {
        graph.addEdge(dag.predecessor(v, i), v);
      }
    }
    return graph;
  }

  private static org.jgrapht.graph.DirectedAcyclicGraph<Integer, DefaultEdge> acyclic(
      SimpleDirectedGraph<Integer, DefaultEdge> graph) {
    var dag = new org.jgrapht.graph.DirectedAcyclicGraph<Integer, DefaultEdge>(DefaultEdge.class);
    graph.vertexSet().forEach(dag::addVertex);
    graph.edgeSet().forEach(e -> dag.addEdge(graph.getEdgeSource(e), graph.getEdgeTarget(e)));
    return dag;
  }

  private static SimpleDirectedGraph<Integer, DefaultEdge> closed(
      SimpleDirectedGraph<Integer, DefaultEdge> graph) {
    var dag = acyclic(graph);
    TransitiveClosure.INSTANCE.closeDirectedAcyclicGraph(dag);
    SimpleDirectedGraph<Integer, DefaultEdge> result = new SimpleDirectedGraph<>(DefaultEdge.class);
    dag.vertexSet().forEach(result::addVertex);
    dag.edgeSet().forEach(e -> result.addEdge(dag.getEdgeSource(e), dag.getEdgeTarget(e)));
    return result;
  }

  private static int maximumMatching(SimpleDirectedGraph<Integer, DefaultEdge> graph) {
    SimpleGraph<Integer, DefaultEdge> bipartite = new SimpleGraph<>(DefaultEdge.class);
    Map<Integer, Integer> right = new HashMap<>();
    int n = graph.vertexSet().size();
    for (int v : graph.vertexSet()) {
      bipartite.addVertex(v);
      bipartite.addVertex(n + v);
      right.put(v, n + v);
    }
    graph
        .edgeSet()
        .forEach(e -> bipartite.addEdge(graph.getEdgeSource(e), right.get(graph.getEdgeTarget(e))));
    return new HopcroftKarpMaximumCardinalityBipartiteMatching<>(
            bipartite, graph.vertexSet(), new java.util.HashSet<>(right.values()))
        .getMatching()
        .getEdges()
        .size();
  }

  @Test
  void extremeShapes() {
    assertCover(Dag.of(new int[0][]), 0, 0);
    assertCover(Dag.of(new int[50_000][0]), 50_000, 0); // no edges at all
    int[][] star = new int[30_000][];
    for (int v = 0; v < star.length; v++) {
      star[v] = v == 0 ? new int[0] : new int[] {0};
    }
    assertCover(Dag.of(star), star.length - 1, star.length - 2);
    int[][] chain = new int[100_000][];
    for (int v = 0; v < chain.length; v++) {
      chain[v] = v == 0 ? new int[0] : new int[] {v - 1};
    }
    assertCover(Dag.of(chain), 1, 0);
    int[][] bipartite = new int[1000][];
    for (int v = 0; v < bipartite.length; v++) {
      bipartite[v] = v < 500 ? new int[0] : IntStream.range(0, 500).toArray();
    }
    assertCover(Dag.of(bipartite), 500, 500 * 500 - 500);
  }

  private static void assertCover(Dag dag, int chains, int syncs) {
    PathCover cover = PathCover.of(TransitiveReduction.of(dag));
    assertThat(cover.chains()).isEqualTo(chains);
    assertThat(cover.syncs()).isEqualTo(syncs);
    assertThat(cover.optimality()).isEqualTo(PathCover.Optimality.BOTH);
  }
}
