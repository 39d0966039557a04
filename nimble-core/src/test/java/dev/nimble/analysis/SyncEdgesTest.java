package dev.nimble.analysis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.testkit.Dags;
import dev.nimble.testkit.Seeds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class SyncEdgesTest {
  /** Happens-before by definition: streams, and the syncs but one. */
  private static boolean[][] happensBefore(
      SyncEdges syncs, int[] streamOf, int[] order, int without) {
    int n = order.length;
    boolean[][] before = new boolean[n][n];
    for (int i = 0; i < n; i++) {
      for (int j = i + 1; j < n; j++) {
        before[order[i]][order[j]] = streamOf[order[i]] == streamOf[order[j]];
      }
    }
    for (int k = 0; k < syncs.count(); k++) {
      if (k != without) {
        before[syncs.from().get(k)][syncs.to().get(k)] = true;
      }
    }
    for (int k : order) {
      for (int u = 0; u < n; u++) {
        for (int v = 0; v < n; v++) {
          before[u][v] |= before[u][k] && before[k][v];
        }
      }
    }
    return before;
  }

  private static boolean respects(Dag dag, boolean[][] before) {
    for (int v = 0; v < dag.nodes(); v++) {
      for (int i = 0; i < dag.inDegree(v); i++) {
        if (!before[dag.predecessor(v, i)][v]) {
          return false;
        }
      }
    }
    return true;
  }

  @Test
  void syncsAreEnoughAndNoneCanBeDropped() {
    Seeds.forEach(
        500,
        (random, seed) -> {
          int n = 1 + random.nextInt(24);
          Dag dag =
              seed % 2 == 0
                  ? Dags.random(n, 0.05 + 0.4 * random.nextDouble(), random)
                  : Dags.seriesParallel(n, random);
          int streams = 1 + random.nextInt(4);
          int[] order = randomOrder(dag, random);
          int[] streamOf = new int[n];
          Arrays.setAll(streamOf, v -> random.nextInt(streams));
          SyncEdges syncs = SyncEdges.of(dag, streamOf, order);
          assertThat(respects(dag, happensBefore(syncs, streamOf, order, -1))).isTrue();
          for (int k = 0; k < syncs.count(); k++) {
            assertThat(respects(dag, happensBefore(syncs, streamOf, order, k)))
                .as("sync %d of %s", k, syncs)
                .isFalse();
          }
        });
  }

  @Test
  void underMaximumConcurrencyTheyAreTheMegEdgesBetweenChains() {
    Seeds.forEach(
        300,
        (random, seed) -> {
          Dag dag = Dags.layered(10 + random.nextInt(60), 5, 1.8, random);
          PathCover cover = PathCover.of(TransitiveReduction.of(dag));
          SyncEdges syncs = SyncEdges.of(dag, cover.chainOf(), randomOrder(dag, random));
          assertThat(syncs.count()).isEqualTo(cover.syncs());
          int[] byNumber = IntStream.range(0, dag.nodes()).toArray();
          assertThat(SyncEdges.of(dag, cover.chainOf(), byNumber)).isEqualTo(cover.syncEdges());
        });
  }

  @Test
  void theReductionNeedsTheSameSyncs() {
    Seeds.forEach(
        200,
        (random, seed) -> {
          Dag dag = Dags.random(2 + random.nextInt(40), 0.3, random);
          int[] order = randomOrder(dag, random);
          int[] streamOf = random.ints(dag.nodes(), 0, 4).toArray();
          assertThat(SyncEdges.of(TransitiveReduction.of(dag).meg(), streamOf, order))
              .isEqualTo(SyncEdges.of(dag, streamOf, order));
        });
  }

  /** Of all sets of cross-stream pairs, no smaller one orders the same nodes as what is found. */
  @Test
  void noSmallerSetOrdersTheSameNodes() {
    Seeds.forEach(
        150,
        (random, seed) -> {
          int n = 3 + random.nextInt(3);
          Dag dag = Dags.random(n, 0.5, random);
          int[] order = randomOrder(dag, random);
          int[] streamOf = random.ints(n, 0, 3).toArray();
          List<int[]> pairs = new ArrayList<>();
          for (int i = 0; i < n; i++) {
            for (int j = i + 1; j < n; j++) {
              if (streamOf[order[i]] != streamOf[order[j]]) {
                pairs.add(new int[] {order[i], order[j]});
              }
            }
          }
          SyncEdges found = SyncEdges.of(dag, streamOf, order);
          boolean[][] wanted = happensBefore(found, streamOf, order, -1);
          int fewest = Integer.MAX_VALUE;
          for (int set = 0; set < 1 << pairs.size(); set++) {
            if (Integer.bitCount(set) < fewest) {
              int chosen = set;
              int[] from = pick(pairs, chosen, 0);
              int[] to = pick(pairs, chosen, 1);
              SyncEdges syncs =
                  new SyncEdges(ImmutableIntArray.copyOf(from), ImmutableIntArray.copyOf(to));
              if (Arrays.deepEquals(wanted, happensBefore(syncs, streamOf, order, -1))) {
                fewest = Integer.bitCount(set);
              }
            }
          }
          assertThat(found.count()).isEqualTo(fewest);
        });
  }

  /**
   * Two waits, though the one of c for b would respect the DAG as well: c would wait for longer
   * than it needs.
   */
  @Test
  void noNodeWaitsForMoreThanItNeeds() {
    Dag dag = Dags.dag("a>c b>d");
    SyncEdges syncs = SyncEdges.of(dag, new int[] {0, 0, 1, 1}, new int[] {0, 1, 2, 3});
    assertThat(syncs.from().toArray()).containsExactly(0, 1);
    assertThat(syncs.to().toArray()).containsExactly(2, 3);
  }

  private static int[] pick(List<int[]> pairs, int chosen, int end) {
    return IntStream.range(0, pairs.size())
        .filter(i -> (chosen >> i & 1) == 1)
        .map(i -> pairs.get(i)[end])
        .toArray();
  }

  @Test
  void aWrongLaunchOrderIsRefused() {
    Dag dag = Dags.dag("a>b b>c");
    int[] streamOf = {0, 1, 0};
    assertThatIllegalArgumentException()
        .isThrownBy(() -> SyncEdges.of(dag, streamOf, new int[] {0, 1, 1}));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> SyncEdges.of(dag, streamOf, new int[] {0, 1}));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> SyncEdges.of(dag, streamOf, new int[] {1, 0, 2}));
  }

  private static int[] randomOrder(Dag dag, Random random) {
    List<Integer> left = new ArrayList<>();
    for (int v = 0; v < dag.nodes(); v++) {
      left.add(v);
    }
    int[] order = new int[dag.nodes()];
    boolean[] done = new boolean[dag.nodes()];
    for (int i = 0; i < order.length; i++) {
      Collections.shuffle(left, random);
      for (int v : left) {
        boolean ready = true;
        for (int k = 0; k < dag.inDegree(v); k++) {
          ready &= done[dag.predecessor(v, k)];
        }
        if (ready) {
          order[i] = v;
          done[v] = true;
          left.remove((Integer) v);
          break;
        }
      }
    }
    return order;
  }
}
