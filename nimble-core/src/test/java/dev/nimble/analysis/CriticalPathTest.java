package dev.nimble.analysis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.nimble.testkit.Dags;
import dev.nimble.testkit.Seeds;
import org.junit.jupiter.api.Test;

class CriticalPathTest {
  @Test
  void aDiamondWithOneLongSide() {
    CriticalPath path = CriticalPath.of(Dags.dag("a>b a>c b>d c>d"), new long[] {1, 5, 2, 1});
    assertThat(path.length()).isEqualTo(7);
    assertThat(path.earliestStart(3)).isEqualTo(6);
    assertThat(path.toSink(2)).isEqualTo(3);
    assertThat(path.slack(1)).isZero();
    assertThat(path.slack(2)).isEqualTo(3);
    assertThat(path.leastMakespan(1)).isEqualTo(9);
    assertThat(path.leastMakespan(2)).isEqualTo(7);
  }

  @Test
  void isTheLongestOfAllPaths() {
    Seeds.forEach(
        300,
        (random, seed) -> {
          int n = 1 + random.nextInt(10);
          Dag dag = Dags.random(n, 0.4, random);
          long[] lengths = random.longs(n, 0, 100).toArray();
          CriticalPath path = CriticalPath.of(dag, lengths);
          assertThat(path.length()).isEqualTo(longest(dag, lengths));
          for (int v = 0; v < n; v++) {
            assertThat(path.earliestStart(v) + lengths[v]).isEqualTo(longestTo(dag, lengths, v));
          }
        });
  }

  /** By as much as its slack a node may grow, and by no more. */
  @Test
  void slackIsWhatANodeMayGrow() {
    Seeds.forEach(
        200,
        (random, seed) -> {
          int n = 1 + random.nextInt(10);
          Dag dag = Dags.random(n, 0.4, random);
          long[] lengths = random.longs(n, 0, 100).toArray();
          CriticalPath path = CriticalPath.of(dag, lengths);
          for (int v = 0; v < n; v++) {
            long[] grown = lengths.clone();
            grown[v] += path.slack(v);
            assertThat(longest(dag, grown)).isEqualTo(path.length());
            grown[v]++;
            assertThat(longest(dag, grown)).isEqualTo(path.length() + 1);
          }
        });
  }

  private static long longest(Dag dag, long[] lengths) {
    long longest = 0;
    for (int v = 0; v < dag.nodes(); v++) {
      longest = Math.max(longest, longestTo(dag, lengths, v));
    }
    return longest;
  }

  private static long longestTo(Dag dag, long[] lengths, int v) {
    long longest = 0;
    for (int i = 0; i < dag.inDegree(v); i++) {
      longest = Math.max(longest, longestTo(dag, lengths, dag.predecessor(v, i)));
    }
    return longest + lengths[v];
  }

  @Test
  void badLengthsAreRefused() {
    Dag dag = Dags.dag("a>b");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> CriticalPath.of(dag, new long[1]))
        .withMessage("1 lengths for 2 nodes");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> CriticalPath.of(dag, new long[] {1, -2}))
        .withMessage("node 1 has the length -2");
    assertThatThrownBy(() -> CriticalPath.of(dag, new long[] {Long.MAX_VALUE, 1}))
        .isInstanceOf(ArithmeticException.class);
  }
}
