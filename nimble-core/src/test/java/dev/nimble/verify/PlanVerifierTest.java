package dev.nimble.verify;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.buffer.Slice;
import dev.nimble.buffer.Slice.Region;
import dev.nimble.error.InvalidPlanException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Node;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import dev.nimble.memory.MemoryPlan;
import dev.nimble.op.KernelChoice;
import dev.nimble.op.KernelChoices;
import dev.nimble.op.ResourceDemand;
import dev.nimble.plan.Command;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.plan.PlanAssembler;
import dev.nimble.schedule.Schedule;
import dev.nimble.schedule.Sync;
import dev.nimble.testkit.OpaqueOperator;
import dev.nimble.testkit.RandomPlans;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Plans written by hand, with no planner: each fault is found and named. */
class PlanVerifierTest {
  private static final KernelChoice PLAIN = KernelChoice.of("k", ResourceDemand.NONE);

  private final GraphBuilder builder = new GraphBuilder("test");
  private final Map<Value, Slice> slices = new HashMap<>();
  private final Map<Node, KernelChoice> kernels = new HashMap<>();
  private final Map<Node, Slice> workspaces = new HashMap<>();
  private final Map<Node, Integer> streams = new HashMap<>();
  private final Map<Region, Long> sizes = new HashMap<>();
  private final Set<Node> views = new HashSet<>();
  private final List<Node> order = new ArrayList<>();
  private final List<Sync> syncs = new ArrayList<>();

  PlanVerifierTest() {
    for (Region region : Region.values()) {
      sizes.put(region, 4096L);
    }
  }

  private static Slice at(Region region, int block) {
    return new Slice(region, 256 * block, 256);
  }

  private Value input(String name, int block) {
    Value value = builder.input(name, OpaqueOperator.type(256));
    slices.put(value, at(Region.INPUT, block));
    return value;
  }

  private Value variable(String name) {
    Value value = builder.variable(name, Tensor.zeros(OpaqueOperator.type(256)));
    slices.put(value, at(Region.VARIABLE, 0));
    return value;
  }

  /** A node of one output, launched next on {@code stream}. */
  private Value add(String name, int stream, Slice slice, Value... operands) {
    Value value = builder.apply(name, OpaqueOperator.of("Op", 256), operands);
    slices.put(value, slice);
    launch(value.producer(), stream);
    return value;
  }

  private Value add(String name, int stream, int block, Value... operands) {
    return add(name, stream, at(Region.ARENA, block), operands);
  }

  private Node update(String name, int stream, Value... operands) {
    Node node = builder.add(name, OpaqueOperator.of("Update").updating(), List.of(operands));
    launch(node, stream);
    return node;
  }

  private void launch(Node node, int stream) {
    kernels.put(node, PLAIN);
    streams.put(node, stream);
    order.add(node);
  }

  private void kernel(Value value, KernelChoice kernel) {
    kernels.put(value.producer(), kernel);
  }

  private void sync(Value from, Value to) {
    syncs.add(new Sync(from.producer(), to.producer()));
  }

  private ExecutionPlan plan() {
    Graph graph = builder.build();
    syncs.sort(Comparator.comparingInt(s -> s.to().id()));
    Schedule schedule =
        new Schedule(
            graph,
            "hand",
            1 + streams.values().stream().mapToInt(s -> s).max().orElse(0),
            ImmutableIntArray.copyOf(graph.nodes().stream().mapToInt(streams::get)),
            ImmutableList.copyOf(order),
            ImmutableList.copyOf(syncs),
            1,
            "");
    MemoryPlan memory =
        new MemoryPlan(
            graph.values().stream().map(slices::get).collect(ImmutableList.toImmutableList()),
            ImmutableMap.copyOf(workspaces),
            ImmutableSet.copyOf(views),
            ImmutableMap.copyOf(sizes),
            0,
            0);
    return PlanAssembler.assemble(
        graph, KernelChoices.of("test", graph, kernels::get), schedule, memory);
  }

  private void assertAccepted() {
    ExecutionPlan plan = plan();
    assertThatCode(() -> PlanVerifier.verify(plan)).doesNotThrowAnyException();
    assertThat(RaceOracle.harm(plan)).isNull();
  }

  private void assertRejected(String... parts) {
    assertRejected(plan(), parts);
  }

  private static void assertRejected(ExecutionPlan plan, String... parts) {
    assertThatThrownBy(() -> PlanVerifier.verify(plan))
        .isInstanceOf(InvalidPlanException.class)
        .hasMessageContainingAll(parts);
  }

  private static ExecutionPlan with(ExecutionPlan plan, Command... commands) {
    return RandomPlans.withCommands(plan, List.of(commands));
  }

  @Test
  void acceptsReuseAfterTheLastRead() {
    Value a = add("a", 0, 0, input("x", 0));
    Value b = add("b", 0, 1, a);
    Value c = add("c", 0, 0, b);
    builder.output("y", add("y", 0, at(Region.OUTPUT, 0), c));
    assertAccepted();
  }

  @Test
  void rejectsReuseBeforeTheLastRead() {
    Value a = add("a", 0, 0, input("x", 0));
    Value b = add("b", 0, 1, a);
    add("c", 0, 0, b);
    add("d", 0, 2, a);
    assertRejected(
        "node 'c' on stream 0 writes 'c' over 'a', which node 'd' (stream 0) may not have read yet",
        "ARENA[0, 256) and ARENA[0, 256) overlap");
  }

  @Test
  void rejectsReuseThatOnlyIssueOrderAllows() {
    Value x = input("x", 0);
    Value a = add("a", 0, 0, x);
    Value b = add("b", 0, 1, a);
    Value c = add("c", 1, 0, x);
    assertRejected("node 'c' on stream 1 writes 'c' over 'a'", "node 'b' (stream 0)");
    sync(b, c);
    assertAccepted();
  }

  @Test
  void rejectsTwoResultsWithOneSlice() {
    Node node = builder.add("n", OpaqueOperator.of("N", 256, 256), List.of(input("x", 0)));
    node.outputs().forEach(v -> slices.put(v, at(Region.ARENA, 0)));
    launch(node, 0);
    assertRejected("node 'n' on stream 0 writes 'n:1' over 'n:0', which it writes too");
  }

  @Test
  void acceptsInPlaceOnlyWhereTheKernelAllowsItAndSlicesAreEqual() {
    Value a = add("a", 0, 0, input("x", 0));
    Value b = add("b", 0, 0, a);
    assertRejected("node 'b'", "its own operand 0, which kernel 'k' may not overwrite so");
    kernel(b, PLAIN.inPlaceOver(List.of(0)));
    assertAccepted();
    slices.put(a, new Slice(Region.ARENA, 0, 256));
    slices.put(b, new Slice(Region.ARENA, 256, 256));
    assertAccepted();
    Value wide = builder.apply("wide", OpaqueOperator.of("Op", 512), b);
    launch(wide.producer(), 0);
    kernel(wide, PLAIN.inPlaceOver(List.of(0)));
    slices.put(wide, new Slice(Region.ARENA, 256, 512));
    assertRejected("node 'wide'", "its own operand 0", "ARENA[256, 512) and ARENA[256, 768)");
  }

  @Test
  void rejectsInPlaceOverAnOperandThatAlsoStandsElsewhere() {
    Value a = add("a", 0, 0, input("x", 0));
    Value b = add("b", 0, 0, a, a);
    kernel(b, PLAIN.inPlaceOver(List.of(0)));
    assertRejected("node 'b'", "its own operand 1");
    kernel(b, PLAIN.inPlaceOver(List.of(0, 1)));
    assertAccepted();
  }

  @Test
  void rejectsInPlaceWhileAViewIsStillRead() {
    Value a = add("a", 0, 0, input("x", 0));
    Value view = add("view", 0, 0, a);
    kernel(view, PLAIN.asView());
    views.add(view.producer());
    Value b = add("b", 0, 0, a);
    kernel(b, PLAIN.inPlaceOver(List.of(0)));
    assertAccepted();
    add("c", 0, 1, view);
    assertRejected("node 'b' on stream 0 writes 'b' over 'a'", "node 'c' (stream 0)");
  }

  @Test
  void rejectsViewsThatShowSomethingElse() {
    Value a = add("a", 0, 0, input("x", 0));
    Value view = add("view", 0, 1, a);
    views.add(view.producer());
    assertRejected("node 'view' is shown as a view, but its kernel computes something");
    kernel(view, PLAIN.asView());
    assertRejected("node 'view' shows ARENA[0, 256) as ARENA[256, 512), and no kernel copies it");
  }

  @Test
  void rejectsAReaderThatMayStartTooEarly() {
    Value a = add("a", 0, 0, input("x", 0));
    Value b = add("b", 1, 1, a);
    assertRejected(
        "node 'b' reads 'a' of node 'a' (stream 0), but may start before that has finished");
    sync(a, b);
    assertAccepted();
  }

  @Test
  void rejectsAViewOfAVariableAcrossAnUpdate() {
    Value v = variable("v");
    Value x = input("x", 0);
    Value view = add("view", 0, at(Region.VARIABLE, 0), v);
    kernel(view, PLAIN.asView());
    views.add(view.producer());
    Value reader = add("reader", 0, 0, view);
    update("update", 0, v, x);
    assertAccepted();
    add("late", 0, 1, view, reader);
    assertRejected(
        "node 'update' on stream 0 writes variable 'v' updated over VARIABLE 'v'", "'late'");
  }

  @Test
  void rejectsUpdatesOutOfProgramOrder() {
    Value v = variable("v");
    Value x = input("x", 0);
    Value before = add("before", 0, 0, v);
    Node update = update("update", 0, v, x);
    Value after = add("after", 0, 1, v);
    Node second = update("second", 0, v, before);
    builder.output("y", add("y", 0, at(Region.OUTPUT, 0), after));
    assertAccepted();
    ExecutionPlan right = plan();
    List<List<Integer>> swaps = List.of(List.of(0, 1), List.of(1, 2), List.of(2, 3));
    List<String> faults =
        List.of(
            "node 'update' updates variable 'v' read by node 'before' (stream 0)",
            "node 'after' finds variable 'v' as left by node 'update' (stream 0)",
            "node 'second' updates variable 'v' read by node 'after' (stream 0)");
    for (int i = 0; i < swaps.size(); i++) {
      Command[] commands = right.commands().toArray(new Command[0]);
      Command first = commands[swaps.get(i).get(0)];
      commands[swaps.get(i).get(0)] = commands[swaps.get(i).get(1)];
      commands[swaps.get(i).get(1)] = first;
      assertRejected(with(right, commands), faults.get(i));
    }
    streams.put(second, 1);
    assertRejected("node 'second' finds variable 'v' as left by node 'update' (stream 0)");
    assertThat(update.outputs()).isEmpty();
  }

  @Test
  void rejectsSharedInputsAndResultsInTheWrongRegion() {
    Value x = input("x", 0);
    input("y", 0);
    assertRejected("INPUT 'x' and INPUT 'y' share bytes");
    Value a = add("a", 0, at(Region.INPUT, 1), x);
    assertRejected("node 'a' computes 'a' into INPUT[256, 512)");
    slices.put(a, at(Region.ARENA, 0));
    builder.output("a", a);
    assertRejected("output 'a: u8[256]' lies in ARENA[0, 256), outside the region OUTPUT");
  }

  @Test
  void rejectsAnOutputThatIsOverwritten() {
    Value x = input("x", 0);
    Value a = add("a", 0, at(Region.OUTPUT, 0), x);
    Value b = add("b", 0, at(Region.OUTPUT, 0), a);
    kernel(b, PLAIN.inPlaceOver(List.of(0)));
    builder.output("b", b);
    assertAccepted();
    builder.output("a", a);
    assertRejected("node 'b'", "writes 'b' over 'a', which must outlast the step");
  }

  @Test
  void rejectsWorkspacesThatAreMissingSmallSharedOrElsewhere() {
    Value a = add("a", 0, 0, input("x", 0));
    Value b = add("b", 0, 1, a);
    kernel(b, PLAIN.withWorkspace(300));
    assertRejected("node 'b' needs a workspace of 300 bytes and has none");
    workspaces.put(b.producer(), at(Region.ARENA, 2));
    assertRejected("node 'b' needs a workspace of 300 bytes and has ARENA[512, 768)");
    workspaces.put(b.producer(), new Slice(Region.ARENA, 512, 300));
    assertAccepted();
    workspaces.put(b.producer(), new Slice(Region.ARENA, 0, 300));
    assertRejected("node 'b'", "writes a workspace over 'a'", "its own operand 0");
    workspaces.put(b.producer(), new Slice(Region.OUTPUT, 512, 300));
    assertRejected("node 'b' has a workspace that is no scratch in the arena");
    workspaces.put(b.producer(), new Slice(Region.ARENA, 4096, 300));
    assertRejected("the workspace of node 'b'", "beyond the region's 4096 bytes");
  }

  @Test
  void rejectsSlicesOfTheWrongSizePlaceOrAlignment() {
    Value a = add("a", 0, 0, input("x", 0));
    slices.put(a, new Slice(Region.ARENA, 0, 255));
    assertRejected("'a: u8[256]' lies in ARENA[0, 255), which is not of its size");
    slices.put(a, new Slice(Region.ARENA, 128, 256));
    assertRejected("not aligned to 256");
    slices.put(a, new Slice(Region.ARENA, 4096, 256));
    assertRejected("beyond the region's 4096 bytes");
    slices.put(a, new Slice(Region.ARENA, -256, 256));
    assertRejected("beyond the region's 4096 bytes");
    slices.put(a, new Slice(Region.ARENA, Long.MAX_VALUE - 255, 256));
    assertRejected("beyond the region's 4096 bytes");
    slices.put(a, at(Region.ARENA, 15));
    assertAccepted();
  }

  @Test
  void rejectsCommandsThatAreNoSequence() {
    Value a = add("a", 0, 0, input("x", 0));
    Value b = add("b", 1, 1, a);
    sync(a, b);
    ExecutionPlan plan = plan();
    Command launchA = plan.commands().get(0);
    Command record = plan.commands().get(1);
    Command wait = plan.commands().get(2);
    Command launchB = plan.commands().get(3);
    PlanVerifier.verify(with(plan, launchA, record, wait, launchB));
    assertRejected(with(plan, launchA, record, wait), "node 'b' is never launched");
    assertRejected(
        with(plan, launchA, record, wait, launchB, launchB), "node 'b' is launched twice");
    assertRejected(
        with(plan, launchA, wait, record, launchB),
        "command 1 makes stream 1 wait for event 0, which is not recorded before");
    assertRejected(with(plan, launchA, record, record, wait, launchB), "event 0 is recorded twice");
    assertRejected(
        with(plan, launchA, record, wait, launchB, new Command.WaitEvent(0, 7)),
        "command 4 names event 7 of 1");
    assertRejected(
        with(plan, launchA, record, wait, launchB, new Command.RecordEvent(9, 0)),
        "command 4 is on stream 9 of 2");
    Node stranger = new GraphBuilder("other").add("stranger", OpaqueOperator.of("Op"), List.of());
    assertRejected(
        with(plan, launchA, record, wait, launchB, new Command.View(0, stranger)),
        "node 'stranger' is launched but belongs to another graph");
  }

  @Test
  void namesTheFirstViolationsAndCountsTheRest() {
    Value x = input("x", 0);
    for (int i = 0; i < 30; i++) {
      add("n" + i, i, 0, x);
    }
    assertThatThrownBy(() -> PlanVerifier.verify(plan()))
        .isInstanceOf(InvalidPlanException.class)
        .hasMessageStartingWith("node 'n1' (Op of u8[256]): the plan is not safe to run, 29 viol")
        .hasMessageContaining("node 'n8'")
        .hasMessageNotContaining("node 'n9'")
        .hasMessageEndingWith("; and 21 more");
  }

  @Test
  @Timeout(20)
  void tenThousandNodesInSixteenStreamsArePossible() {
    Value x = input("x", 0);
    Value[] last = new Value[16];
    Arrays.fill(last, x);
    for (int i = 0; i < 10_000; i++) {
      int stream = i % 16;
      last[stream] = add("n" + i, stream, 2 * stream + i / 16 % 2, last[stream]);
    }
    sizes.put(Region.ARENA, 32L * 256);
    assertThatCode(() -> PlanVerifier.verify(plan())).doesNotThrowAnyException();
    slices.put(last[3], slices.get(last[4]));
    assertRejected("node '" + last[4].name() + "' on stream 4 writes");
  }
}
