package dev.nimble.analysis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.nimble.testkit.Dags;
import dev.nimble.testkit.Seeds;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

class DagTest {
  @Test
  void predecessorsAreSortedAndCountOnce() {
    Dag dag = Dag.of(new int[][] {{}, {0, 0}, {1, 0, 1, 0}, {}});
    assertThat(dag).hasToString("4 nodes: 0>1 0>2 1>2");
    assertThat(dag.edges()).isEqualTo(3);
    assertThat(dag.inDegree(2)).isEqualTo(2);
    assertThat(dag.inDegree(3)).isZero();
    assertThat(dag).hasToString(Dags.dag("a>b a>c b>c d").toString());
  }

  @Test
  void theCallersArraysStayAsTheyAre() {
    int[] list = {1, 0, 1};
    Dag.of(new int[][] {{}, {}, list});
    assertThat(list).containsExactly(1, 0, 1);
  }

  @Test
  void anEdgeThatDoesNotRiseIsNamed() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Dag.of(new int[][] {{}, {0, 2}, {1}}))
        .withMessageContaining("edge 2 -> 1");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Dag.of(new int[][] {{0}}))
        .withMessageContaining("edge 0 -> 0");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Dag.of(new int[][] {{}, {-1}}))
        .withMessageContaining("edge -1 -> 1");
  }

  @Test
  void sameAsSetsOnRandomLists() {
    Seeds.forEach(
        300,
        (random, seed) -> {
          int n = 1 + random.nextInt(80);
          int[][] lists = new int[n][];
          for (int v = 0; v < n; v++) {
            int degree = v == 0 ? 0 : random.nextInt(60);
            lists[v] = random.ints(degree, 0, Math.max(1, v)).toArray();
          }
          Dag dag = Dag.of(lists);
          for (int v = 0; v < n; v++) {
            TreeSet<Integer> expected = new TreeSet<>();
            for (int u : lists[v]) {
              expected.add(u);
            }
            assertThat(dag.inDegree(v)).isEqualTo(expected.size());
            int i = 0;
            for (int u : expected) {
              assertThat(dag.predecessor(v, i++)).isEqualTo(u);
            }
          }
        });
  }
}
