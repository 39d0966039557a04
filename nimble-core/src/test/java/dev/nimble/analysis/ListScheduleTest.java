package dev.nimble.analysis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.nimble.testkit.Dags;
import dev.nimble.testkit.Seeds;
import java.util.Arrays;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class ListScheduleTest {
  private static Dag random(long seed, Random random) {
    int n = random.nextInt(60);
    switch ((int) seed % 4) {
      case 0:
        return Dags.random(n, 0.1, random);
      case 1:
        return Dags.layered(n, 1 + random.nextInt(8), 1.7, random);
      case 2:
        return Dags.seriesParallel(n, random);
      default:
        return Dags.sparse(n, 0.7, random);
    }
  }

  private static long[] lengths(int n, Random random) {
    int most = random.nextBoolean() ? 4 : 1000; // many equal ones, or few
    return random.longs(n, 0, most).toArray();
  }

  /** Runs the streams: a node starts when its stream and its predecessors have ended. */
  private static long[] starts(Dag dag, long[] lengths, int[] streamOf, int[] order) {
    long[] start = new long[dag.nodes()];
    long[] free = new long[dag.nodes() + 1];
    for (int v : order) {
      start[v] = free[streamOf[v]];
      for (int i = 0; i < dag.inDegree(v); i++) {
        int p = dag.predecessor(v, i);
        start[v] = Math.max(start[v], start[p] + lengths[p]);
      }
      free[streamOf[v]] = start[v] + lengths[v];
    }
    return start;
  }

  @Test
  void placesEveryNodeAfterItsPredecessors() {
    Seeds.forEach(
        400,
        (random, seed) -> {
          Dag dag = random(seed, random);
          int streams = 1 + random.nextInt(6);
          ListSchedule schedule = ListSchedule.of(dag, lengths(dag.nodes(), random), streams);
          boolean[] placed = new boolean[dag.nodes()];
          for (int v : schedule.order()) {
            for (int i = 0; i < dag.inDegree(v); i++) {
              assertThat(placed[dag.predecessor(v, i)]).isTrue();
            }
            assertThat(placed[v]).isFalse();
            placed[v] = true;
          }
          assertThat(schedule.order()).hasSize(dag.nodes());
          assertThat(schedule.streams()).isLessThanOrEqualTo(streams);
          assertThat(IntStream.of(schedule.streamOf()).distinct().sorted().toArray())
              .isEqualTo(IntStream.range(0, schedule.streams()).toArray());
        });
  }

  @Test
  void usesAllStreamsIfTheyAreFewerThanTheWidth() {
    Seeds.forEach(
        400,
        (random, seed) -> {
          Dag dag = random(seed, random);
          long[] lengths = lengths(dag.nodes(), random);
          int width = PathCover.of(TransitiveReduction.of(dag)).width();
          for (int streams = 1; streams <= width; streams++) {
            assertThat(ListSchedule.of(dag, lengths, streams).streams()).isEqualTo(streams);
          }
        });
  }

  /** Graham's bound: makespan <= total / k + (1 - 1 / k) * longest path. */
  @Test
  void isWithinGrahamsBound() {
    Seeds.forEach(
        400,
        (random, seed) -> {
          Dag dag = random(seed, random);
          long[] lengths = lengths(dag.nodes(), random);
          int streams = 1 + random.nextInt(6);
          ListSchedule schedule = ListSchedule.of(dag, lengths, streams);
          long[] start = starts(dag, lengths, schedule.streamOf(), schedule.order());
          long makespan =
              IntStream.range(0, start.length)
                  .mapToLong(v -> start[v] + lengths[v])
                  .max()
                  .orElse(0);
          CriticalPath path = CriticalPath.of(dag, lengths);
          assertThat(schedule.makespan()).isEqualTo(makespan);
          assertThat(makespan).isGreaterThanOrEqualTo(path.leastMakespan(streams));
          assertThat(streams * makespan)
              .isLessThanOrEqualTo(Arrays.stream(lengths).sum() + (streams - 1) * path.length());
        });
  }

  /** On one stream nothing is lost; on as many as the width, no more than the longest path. */
  @Test
  void extremes() {
    Dag dag = Dags.dag("a>b a>c b>d c>d a>e e>f");
    long[] lengths = {2, 3, 4, 1, 1, 1};
    assertThat(ListSchedule.of(dag, lengths, 1).makespan()).isEqualTo(12);
    assertThat(ListSchedule.of(dag, lengths, 3).makespan()).isEqualTo(7);
    assertThat(ListSchedule.of(dag, lengths, 3).streamOf()).containsExactly(0, 1, 0, 0, 2, 2);
    assertThat(ListSchedule.of(dag, lengths, Integer.MAX_VALUE).streams()).isEqualTo(3);
    assertThat(ListSchedule.of(Dag.of(new int[0][]), new long[0], 4).streams()).isZero();
    assertThatIllegalArgumentException().isThrownBy(() -> ListSchedule.of(dag, lengths, 0));
  }

  /** The node with the longest way to go starts first, though it has the highest number. */
  @Test
  void theCriticalPathGoesFirst() {
    Dag dag = Dags.dag("a b c>d d>e");
    int[] order = ListSchedule.of(dag, new long[] {1, 2, 1, 1, 1}, 1).order();
    assertThat(order[0]).isEqualTo(2);
  }
}
