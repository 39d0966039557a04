package dev.nimble.view;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.graph.Graph;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.Binary;
import dev.nimble.op.BinaryFunction;
import dev.nimble.op.Unary;
import dev.nimble.op.UnaryFunction;
import dev.nimble.plan.Timeline;
import dev.nimble.testkit.RandomPlans;
import dev.nimble.testkit.Seeds;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.junit.jupiter.api.Test;

class StepBoundsTest {
  /** Nodes 0 -> 1, 0 -> 2, and 3 after both. */
  private static Graph diamond() {
    GraphBuilder g = new GraphBuilder("diamond");
    Value x = g.input("x", TensorType.f32(1));
    Value a = g.apply(Unary.of(UnaryFunction.RELU), x);
    Value b = g.apply(Unary.of(UnaryFunction.TANH), a);
    Value c = g.apply(Unary.of(UnaryFunction.SIN), a);
    return g.output("y", g.apply(new Binary(BinaryFunction.ADD), b, c)).build();
  }

  /** Spans as {node, worker, start, end}. */
  private static Timeline timeline(Graph graph, long total, int[]... spans) {
    List<Timeline.Span> list = new ArrayList<>();
    for (int[] s : spans) {
      list.add(new Timeline.Span(graph.nodes().get(s[0]), s[1], s[1], s[2], s[3]));
    }
    list.sort(Comparator.comparingLong(Timeline.Span::startNanos));
    return new Timeline(ImmutableList.copyOf(list), total);
  }

  @Test
  void theStepIsAccountedForToTheNanosecond() {
    Graph graph = diamond();
    int[][] spans = {{0, 0, 10, 100}, {1, 0, 105, 200}, {2, 1, 130, 400}, {3, 0, 420, 500}};
    StepBounds bounds = StepBounds.of(graph, timeline(graph, 520, spans), 0);
    assertThat(bounds.workers()).isEqualTo(2);
    assertThat(bounds.workNanos()).isEqualTo(90 + 95 + 270 + 80);
    assertThat(bounds.evenNanos()).isEqualTo(268);
    assertThat(bounds.pathNanos()).isEqualTo(90 + 270 + 80);
    assertThat(bounds.path()).isEqualTo(ImmutableIntArray.of(0, 2, 3));
    assertThat(bounds.slackNanos().asList()).containsExactly(0L, 175L, 0L, 0L);
    assertThat(bounds.chain()).isEqualTo(ImmutableIntArray.of(0, 2, 3));
    assertThat(bounds.chainNanos()).isEqualTo(440);
    assertThat(bounds.syncNanos()).as("0 to 2, and 2 to 3").isEqualTo(30 + 20);
    assertThat(bounds.launchNanos()).isZero();
    assertThat(bounds.edgeNanos()).isEqualTo(10 + 20);
    assertThat(bounds.verdict()).isEqualTo(StepBounds.Verdict.PATH);
    assertThat(bounds.headline()).contains("critical path", "85 %");
    assertThat(bounds.sentences().get(0)).contains("440 ns over 3 nodes");
  }

  @Test
  void theChainFollowsTheWorkerWhereThatIsWhatHeldALaunchBack() {
    Graph graph = diamond();
    int[][] spans = {{0, 0, 0, 100}, {1, 0, 100, 200}, {2, 0, 201, 301}, {3, 0, 302, 400}};
    StepBounds bounds = StepBounds.of(graph, timeline(graph, 400, spans), 0);
    assertThat(bounds.chain()).isEqualTo(ImmutableIntArray.of(0, 1, 2, 3));
    assertThat(bounds.launchNanos()).isEqualTo(2);
    assertThat(bounds.pathNanos()).isEqualTo(298);
    assertThat(bounds.verdict()).isEqualTo(StepBounds.Verdict.WORK);
    assertThat(bounds.headline()).contains("total work", "one worker", "298 ns");
  }

  @Test
  void verdicts() {
    Graph graph = diamond();
    int[][] gaps = {{0, 0, 50, 60}, {1, 0, 100, 110}, {2, 0, 150, 160}, {3, 0, 200, 210}};
    assertThat(StepBounds.of(graph, timeline(graph, 250, gaps), 0).verdict())
        .isEqualTo(StepBounds.Verdict.OVERHEAD);
    assertThat(StepBounds.of(graph, timeline(graph, 250, gaps), 40).verdict())
        .isEqualTo(StepBounds.Verdict.TIMING);
    // Node 1 waits behind node 2 for no reason but its place.
    int[][] queued = {{0, 0, 0, 10}, {2, 1, 10, 100}, {1, 1, 100, 200}, {3, 0, 200, 210}};
    StepBounds placed = StepBounds.of(graph, timeline(graph, 210, queued), 200);
    assertThat(placed.verdict()).isEqualTo(StepBounds.Verdict.PLACEMENT);
    assertThat(placed.headline()).contains("placement", "57 %", "50 %");
  }

  @Test
  void nodesWithoutASpanPassOnWhatTheyWaitFor() {
    Graph graph = diamond();
    int[][] spans = {{0, 0, 0, 100}, {2, 0, 100, 150}, {3, 0, 160, 200}};
    StepBounds bounds = StepBounds.of(graph, timeline(graph, 200, spans), 0);
    assertThat(bounds.chain()).isEqualTo(ImmutableIntArray.of(0, 2, 3));
    assertThat(bounds.chainNanos()).isEqualTo(190);
  }

  @Test
  void anEmptyStepHasNoBounds() {
    Graph graph = new GraphBuilder("empty").build();
    StepBounds bounds = StepBounds.of(graph, new Timeline(ImmutableList.of(), 100), 0);
    assertThat(bounds.leastNanos()).isZero();
    assertThat(bounds.edgeNanos()).isEqualTo(100);
    assertThat(bounds.sentences()).isNotEmpty();
  }

  @Test
  void boundsHoldForEveryTimelineThatRespectsTheGraph() {
    Seeds.forEach(
        200,
        (random, seed) -> {
          Graph graph = RandomPlans.graph(random, 1 + random.nextInt(40));
          int workers = 1 + random.nextInt(3);
          long[] free = new long[workers];
          long[] end = new long[graph.nodes().size()];
          List<Timeline.Span> spans = new ArrayList<>();
          for (var node : graph.nodes()) {
            int worker = random.nextInt(workers);
            long start = free[worker];
            for (var predecessor : graph.predecessors(node)) {
              start = Math.max(start, end[predecessor.id()]);
            }
            start += random.nextInt(5);
            end[node.id()] = start + random.nextInt(100);
            free[worker] = end[node.id()];
            spans.add(new Timeline.Span(node, worker, worker, start, end[node.id()]));
          }
          spans.sort(Comparator.comparingLong(Timeline.Span::startNanos));
          long total = spans.stream().mapToLong(Timeline.Span::endNanos).max().orElse(0) + 3;
          StepBounds bounds =
              StepBounds.of(graph, new Timeline(ImmutableList.copyOf(spans), total), 0);
          assertThat(bounds.leastNanos()).isLessThanOrEqualTo(total);
          assertThat(bounds.edgeNanos()).as("no time is lost or counted twice").isBetween(3L, 7L);
          long length = 0;
          for (int i = 0; i < bounds.path().length(); i++) {
            int id = bounds.path().get(i);
            length += spanOf(spans, id).endNanos() - spanOf(spans, id).startNanos();
            if (i > 0) {
              int before = bounds.path().get(i - 1);
              assertThat(graph.predecessors(graph.nodes().get(id)))
                  .contains(graph.nodes().get(before));
            }
          }
          assertThat(length).isEqualTo(bounds.pathNanos());
        });
  }

  private static Timeline.Span spanOf(List<Timeline.Span> spans, int node) {
    return spans.stream().filter(s -> s.node().id() == node).findFirst().orElseThrow();
  }

  @Test
  void timesAreReadable() {
    assertThat(StepBounds.time(940)).isEqualTo("940 ns");
    assertThat(StepBounds.time(12_345)).isEqualTo("12.3 µs");
    assertThat(StepBounds.time(4_560_000)).isEqualTo("4.56 ms");
    assertThat(StepBounds.time(123_000_000)).isEqualTo("123 ms");
    assertThat(StepBounds.time(12_300_000_000L)).isEqualTo("12.3 s");
  }
}
