package dev.nimble.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.common.collect.ImmutableList;
import dev.nimble.buffer.Slice;
import dev.nimble.buffer.Slice.Region;
import dev.nimble.error.InvalidPlanException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Node;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import dev.nimble.op.KernelChoice;
import dev.nimble.op.KernelChoices;
import dev.nimble.op.ResourceDemand;
import dev.nimble.schedule.Schedule;
import dev.nimble.schedule.Sync;
import dev.nimble.testkit.OpaqueOperator;
import dev.nimble.testkit.RandomPlans;
import dev.nimble.testkit.Seeds;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MemoryPlannerTest {
  private static final KernelChoice PLAIN = KernelChoice.of("k", ResourceDemand.NONE);
  private static final KernelChoice VIEW = PLAIN.asView();

  /** A kernel that may overwrite any of its first {@code inputs} inputs. */
  private static KernelChoice inPlace(int inputs) {
    return PLAIN.inPlaceOver(IntStream.range(0, inputs).boxed().toList());
  }

  private final GraphBuilder builder = new GraphBuilder("test");
  private final List<KernelChoice> choices = new ArrayList<>();

  private Value input(String name) {
    return builder.input(name, OpaqueOperator.type(256));
  }

  private Value variable(String name) {
    return builder.variable(name, Tensor.zeros(OpaqueOperator.type(256)));
  }

  private Value add(String name, KernelChoice choice, Value... operands) {
    choices.add(choice);
    return builder.apply(name, OpaqueOperator.of(name, 256), operands);
  }

  private void update(String name, Value... operands) {
    choices.add(PLAIN);
    builder.add(name, OpaqueOperator.of(name).updating(), List.of(operands));
  }

  private MemoryPlan plan(Graph graph, Schedule schedule) {
    return MemoryPlanner.plan(graph, kernels(graph), schedule);
  }

  private KernelChoices kernels(Graph graph) {
    return KernelChoices.of("test", graph, n -> choices.get(n.id()));
  }

  /** Plans what was built, in program order on one stream. */
  private MemoryPlan planOnOneStream() {
    Graph graph = builder.build();
    return plan(graph, oneStream(graph));
  }

  private static Schedule oneStream(Graph graph) {
    return RandomPlans.schedule(graph, new int[graph.nodes().size()], graph.nodes(), 1);
  }

  /** Plans what was built, in program order on these streams, with the syncs it needs. */
  private MemoryPlan planOnStreams(Integer... streams) {
    Graph graph = builder.build();
    int[] streamOf = ImmutableList.copyOf(streams).stream().mapToInt(s -> s).toArray();
    return plan(graph, RandomPlans.schedule(graph, streamOf, graph.nodes(), streams.length));
  }

  /** name:first-last:blocks, blocks of 256 bytes; at each time one node defines and reads. */
  @ParameterizedTest
  @CsvSource({
    "'', 0, 0",
    "a:0-0:1, 1, 1",
    "a:0-1:1 b:1-2:1, 2, 2",
    "a:0-1:1 b:1-2:1 c:2-3:1 d:3-4:1, 2, 2",
    "a:0-1:2 b:1-2:1 c:2-3:2, 3, 3",
    "a:0-5:1 b:1-2:3 c:3-4:3, 4, 4",
    "a:0-5:1 b:1-5:2 c:2-5:3, 6, 6",
    "a:0-1:4 b:1-2:1 c:2-3:2 d:2-3:2, 5, 5",
    "a:0-3:1 b:0-1:3 c:2-3:1 d:2-3:2, 4, 4",
    "a:0-1:0 b:0-1:5, 5, 5",
    "a:0-1:2 b:0-3:1 c:2-5:2 d:4-7:1 e:6-8:2 f:1-2:1 g:3-4:1 h:5-6:1, 4, 4",
  })
  void packsLiveRanges(String ranges, long arenaBlocks, long boundBlocks) {
    record Range(String name, int first, int last, int blocks) {}
    List<Range> parsed = new ArrayList<>();
    for (String range : ranges.isEmpty() ? new String[0] : ranges.split(" ")) {
      String[] parts = range.split("[:-]");
      parsed.add(
          new Range(
              parts[0],
              Integer.parseInt(parts[1]),
              Integer.parseInt(parts[2]),
              Integer.parseInt(parts[3])));
    }
    List<Value> values = new ArrayList<>();
    List<Range> defined = new ArrayList<>();
    int end = parsed.stream().mapToInt(Range::last).max().orElse(-1);
    for (int time = 0; time <= end; time++) {
      int now = time;
      List<Value> reads = new ArrayList<>();
      for (int i = 0; i < values.size(); i++) {
        if (defined.get(i).last == now) {
          reads.add(values.get(i));
        }
      }
      List<Range> starting = parsed.stream().filter(r -> r.first == now).toList();
      Integer[] sizes = starting.stream().map(r -> 256 * r.blocks).toArray(Integer[]::new);
      choices.add(PLAIN);
      Node node = builder.add("t" + now, OpaqueOperator.of("T", sizes), reads);
      values.addAll(node.outputs());
      defined.addAll(starting);
    }
    MemoryPlan plan = planOnOneStream();
    assertThat(plan.lowerBoundBytes()).isEqualTo(256 * boundBlocks);
    assertThat(plan.arenaBytes()).isEqualTo(256 * arenaBlocks);
    for (int i = 0; i < values.size(); i++) {
      for (int j = 0; j < i; j++) {
        if (defined.get(i).first <= defined.get(j).last
            && defined.get(j).first <= defined.get(i).last) {
          assertThat(plan.of(values.get(i)).overlaps(plan.of(values.get(j)))).isFalse();
        }
      }
    }
  }

  @Test
  void launchOrderAloneLetsNothingShare() {
    Value x = input("x");
    Value a = add("a", PLAIN, x);
    Value b = add("b", PLAIN, a);
    Value c = add("c", PLAIN, x);
    Value d = add("d", PLAIN, c);
    assertThat(planOnStreams(0, 0, 1, 1).arenaBytes()).isEqualTo(4 * 256);
    assertThat(planOnStreams(0, 0, 0, 0).arenaBytes()).isEqualTo(2 * 256);
    Graph graph = builder.build();
    Schedule apart = RandomPlans.schedule(graph, new int[] {0, 0, 1, 1}, graph.nodes(), 2);
    Schedule synced =
        new Schedule(
            graph,
            "test",
            2,
            apart.streamOf(),
            apart.launchOrder(),
            ImmutableList.of(new Sync(graph.nodes().get(1), graph.nodes().get(2))),
            2,
            "");
    MemoryPlan plan = plan(graph, synced);
    assertThat(plan.arenaBytes()).isEqualTo(2 * 256);
    assertThat(List.of(plan.of(a), plan.of(b))).contains(plan.of(c), plan.of(d));
    assertThat(plan.lowerBoundBytes()).isEqualTo(2 * 256);
    assertThat(plan.naiveBytes()).isEqualTo(4 * 256);
  }

  @Test
  void aChainRunsInPlace() {
    Value a = add("a", PLAIN, input("x"));
    Value b = add("b", inPlace(1), a);
    Value c = add("c", inPlace(1), b);
    add("d", PLAIN, c);
    MemoryPlan plan = planOnOneStream();
    assertThat(plan.of(b)).isEqualTo(plan.of(a));
    assertThat(plan.of(c)).isEqualTo(plan.of(a));
    assertThat(plan.arenaBytes()).isEqualTo(2 * 256);
  }

  @Test
  void overwritesTheFirstOperandThatIsFree() {
    Value x = input("x");
    Value a = add("a", PLAIN, x);
    Value b = add("b", PLAIN, x);
    Value c = add("c", inPlace(3), x, a, b);
    add("d", PLAIN, a);
    MemoryPlan plan = planOnOneStream();
    assertThat(plan.of(c)).isEqualTo(plan.of(b));
  }

  @Test
  void overwritesNothingThatIsReadLater() {
    Value a = add("a", PLAIN, input("x"));
    Value b = add("b", inPlace(1), a);
    add("c", PLAIN, a);
    MemoryPlan plan = planOnOneStream();
    assertThat(plan.of(b).overlaps(plan.of(a))).isFalse();
  }

  @Test
  void overwritesNothingThatAnotherStreamMayStillRead() {
    Value a = add("a", PLAIN, input("x"));
    add("reader", PLAIN, a);
    Value b = add("b", inPlace(1), a);
    MemoryPlan apart = planOnStreams(0, 1, 0);
    assertThat(apart.of(b).overlaps(apart.of(a))).isFalse();
    MemoryPlan together = planOnStreams(0, 0, 0);
    assertThat(together.of(b)).isEqualTo(together.of(a));
  }

  @Test
  void overwritesNoOperandThatAlsoStandsWhereItMustNotBeOverwritten() {
    Value a = add("a", PLAIN, input("x"));
    Value b = add("b", inPlace(1), a, a);
    Value c = add("c", inPlace(2), b, b);
    MemoryPlan plan = planOnOneStream();
    assertThat(plan.of(b).overlaps(plan.of(a))).isFalse();
    assertThat(plan.of(c)).isEqualTo(plan.of(b));
  }

  @Test
  void overwritesNeitherInputsNorVariablesNorOutputs() {
    Value x = input("x");
    Value v = variable("v");
    Value a = add("a", inPlace(2), x, v);
    Value b = add("b", inPlace(1), a);
    builder.output("a", a).output("b", b);
    MemoryPlan plan = planOnOneStream();
    assertThat(plan.of(a)).isEqualTo(new Slice(Region.OUTPUT, 0, 256));
    assertThat(plan.of(b)).isEqualTo(new Slice(Region.OUTPUT, 256, 256));
    assertThat(plan.of(x)).isEqualTo(new Slice(Region.INPUT, 0, 256));
    assertThat(plan.of(v)).isEqualTo(new Slice(Region.VARIABLE, 0, 256));
    assertThat(plan.arenaBytes()).isZero();
  }

  @Test
  void overwritesNothingThatAViewStillShows() {
    Value a = add("a", PLAIN, input("x"));
    Value view = add("view", VIEW, a);
    Value b = add("b", inPlace(1), a);
    add("c", PLAIN, view);
    MemoryPlan plan = planOnOneStream();
    assertThat(plan.of(view)).isEqualTo(plan.of(a));
    assertThat(plan.of(b).overlaps(plan.of(a))).isFalse();
  }

  @Test
  void overwritesAViewOnceTheRestIsRead() {
    Value a = add("a", PLAIN, input("x"));
    Value view = add("view", VIEW, a);
    add("c", PLAIN, a);
    Value b = add("b", inPlace(1), view);
    MemoryPlan plan = planOnOneStream();
    assertThat(plan.of(b)).isEqualTo(plan.of(a));
  }

  @Test
  void viewsEndInTheOutputWithNoCopy() {
    Value a = add("a", PLAIN, input("x"));
    Value b = add("b", inPlace(1), a);
    Value c = add("c", VIEW, b);
    Value d = add("d", VIEW, c);
    builder.output("d", d);
    MemoryPlan plan = planOnOneStream();
    assertThat(List.of(plan.of(a), plan.of(b), plan.of(c), plan.of(d)))
        .containsOnly(new Slice(Region.OUTPUT, 0, 256));
    assertThat(plan.views()).extracting(Node::name).containsExactly("c", "d");
  }

  @Test
  void aSecondOutputAndAnInputAreCopied() {
    Value x = input("x");
    Value a = add("a", PLAIN, x);
    Value b = add("b", VIEW, a);
    Value c = add("c", VIEW, x);
    Value d = add("d", VIEW, x);
    add("e", PLAIN, d);
    builder.output("a", a).output("b", b).output("c", c);
    MemoryPlan plan = planOnOneStream();
    assertThat(plan.of(b)).isEqualTo(new Slice(Region.OUTPUT, 256, 256));
    assertThat(plan.of(c)).isEqualTo(new Slice(Region.OUTPUT, 512, 256));
    assertThat(plan.of(d)).isEqualTo(plan.of(x));
    assertThat(plan.views()).extracting(Node::name).containsExactly("d");
  }

  @Test
  void aVariableIsViewedOnlyIfNoUpdateComesBetween() {
    Value v = variable("v");
    Value x = input("x");
    Value early = add("early", VIEW, v);
    add("reader", PLAIN, early);
    Value late = add("late", VIEW, v);
    update("update", v, x);
    add("lateReader", PLAIN, late);
    Value after = add("after", VIEW, v);
    add("afterReader", PLAIN, after);
    MemoryPlan plan = planOnOneStream();
    assertThat(plan.views()).extracting(Node::name).containsExactly("early", "after");
    assertThat(plan.of(early)).isEqualTo(plan.of(v));
    assertThat(plan.of(late).region()).isEqualTo(Region.ARENA);
    MemoryPlan apart = planOnStreams(0, 1, 0, 0, 0, 0, 0);
    assertThat(apart.views()).extracting(Node::name).containsExactly("after");
  }

  @Test
  void aViewOfAnotherSizeIsCopied() {
    Value a = add("a", PLAIN, input("x"));
    choices.add(VIEW);
    Value b = builder.apply("b", OpaqueOperator.of("b", 512), a);
    MemoryPlan plan = planOnOneStream();
    assertThat(plan.views()).isEmpty();
    assertThat(plan.of(b).size()).isEqualTo(512);
  }

  @Test
  void workspacesLiveWithTheirNodeOnly() {
    Value a = add("a", PLAIN.withWorkspace(1000), input("x"));
    Value b = add("b", PLAIN.withWorkspace(1024), a);
    Graph graph = builder.build();
    MemoryPlan plan = plan(graph, oneStream(graph));
    assertThat(plan.arenaBytes()).isEqualTo(2 * 256 + 1024);
    Slice first = plan.workspaceOf(graph.nodes().get(0));
    Slice second = plan.workspaceOf(graph.nodes().get(1));
    assertThat(first.size()).isEqualTo(1000);
    assertThat(first.overlaps(second)).isTrue();
    assertThat(second.overlaps(plan.of(a))).isFalse();
    assertThat(second.overlaps(plan.of(b))).isFalse();
    assertThat(plan.naiveBytes()).isEqualTo(2 * 256 + 1024 + 1024);
  }

  @Test
  void sourcesAndOutputsArePackedAndAligned() {
    Value p = builder.input("p", OpaqueOperator.type(10));
    Value q = builder.input("q", OpaqueOperator.type(300));
    Value c = builder.constant("c", Tensor.zeros(OpaqueOperator.type(1)));
    choices.add(PLAIN);
    choices.add(PLAIN);
    Value y = builder.apply("y", OpaqueOperator.of("y", 5), p, q, c);
    Value z = builder.apply("z", OpaqueOperator.of("z", 5), y);
    builder.output("z", z).output("y", y);
    MemoryPlan plan = planOnOneStream();
    assertThat(plan.of(p)).isEqualTo(new Slice(Region.INPUT, 0, 10));
    assertThat(plan.of(q)).isEqualTo(new Slice(Region.INPUT, 256, 300));
    assertThat(plan.of(c)).isEqualTo(new Slice(Region.CONSTANT, 0, 1));
    assertThat(plan.of(z)).isEqualTo(new Slice(Region.OUTPUT, 0, 5));
    assertThat(plan.of(y)).isEqualTo(new Slice(Region.OUTPUT, 256, 5));
    assertThat(plan.bytesOf(Region.INPUT)).isEqualTo(768);
    assertThat(plan.bytesOf(Region.OUTPUT)).isEqualTo(512);
    assertThat(plan.bytesOf(Region.VARIABLE)).isZero();
  }

  @Test
  void anEmptyGraphNeedsNothing() {
    assertThat(planOnOneStream().regionBytes().values()).containsOnly(0L);
  }

  @Test
  void outputsThatAreNoResultsOfTheirOwnAreRefused() {
    Value x = input("x");
    Value a = add("a", PLAIN, x);
    builder.output("first", a).output("second", a);
    assertThatThrownBy(this::planOnOneStream)
        .isInstanceOf(InvalidPlanException.class)
        .hasMessageContaining("'second' is the same value as an earlier output")
        .hasMessageContaining("Identity");
    GraphBuilder other = new GraphBuilder("other");
    Graph direct = other.output("y", other.input("x", OpaqueOperator.type(1))).build();
    assertThatThrownBy(() -> plan(direct, oneStream(direct)))
        .isInstanceOf(InvalidPlanException.class)
        .hasMessageContaining("'y' is the input 'x'");
  }

  @Test
  void schedulesAndKernelsThatMakeNoSenseAreRefused() {
    Value a = add("a", PLAIN, input("x"));
    add("b", PLAIN, a);
    Graph graph = builder.build();
    Node first = graph.nodes().get(0);
    Node second = graph.nodes().get(1);
    Schedule right = oneStream(graph);
    assertThatThrownBy(() -> plan(graph, reordered(right, List.of(second, first), List.of())))
        .isInstanceOf(InvalidPlanException.class)
        .hasMessageContaining("'a' is used before");
    assertThatThrownBy(() -> plan(graph, reordered(right, List.of(first, first), List.of())))
        .isInstanceOf(InvalidPlanException.class)
        .hasMessageContaining("node 'a'")
        .hasMessageContaining("twice");
    assertThatThrownBy(() -> plan(graph, reordered(right, List.of(first), List.of())))
        .isInstanceOf(InvalidPlanException.class)
        .hasMessageContaining("1 of 2");
    List<Sync> backwards = List.of(new Sync(second, first));
    assertThatThrownBy(() -> plan(graph, reordered(right, graph.nodes(), backwards)))
        .isInstanceOf(InvalidPlanException.class)
        .hasMessageContaining("waits for node 'b'");
    choices.set(0, PLAIN.withWorkspace(-1));
    assertThatThrownBy(() -> plan(graph, right))
        .isInstanceOf(InvalidPlanException.class)
        .hasMessageContaining("workspace of -1");
    choices.set(0, PLAIN.inPlaceOver(List.of(1)));
    assertThatThrownBy(() -> plan(graph, right))
        .isInstanceOf(InvalidPlanException.class)
        .hasMessageContaining("overwrite input 1 of 1");
    choices.set(0, PLAIN.withWorkspace(Long.MAX_VALUE));
    choices.set(1, PLAIN.withWorkspace(Long.MAX_VALUE));
    assertThatThrownBy(() -> plan(graph, right))
        .isInstanceOf(InvalidPlanException.class)
        .hasMessageContaining("2^63");
  }

  private static Schedule reordered(Schedule schedule, List<Node> order, List<Sync> syncs) {
    return new Schedule(
        schedule.graph(),
        "test",
        schedule.streams(),
        schedule.streamOf(),
        ImmutableList.copyOf(order),
        ImmutableList.copyOf(syncs),
        1,
        "");
  }

  @Test
  void theLowerBoundIsTheBruteForcePeakAndPlansAreDeterministic() {
    Seeds.forEach(
        500,
        (random, seed) -> {
          Graph graph = RandomPlans.graph(random, 1 + random.nextInt(40));
          KernelChoices kernels = RandomPlans.kernels(graph, random);
          Schedule schedule = RandomPlans.schedule(graph, random, 1 + random.nextInt(4));
          MemoryPlan plan = MemoryPlanner.plan(graph, kernels, schedule);
          assertThat(plan.lowerBoundBytes()).isEqualTo(peak(graph, schedule, plan));
          assertThat(plan.arenaBytes()).isBetween(plan.lowerBoundBytes(), plan.naiveBytes());
          assertThat(MemoryPlanner.plan(graph, kernels, schedule)).isEqualTo(plan);
        });
  }

  /**
   * At each launch, the slices of all values already defined and yet to be read, each slice once.
   */
  private static long peak(Graph graph, Schedule schedule, MemoryPlan plan) {
    long peak = 0;
    List<Node> order = schedule.launchOrder();
    for (int i = 0; i < order.size(); i++) {
      Set<Slice> live = new HashSet<>();
      Set<Node> later = new HashSet<>(order.subList(i, order.size()));
      Set<Node> past = new HashSet<>(order.subList(0, i + 1));
      for (Value value : graph.values()) {
        boolean read =
            value.producer() == order.get(i)
                || later.stream().anyMatch(n -> n.inputs().contains(value));
        if (past.contains(value.producer()) && read) {
          live.add(plan.of(value));
        }
      }
      Slice workspace = plan.workspaceOf(order.get(i));
      if (workspace != null) {
        live.add(workspace);
      }
      peak =
          Math.max(
              peak,
              live.stream()
                  .filter(s -> s.region() == Region.ARENA)
                  .mapToLong(s -> (s.size() + 255) / 256 * 256)
                  .sum());
    }
    return peak;
  }

  @Test
  void oneStreamIsPackedTightly() {
    double[] sum = {0};
    int graphs = 200;
    Seeds.forEach(
        graphs,
        (random, seed) -> {
          Graph graph = RandomPlans.graph(random, 20 + random.nextInt(100));
          KernelChoices kernels = RandomPlans.kernels(graph, random);
          MemoryPlan plan =
              MemoryPlanner.plan(graph, kernels, RandomPlans.schedule(graph, random, 1));
          double ratio = (double) plan.arenaBytes() / Math.max(256, plan.lowerBoundBytes());
          assertThat(ratio).isLessThan(1.15);
          sum[0] += ratio;
        });
    assertThat(sum[0] / graphs).isLessThan(1.02);
  }
}
