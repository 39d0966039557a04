package dev.nimble.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.nimble.testkit.Dags;
import dev.nimble.testkit.Seeds;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

class TransitiveReductionTest {
  private static Dag byChains(Dag dag) {
    return TransitiveReduction.without(dag, ChainReduction.impliedEdges(dag, Long.MAX_VALUE));
  }

  private static Dag byBlocks(Dag dag) {
    int[] lastHeads = TransitiveReduction.lastDoubtfulHeads(dag);
    return lastHeads == null
        ? dag
        : TransitiveReduction.without(dag, BlockReduction.impliedEdges(dag, lastHeads));
  }

  private static String meg(Dag dag) {
    BruteForce truth = new BruteForce(dag);
    int[][] predecessors = new int[truth.nodes][];
    for (int v = 0; v < truth.nodes; v++) {
      int head = v;
      predecessors[v] =
          java.util.stream.IntStream.range(0, v).filter(u -> truth.meg[u][head]).toArray();
    }
    return Dag.of(predecessors).toString();
  }

  private static void check(Dag dag) {
    String meg = meg(dag);
    assertThat(TransitiveReduction.of(dag).meg()).as("MEG of %s", dag).hasToString(meg);
    assertThat(byChains(dag)).as("MEG by chains of %s", dag).hasToString(meg);
    assertThat(byBlocks(dag)).as("MEG by blocks of %s", dag).hasToString(meg);
  }

  @Test
  void isTheDefinitionOnEveryDagOfUpToFiveNodes() {
    for (int n = 0; n <= 5; n++) {
      Dags.forEach(n, TransitiveReductionTest::check);
    }
  }

  @Test
  void isTheDefinitionOnRandomDags() {
    Seeds.forEach(
        2000,
        (random, seed) ->
            check(Dags.random(6 + random.nextInt(3), 0.1 + 0.8 * random.nextDouble(), random)));
  }

  /** Over several blocks of ancestors, and with rows of many lengths, both ways must agree. */
  @Test
  void chainsAndBlocksAgreeOnLargeDags() {
    Random random = new Random(5);
    for (Dag dag :
        new Dag[] {
          Dags.layered(5000, 16, 2.5, random),
          Dags.layered(2100, 300, 4, random),
          Dags.sparse(4000, 1.5, random),
          Dags.sparse(3000, 6, random),
          Dags.random(1100, 0.2, random),
          Dags.local(6000, 40, 2.5, random),
          Dags.seriesParallel(3000, random)
        }) {
      String chosen = TransitiveReduction.of(dag).meg().toString();
      assertThat(byChains(dag).toString().equals(chosen)).isTrue();
      assertThat(byBlocks(dag).toString().equals(chosen)).isTrue();
    }
  }

  @Test
  void chainsGiveUpBeyondTheBudget() {
    Dag dag = Dags.layered(1000, 16, 2.5, new Random(1));
    assertThat(ChainReduction.impliedEdges(dag, 100)).isNull();
    assertThat(ChainReduction.impliedEdges(dag, 1_000_000)).isNotNull();
  }

  @Test
  void nothingIsComputedWhereNoEdgeCanBeImplied() {
    Random random = new Random(3);
    for (Dag dag :
        new Dag[] {
          Dags.outTree(1000, random),
          Dags.inTree(1000, random),
          Dags.chain(1000),
          Dags.bipartite(30, 40),
          Dag.of(new int[100][0])
        }) {
      assertThat(TransitiveReduction.lastDoubtfulHeads(dag)).isNull();
      assertThat(TransitiveReduction.of(dag).meg()).isSameAs(dag);
    }
    Dag shortcut = Dags.dag("a>b b>c a>c");
    assertThat(TransitiveReduction.lastDoubtfulHeads(shortcut)).containsExactly(2, -1, -1);
    assertThat(TransitiveReduction.of(shortcut).meg()).hasToString("3 nodes: 0>1 1>2");
  }

  /** All 4,950 edges of a complete order but the 99 of its chain. */
  @Test
  void aCompleteOrderBecomesAChain() {
    int[][] predecessors = new int[100][];
    Arrays.setAll(predecessors, v -> java.util.stream.IntStream.range(0, v).toArray());
    assertThat(TransitiveReduction.of(Dag.of(predecessors)).meg())
        .hasToString(Dags.chain(100).toString());
  }
}
