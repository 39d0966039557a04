package dev.nimble.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.nimble.testkit.Dags;
import dev.nimble.testkit.Seeds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
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
        });
  }

  @Test
  void listScheduleKeepsTheBoundAndATopologicalOrder() {
    Seeds.forEach(
        300,
        (random, seed) -> {
          int n = random.nextInt(60);
          Dag dag = Dags.random(n, 0.1, random);
          long[] lengths = random.longs(n, 0, 100).toArray();
          int streams = 1 + random.nextInt(5);
          ListSchedule schedule = ListSchedule.of(dag, lengths, streams);
          int[] position = new int[n];
          int[] order = schedule.order();
          for (int i = 0; i < n; i++) {
            position[order[i]] = i;
          }
          for (int v = 0; v < n; v++) {
            assertThat(schedule.streamOf()[v]).isBetween(0, streams - 1);
            for (int i = 0; i < dag.inDegree(v); i++) {
              assertThat(position[dag.predecessor(v, i)]).isLessThan(position[v]);
            }
          }
        });
  }

  @Test
  void criticalPathIsTheLongestOfAllPaths() {
    Seeds.forEach(
        300,
        (random, seed) -> {
          int n = 1 + random.nextInt(10);
          Dag dag = Dags.random(n, 0.4, random);
          long[] lengths = random.longs(n, 0, 100).toArray();
          long longest = 0;
          for (int v = 0; v < n; v++) {
            longest = Math.max(longest, longestTo(dag, lengths, v));
          }
          assertThat(CriticalPath.of(dag, lengths).length()).isEqualTo(longest);
        });
  }

  private static long longestTo(Dag dag, long[] lengths, int v) {
    long longest = 0;
    for (int i = 0; i < dag.inDegree(v); i++) {
      longest = Math.max(longest, longestTo(dag, lengths, dag.predecessor(v, i)));
    }
    return longest + lengths[v];
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
