package dev.nimble.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import dev.nimble.EagerGraph;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Node;
import dev.nimble.graph.Operand;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.memory.MemoryPlanner;
import dev.nimble.op.Assign;
import dev.nimble.op.Binary;
import dev.nimble.op.BinaryFunction;
import dev.nimble.op.KernelChoice;
import dev.nimble.op.KernelChoices;
import dev.nimble.op.MatMul;
import dev.nimble.op.OperatorExecutor;
import dev.nimble.op.ResourceDemand;
import dev.nimble.op.Unary;
import dev.nimble.op.UnaryFunction;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.plan.PlanAssembler;
import dev.nimble.plan.Timeline;
import dev.nimble.plan.Tuning;
import dev.nimble.schedule.Policies;
import dev.nimble.schedule.Schedule;
import dev.nimble.schedule.SchedulingPolicy;
import dev.nimble.testkit.RandomGraphs;
import dev.nimble.testkit.RandomPlans;
import dev.nimble.testkit.RandomTensors;
import dev.nimble.testkit.ReferenceExecutor;
import dev.nimble.testkit.Seeds;
import dev.nimble.transform.OutputCopies;
import dev.nimble.verify.PlanVerifier;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * What every device must do. A device's test extends this and opens one. {@code DeviceContractTest}
 * shows that each of these tests fails for a device that breaks what it is about.
 */
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public abstract class DeviceContract {
  private Device device;

  /** Opens the device under test. */
  protected abstract Device open();

  /** How far from the reference kernels results may be: |a - b| <= tolerance * max(1, |b|). */
  protected double tolerance() {
    return 1e-4;
  }

  /** How many random graphs are tried with each policy. */
  protected int randomGraphs() {
    return 12;
  }

  @BeforeEach
  public final void openDevice() {
    device = open();
  }

  @AfterEach
  public final void closeDevice() {
    int left = device.openResources();
    device.close();
    assertThat(left).as("recordings and executors left open").isZero();
  }

  // Plans.

  private ExecutionPlan plan(Graph graph, SchedulingPolicy policy) {
    Graph prepared = OutputCopies.apply(graph);
    KernelChoices kernels = device.select(prepared);
    Schedule schedule = policy.schedule(prepared, kernels);
    ExecutionPlan plan =
        PlanAssembler.assemble(
            prepared, kernels, schedule, MemoryPlanner.plan(prepared, kernels, schedule));
    PlanVerifier.verify(plan);
    return plan;
  }

  private Recording record(Graph graph) {
    return device.record(plan(graph, Policies.nimble()));
  }

  private static List<SchedulingPolicy> policies(long seed) {
    return List.of(
        Policies.singleStream(),
        Policies.nimble(),
        Policies.nimble(2),
        randomPolicy(seed, 3),
        randomPolicy(seed, 7));
  }

  private static SchedulingPolicy randomPolicy(long seed, int streams) {
    return new SchedulingPolicy() {
      @Override
      public String name() {
        return "RANDOM on " + streams + " streams, seed " + seed;
      }

      @Override
      public Schedule schedule(Graph graph, KernelChoices kernels) {
        return RandomPlans.schedule(graph, new Random(seed), streams);
      }
    };
  }

  private static RandomGraphs.Style style(Random random) {
    RandomGraphs.Style style = RandomGraphs.Style.ofNodes(5 + random.nextInt(60));
    return random.nextInt(3) == 0 ? style : style.withVariables();
  }

  // Steps.

  private static void write(Recording recording, List<Tensor> inputs) {
    for (int i = 0; i < inputs.size(); i++) {
      recording.input(i).copyFrom(inputs.get(i));
    }
  }

  private static List<Tensor> step(Recording recording, Graph graph, List<Tensor> inputs) {
    write(recording, inputs);
    recording.replay();
    return outputs(recording, graph);
  }

  private static List<Tensor> outputs(Recording recording, Graph graph) {
    List<Tensor> copies = new ArrayList<>();
    for (int i = 0; i < graph.outputs().size(); i++) {
      copies.add(recording.output(i).copy());
    }
    return copies;
  }

  private static Map<String, Tensor> byName(Graph graph, List<Tensor> inputs) {
    Map<String, Tensor> map = new LinkedHashMap<>();
    for (int i = 0; i < inputs.size(); i++) {
      map.put(graph.inputs().get(i).name(), inputs.get(i));
    }
    return map;
  }

  private static Tensor variable(Recording recording, Graph graph, int index) {
    Tensor contents = RandomTensors.of(graph.variables().get(index).type(), new Random(1));
    recording.readVariable(index, contents);
    return contents;
  }

  private static void assertSame(Tensor actual, Tensor expected, String what) {
    assertThat(actual.bitwiseEquals(expected))
        .as("%s: %s should equal %s bit for bit", what, actual, expected)
        .isTrue();
  }

  private void assertClose(Tensor actual, Tensor expected, String what) {
    assertThat(RandomTensors.largestDifference(actual, expected))
        .as("%s: difference of %s from %s", what, actual, expected)
        .isLessThanOrEqualTo(tolerance());
  }

  // Results.

  @Test
  public final void aReplayEqualsEagerExecutionUnderEveryPolicy() {
    Seeds.forEach(
        randomGraphs(),
        (random, seed) -> {
          Graph graph = RandomGraphs.of(random, style(random).withJumps());
          for (SchedulingPolicy policy : policies(seed)) {
            try (Recording recording = device.record(plan(graph, policy));
                EagerGraph eager = new EagerGraph(graph, device)) {
              for (int s = 0; s < 3; s++) {
                String what = policy.name() + ", step " + s;
                List<Tensor> inputs = RandomGraphs.inputs(graph, random);
                List<Tensor> expected = List.copyOf(eager.run(byName(graph, inputs)).values());
                List<Tensor> actual = step(recording, graph, inputs);
                for (int i = 0; i < actual.size(); i++) {
                  assertSame(actual.get(i), expected.get(i), what + ", output " + i);
                }
                for (int i = 0; i < inputs.size(); i++) {
                  assertSame(recording.input(i), inputs.get(i), what + ", input " + i + " after");
                }
              }
            }
          }
        });
  }

  @Test
  public final void aReplayIsCloseToTheReferenceKernels() {
    Seeds.forEach(
        randomGraphs(),
        (random, seed) -> {
          Graph graph = RandomGraphs.of(random, style(random));
          ReferenceExecutor reference = new ReferenceExecutor(graph);
          try (Recording recording = record(graph)) {
            for (int s = 0; s < 3; s++) {
              List<Tensor> inputs = RandomGraphs.inputs(graph, random);
              List<Tensor> expected = reference.step(inputs);
              List<Tensor> actual = step(recording, graph, inputs);
              for (int i = 0; i < actual.size(); i++) {
                assertClose(actual.get(i), expected.get(i), "step " + s + ", output " + i);
              }
            }
            for (int v = 0; v < graph.variables().size(); v++) {
              assertClose(
                  variable(recording, graph, v), reference.variables().get(v), "variable " + v);
            }
          }
        });
  }

  @Test
  public final void eagerExecutionIsCloseToTheReferenceKernels() {
    Seeds.forEach(
        randomGraphs(),
        (random, seed) -> {
          Graph graph = RandomGraphs.of(random, style(random));
          ReferenceExecutor reference = new ReferenceExecutor(graph);
          try (EagerGraph eager = new EagerGraph(graph, device)) {
            for (int s = 0; s < 3; s++) {
              List<Tensor> inputs = RandomGraphs.inputs(graph, random);
              List<Tensor> expected = reference.step(inputs);
              List<Tensor> actual = List.copyOf(eager.run(byName(graph, inputs)).values());
              for (int i = 0; i < actual.size(); i++) {
                assertClose(actual.get(i), expected.get(i), "step " + s + ", output " + i);
              }
            }
          }
        });
  }

  /** Slow branches of different length that join: without the waits, a join reads too early. */
  @Test
  public final void waitsHoldAStreamBackUntilItsOperandsAreThere() {
    int branches = 4;
    GraphBuilder builder = new GraphBuilder("slow branches");
    Value x = builder.input("x", TensorType.f32(96, 96));
    Value sum = null;
    for (int b = 0; b < branches; b++) {
      Value y = builder.apply(Unary.of(UnaryFunction.TANH), x);
      for (int i = 0; i <= b; i++) {
        Value weights =
            builder.constant("w", scaled(TensorType.f32(96, 96), new Random(10 * b + i), 0.1));
        y = builder.apply("branch" + b, new MatMul(null), y, weights);
      }
      sum = sum == null ? y : builder.apply("join", new Binary(BinaryFunction.ADD), sum, y);
    }
    Graph graph = builder.output("y", sum).build();
    Random random = new Random(5);
    try (Recording recording = record(graph);
        EagerGraph eager = new EagerGraph(graph, device)) {
      for (int s = 0; s < 12; s++) {
        Tensor input = RandomTensors.of(x.type(), random);
        Tensor expected = eager.run(Map.of("x", input)).get("y");
        assertSame(step(recording, graph, List.of(input)).get(0), expected, "step " + s);
      }
    }
  }

  private static Tensor scaled(TensorType type, Random random, double factor) {
    Tensor tensor = RandomTensors.of(type, random);
    for (int i = 0; i < type.elements(); i++) {
      tensor.setDouble(i, tensor.getDouble(i) * factor);
    }
    return tensor;
  }

  /** Slow readers of a variable on streams of their own, and its update: all read the old value. */
  @Test
  public final void anUpdateWaitsForThoseWhoReadTheOldValue() {
    GraphBuilder builder = new GraphBuilder("read, then update");
    Random random = new Random(6);
    Value x = builder.input("x", TensorType.f32(96, 96));
    Value state = builder.variable("state", scaled(x.type(), random, 0.1));
    for (int reader = 1; reader <= 4; reader++) { // the update shares a stream with one of them
      Value weights =
          builder.constant("w", RandomTensors.of(TensorType.f32(96, 60 * reader), random));
      builder.output("y" + reader, builder.apply(new MatMul(null), state, weights));
    }
    builder.add("update", new Assign(false), List.of(state, x));
    Graph graph = builder.build();
    try (Recording recording = record(graph);
        EagerGraph eager = new EagerGraph(graph, device)) {
      for (int s = 0; s < 8; s++) {
        Tensor input = scaled(x.type(), random, 0.1);
        List<Tensor> expected = List.copyOf(eager.run(Map.of("x", input)).values());
        List<Tensor> actual = step(recording, graph, List.of(input));
        for (int i = 0; i < actual.size(); i++) {
          assertSame(actual.get(i), expected.get(i), "step " + s + ", output " + i);
        }
        assertSame(variable(recording, graph, 0), input, "state after step " + s);
      }
    }
  }

  @Test
  public final void manyReplaysOfAWideGraphStayRight() {
    Random random = new Random(7);
    GraphBuilder builder = new GraphBuilder("wide");
    Value x = builder.input("x", TensorType.f32(32));
    List<Value> row = new ArrayList<>();
    for (int i = 0; i < 12; i++) {
      row.add(builder.apply(new Binary(BinaryFunction.ADD), x, constant(builder, i)));
    }
    for (int layer = 0; layer < 6; layer++) {
      List<Value> next = new ArrayList<>();
      for (int i = 0; i < row.size(); i++) {
        Value pair =
            builder.apply(
                new Binary(BinaryFunction.MAX), row.get(i), row.get(random.nextInt(row.size())));
        next.add(builder.apply(Unary.of(UnaryFunction.SIN), pair));
      }
      row = next;
    }
    for (int i = 0; i < row.size(); i++) {
      builder.output("y" + i, row.get(i));
    }
    Graph graph = builder.build();
    try (Recording recording = device.record(plan(graph, randomPolicy(8, 6)));
        EagerGraph eager = new EagerGraph(graph, device)) {
      for (int s = 0; s < 300; s++) {
        List<Tensor> inputs = RandomGraphs.inputs(graph, random);
        List<Tensor> actual = step(recording, graph, inputs);
        if (s % 7 == 0) {
          List<Tensor> expected = List.copyOf(eager.run(byName(graph, inputs)).values());
          for (int i = 0; i < actual.size(); i++) {
            assertSame(actual.get(i), expected.get(i), "step " + s + ", output " + i);
          }
        }
      }
    }
  }

  private static Value constant(GraphBuilder builder, float element) {
    return builder.constant("c", Tensor.of(Shape.of(), element));
  }

  @Test
  public final void aReplayRunsEveryStepOnce() {
    Graph graph = counter();
    try (Recording recording = record(graph)) {
      for (int s = 1; s <= 5; s++) {
        recording.replay();
        assertThat(variable(recording, graph, 0).getDouble(0)).isEqualTo(10 + s);
        assertThat(recording.output(0).getDouble(0)).isEqualTo(10 + s);
      }
    }
  }

  /** A variable that starts at 10 and grows by 1 a step; output 0 shows it after the step. */
  private static Graph counter() {
    GraphBuilder builder = new GraphBuilder("counter");
    Value count = builder.variable("count", Tensor.of(Shape.of(2), 10, 20));
    builder.add("increment", new Assign(true), List.of(count, ones(builder)));
    builder.output("count", count);
    return builder.build();
  }

  private static Value ones(GraphBuilder builder) {
    return builder.constant("ones", Tensor.of(Shape.of(2), 1, 1));
  }

  @Test
  public final void valuesOfNoElementsAreAllowed() {
    GraphBuilder builder = new GraphBuilder("nothing");
    Value x = builder.input("x", TensorType.f32(0, 8));
    Value y = builder.apply(Unary.of(UnaryFunction.RELU), x);
    Value weights = builder.constant("w", RandomTensors.of(TensorType.f32(8, 3), new Random(1)));
    Graph graph =
        builder.output("y", y).output("z", builder.apply(new MatMul(null), y, weights)).build();
    try (Recording recording = record(graph)) {
      recording.replay();
      assertThat(recording.output(0).type()).isEqualTo(TensorType.f32(0, 8));
      assertThat(recording.output(1).type()).isEqualTo(TensorType.f32(0, 3));
    }
  }

  @Test
  public final void anOutputMayBeAnInputAConstantOrAVariable() {
    GraphBuilder builder = new GraphBuilder("no operators");
    Value x = builder.input("x", TensorType.f32(2));
    builder.input("unused", TensorType.f32(3));
    Value c = builder.constant("c", Tensor.of(Shape.of(2), 3, 4));
    Value v = builder.variable("v", Tensor.of(Shape.of(2), 5, 6));
    Graph graph = builder.output("a", x).output("b", c).output("c", v).output("d", x).build();
    try (Recording recording = record(graph)) {
      recording.input(0).floats().put(0, 1).put(1, 2);
      recording.replay();
      assertThat(recording.output(0).toFloatArray()).containsExactly(1, 2);
      assertThat(recording.output(1).toFloatArray()).containsExactly(3, 4);
      assertThat(recording.output(2).toFloatArray()).containsExactly(5, 6);
      assertThat(recording.output(3).toFloatArray()).containsExactly(1, 2);
    }
  }

  @Test
  public final void anEmptyGraphCanBeReplayed() {
    try (Recording recording = record(new GraphBuilder("empty").build())) {
      recording.replay();
      assertThat(recording.replayTimed().spans()).isEmpty();
    }
  }

  // Buffers and variables.

  @Test
  public final void buffersStayWhereTheyAre() {
    Graph graph = doubling();
    try (Recording recording = record(graph)) {
      Tensor input = recording.input(0);
      Tensor output = recording.output(0);
      for (int s = 0; s < 3; s++) {
        input.floats().put(0, s).put(1, -s);
        recording.replay();
        assertThat(output.toFloatArray()).containsExactly(2 * s, -2 * s);
        assertThat(recording.input(0)).isSameAs(input);
        assertThat(recording.output(0)).isSameAs(output);
      }
      input.floats().put(0, 99).put(1, 99);
      assertThat(output.toFloatArray()).as("until the next replay").containsExactly(4, -4);
    }
  }

  /** Inputs and outputs at random stay on the device; the others are copied as always. */
  @Test
  public final void residentBuffersKeepTheirContentsAndAreNotCopied() {
    Seeds.forEach(
        randomGraphs(),
        (random, seed) -> {
          Graph graph = RandomGraphs.of(random, style(random));
          ExecutionPlan plan = plan(graph, Policies.nimble());
          ImmutableSet<Value> resident =
              Stream.concat(plan.graph().inputs().stream(), plan.graph().outputs().stream())
                  .filter(value -> random.nextBoolean())
                  .collect(ImmutableSet.toImmutableSet());
          ReferenceExecutor reference = new ReferenceExecutor(graph);
          try (Recording recording =
              device.record(plan, new RecordOptions(Tuning.NONE, resident))) {
            List<Tensor> inputs = RandomGraphs.inputs(graph, random);
            for (int s = 0; s < 4; s++) {
              if (s != 1) { // in step 1 what was written before is still there
                inputs = RandomGraphs.inputs(graph, random);
                for (int i = 0; i < inputs.size(); i++) {
                  Value input = plan.graph().inputs().get(i);
                  if (resident.contains(input)) {
                    recording.resident(input).write(inputs.get(i));
                  } else {
                    recording.input(i).copyFrom(inputs.get(i));
                  }
                }
              }
              recording.replay();
              List<Tensor> expected = reference.step(inputs);
              for (int i = 0; i < expected.size(); i++) {
                Value output = plan.graph().outputs().get(i);
                Tensor actual =
                    resident.contains(output)
                        ? contents(recording.resident(output))
                        : recording.output(i);
                assertClose(actual, expected.get(i), "step " + s + ", output " + i);
              }
              for (int i = 0; i < inputs.size(); i++) {
                Value input = plan.graph().inputs().get(i);
                if (resident.contains(input)) {
                  assertSame(
                      contents(recording.resident(input)), inputs.get(i), "input " + i + " after");
                }
              }
            }
          }
        });
  }

  private static Tensor contents(DeviceBuffer buffer) {
    Tensor contents = Tensor.zeros(buffer.type());
    buffer.read(contents);
    return contents;
  }

  @Test
  public final void residentBuffersOfTwoRecordingsAreCopiedWithinTheDevice() {
    ExecutionPlan plan = plan(doubling(), Policies.nimble());
    Value x = plan.graph().inputs().get(0);
    Value y = plan.graph().outputs().get(0);
    RecordOptions options = new RecordOptions(Tuning.NONE, ImmutableSet.of(x, y));
    DeviceBuffer left;
    try (Recording first = device.record(plan, options);
        Recording second = device.record(plan, options)) {
      first.resident(x).write(Tensor.of(Shape.of(2), 3, -5));
      for (int turn = 1; turn <= 3; turn++) {
        first.replay();
        second.resident(x).copyFrom(first.resident(y));
        second.replay();
        first.resident(x).copyFrom(second.resident(y));
        double factor = Math.pow(4, turn);
        assertThat(contents(second.resident(y)).toFloatArray())
            .containsExactly((float) (3 * factor), (float) (-5 * factor));
      }
      left = first.resident(x);
      assertThat(first.resident(x)).isSameAs(left);
      assertThat(left.type()).isEqualTo(x.type());
      Tensor other = Tensor.zeros(TensorType.f32(1, 2));
      for (Runnable call : List.<Runnable>of(() -> left.write(other), () -> left.read(other))) {
        assertThatThrownBy(call::run)
            .isInstanceOf(InvalidArgumentException.class)
            .hasMessageContaining("f32[1,2]")
            .hasMessageContaining("f32[2]");
      }
      assertThatThrownBy(() -> first.input(0))
          .isInstanceOf(InvalidArgumentException.class)
          .hasMessageContaining("resident");
      assertThatThrownBy(() -> first.output(0))
          .isInstanceOf(InvalidArgumentException.class)
          .hasMessageContaining("resident");
    }
    Tensor same = Tensor.zeros(x.type());
    for (Runnable call :
        List.<Runnable>of(
            () -> left.write(same), () -> left.read(same), () -> left.copyFrom(left))) {
      assertThatThrownBy(call::run)
          .isInstanceOf(InvalidArgumentException.class)
          .hasMessageContaining("closed");
    }
    try (Recording copied = device.record(plan)) {
      assertThatThrownBy(() -> copied.resident(x))
          .isInstanceOf(InvalidArgumentException.class)
          .hasMessageContaining("not resident");
    }
    RecordOptions foreign =
        new RecordOptions(Tuning.NONE, ImmutableSet.of(doubling().inputs().get(0)));
    assertThatThrownBy(() -> device.record(plan, foreign).close())
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessageContaining("neither an input nor an output");
  }

  private static Graph doubling() {
    GraphBuilder builder = new GraphBuilder("doubling");
    Value x = builder.input("x", TensorType.f32(2));
    return builder.output("y", builder.apply(new Binary(BinaryFunction.ADD), x, x)).build();
  }

  @Test
  public final void aVariableStartsWithItsInitialContentsBitForBit() {
    Random random = new Random(9);
    GraphBuilder builder = new GraphBuilder("busy variables");
    List<Tensor> initial = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      Tensor contents = RandomTensors.of(TensorType.f32(64, 64), random);
      contents.setDouble(0, i == 0 ? Double.NaN : -0.0);
      initial.add(contents.copy());
      Value state = builder.variable("state" + i, contents);
      Value next = builder.apply(new MatMul(null), state, state);
      builder.add("update", new Assign(i == 1), List.of(state, next));
    }
    Graph graph = builder.build();
    try (Recording recording = record(graph)) {
      for (int i = 0; i < 3; i++) {
        assertSame(variable(recording, graph, i), initial.get(i), "variable " + i);
      }
      recording.replay();
      for (int i = 0; i < 3; i++) {
        assertSame(
            graph.variables().get(i).contents(), initial.get(i), "the graph's contents " + i);
      }
    }
  }

  @Test
  public final void aVariableCanBeReadAndWrittenBetweenReplays() {
    Graph graph = counter();
    try (Recording recording = record(graph)) {
      recording.replay();
      recording.writeVariable(0, Tensor.of(Shape.of(2), -5, 100));
      assertThat(variable(recording, graph, 0).toFloatArray()).containsExactly(-5, 100);
      recording.replay();
      assertThat(variable(recording, graph, 0).toFloatArray()).containsExactly(-4, 101);
      assertThatThrownBy(() -> recording.writeVariable(0, Tensor.of(Shape.of(3), 1, 2, 3)))
          .isInstanceOf(InvalidArgumentException.class)
          .hasMessageContaining("f32[3]")
          .hasMessageContaining("f32[2]");
      assertThatThrownBy(() -> recording.readVariable(0, Tensor.zeros(TensorType.f32(2, 1))))
          .isInstanceOf(InvalidArgumentException.class);
      assertThat(variable(recording, graph, 0).toFloatArray()).containsExactly(-4, 101);
    }
  }

  @Test
  public final void recordingsOfOnePlanShareNothing() {
    Graph graph = counter();
    ExecutionPlan plan = plan(graph, Policies.nimble());
    try (Recording first = device.record(plan);
        Recording second = device.record(plan)) {
      first.replay();
      first.replay();
      second.replay();
      assertThat(variable(first, graph, 0).getDouble(0)).isEqualTo(12);
      assertThat(variable(second, graph, 0).getDouble(0)).isEqualTo(11);
      assertThat(first.output(0).getDouble(0)).isEqualTo(12);
    }
  }

  @Test
  public final void recordingsMayBeReplayedByThreadsOfTheirOwn() throws Exception {
    Graph graph = RandomGraphs.of(new Random(11), RandomGraphs.Style.ofNodes(60));
    ExecutorService threads = Executors.newFixedThreadPool(3);
    try {
      List<Future<Void>> results = new ArrayList<>();
      for (int t = 0; t < 3; t++) {
        int own = t;
        Callable<Void> body =
            () -> {
              Random random = new Random(own);
              ReferenceExecutor reference = new ReferenceExecutor(graph);
              try (Recording recording = record(graph)) {
                for (int s = 0; s < 3; s++) {
                  List<Tensor> inputs = RandomGraphs.inputs(graph, random);
                  List<Tensor> expected = reference.step(inputs);
                  List<Tensor> actual = step(recording, graph, inputs);
                  for (int i = 0; i < actual.size(); i++) {
                    assertClose(actual.get(i), expected.get(i), "thread " + own + ", step " + s);
                  }
                }
              }
              return null;
            };
        results.add(threads.submit(body));
      }
      for (Future<Void> result : results) {
        result.get(100, TimeUnit.SECONDS);
      }
    } finally {
      threads.shutdownNow();
      assertThat(threads.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
    }
  }

  @Test
  public final void aTimedReplayIsAReplayAndItsTimesRespectDependencies() {
    Random random = new Random(12);
    Graph graph = RandomGraphs.of(random, RandomGraphs.Style.ofNodes(40).withVariables());
    ExecutionPlan plan = plan(graph, Policies.nimble());
    try (Recording recording = device.record(plan);
        EagerGraph eager = new EagerGraph(graph, device)) {
      for (int s = 0; s < 2; s++) {
        List<Tensor> inputs = RandomGraphs.inputs(graph, random);
        write(recording, inputs);
        Timeline timeline = recording.replayTimed();
        List<Tensor> expected = List.copyOf(eager.run(byName(graph, inputs)).values());
        List<Tensor> actual = outputs(recording, graph);
        for (int i = 0; i < actual.size(); i++) {
          assertSame(actual.get(i), expected.get(i), "step " + s + ", output " + i);
        }
        assertTimes(plan, timeline);
      }
    }
  }

  private static void assertTimes(ExecutionPlan plan, Timeline timeline) {
    Map<Node, Timeline.Span> spanOf = new HashMap<>();
    long last = 0;
    for (Timeline.Span span : timeline.spans()) {
      assertThat(spanOf.put(span.node(), span)).as("%s is timed once", span.node()).isNull();
      assertThat(span.startNanos()).isGreaterThanOrEqualTo(last);
      assertThat(span.endNanos()).isBetween(span.startNanos(), timeline.totalNanos());
      assertThat(span.stream()).isEqualTo(plan.schedule().streamOf(span.node()));
      last = span.startNanos();
    }
    long launches =
        plan.commands().stream().filter(c -> c instanceof dev.nimble.plan.Command.Launch).count();
    assertThat(timeline.spans()).hasSize((int) launches);
    for (Timeline.Span span : timeline.spans()) {
      for (Node predecessor : plan.graph().predecessors(span.node())) {
        Timeline.Span before = spanOf.get(predecessor);
        if (before != null) { // else a view
          assertThat(span.startNanos())
              .as("%s after %s", span.node(), predecessor)
              .isGreaterThanOrEqualTo(before.endNanos());
        }
      }
    }
  }

  // Life and errors.

  @Test
  public final void whatIsOpenIsCountedUntilItIsClosed() {
    int before = device.openResources();
    Recording recording = record(counter());
    OperatorExecutor executor = device.eager();
    assertThat(device.openResources()).isEqualTo(before + 2);
    recording.close();
    assertThat(device.openResources()).isEqualTo(before + 1);
    recording.close();
    executor.close();
    executor.close();
    assertThat(device.openResources()).isEqualTo(before).isZero();
  }

  @Test
  public final void aClosedRecordingRefusesEveryCall() {
    Graph graph = doubling();
    Recording recording = record(graph);
    Recording counting = record(counter());
    recording.replay();
    recording.close();
    counting.close();
    List<Runnable> calls =
        List.of(
            recording::replay,
            recording::replayTimed,
            () -> recording.input(0),
            () -> recording.output(0),
            () -> counting.readVariable(0, Tensor.zeros(TensorType.f32(2))),
            () -> counting.writeVariable(0, Tensor.zeros(TensorType.f32(2))));
    for (Runnable call : calls) {
      assertThatThrownBy(call::run)
          .isInstanceOf(InvalidArgumentException.class)
          .hasMessageContaining("closed");
    }
  }

  @Test
  public final void aPlanForOtherKernelsIsRefused() {
    Graph graph = OutputCopies.apply(doubling());
    KernelChoices foreign =
        KernelChoices.of("abacus", graph, node -> KernelChoice.of("by hand", ResourceDemand.NONE));
    Schedule schedule = Policies.singleStream().schedule(graph, foreign);
    ExecutionPlan plan =
        PlanAssembler.assemble(
            graph, foreign, schedule, MemoryPlanner.plan(graph, foreign, schedule));
    assertThatThrownBy(() -> device.record(plan).close())
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessageContaining("by hand");
    assertThat(device.openResources()).isZero();
  }

  @Test
  public final void eagerExecutionUpdatesVariablesInPlace() {
    try (OperatorExecutor executor = device.eager()) {
      Tensor initial = Tensor.of(Shape.of(2), 1, 2);
      Operand state = executor.variable(initial);
      Operand value = executor.upload(Tensor.of(Shape.of(2), 10, 20));
      assertThat(executor.execute(new Assign(true), List.of(state, value))).isEmpty();
      executor.execute(new Assign(true), List.of(state, value));
      assertThat(executor.download(state).toFloatArray()).containsExactly(21, 42);
      executor.execute(new Assign(false), List.of(state, value));
      assertThat(executor.download(state).toFloatArray()).containsExactly(10, 20);
      assertThat(initial.toFloatArray()).containsExactly(1, 2);
    }
  }

  @Test
  public final void eagerResultsOutliveTheReleaseOfOthers() {
    try (OperatorExecutor executor = device.eager()) {
      Operand x = executor.upload(Tensor.of(Shape.of(2), 1, 2));
      Operand kept = executor.execute(new Binary(BinaryFunction.ADD), List.of(x, x)).get(0);
      Operand dropped = executor.execute(new Binary(BinaryFunction.MUL), List.of(x, x)).get(0);
      executor.release(dropped);
      executor.release(dropped);
      Operand first = executor.execute(Unary.of(UnaryFunction.NEG), List.of(x)).get(0);
      Operand second = executor.execute(Unary.of(UnaryFunction.ABS), List.of(x)).get(0);
      assertThat(executor.download(kept).toFloatArray()).containsExactly(2, 4);
      assertThat(executor.download(first).toFloatArray()).containsExactly(-1, -2);
      assertThat(executor.download(second).toFloatArray()).containsExactly(1, 2);
    }
  }

  @Test
  public final void eagerErrorsNameOperatorAndTypes() {
    OperatorExecutor executor = device.eager();
    OperatorExecutor other = device.eager();
    Operand a = executor.upload(Tensor.of(Shape.of(2), 1, 2));
    Operand b = executor.upload(Tensor.of(Shape.of(3), 1, 2, 3));
    Operand foreign = other.upload(Tensor.of(Shape.of(2), 1, 2));
    Binary add = new Binary(BinaryFunction.ADD);
    assertThatThrownBy(() -> executor.execute(add, List.of(a, b)))
        .isInstanceOf(InvalidModelException.class)
        .hasMessageContaining("Add")
        .hasMessageContaining("f32[2]")
        .hasMessageContaining("f32[3]");
    assertThatThrownBy(() -> executor.execute(add, ImmutableList.of(a, foreign)))
        .isInstanceOf(InvalidArgumentException.class);
    assertThat(executor.download(executor.execute(add, List.of(a, a)).get(0)).toFloatArray())
        .containsExactly(2, 4);
    other.close();
    executor.close();
    assertThatThrownBy(() -> executor.execute(add, List.of(a, a)))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessageContaining("closed");
    assertThatThrownBy(() -> executor.upload(Tensor.of(Shape.of(1), 1)))
        .isInstanceOf(InvalidArgumentException.class);
  }
}
