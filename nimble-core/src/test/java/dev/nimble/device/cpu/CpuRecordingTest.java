package dev.nimble.device.cpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.ImmutableIntArray;
import com.sun.management.ThreadMXBean;
import dev.nimble.device.Device;
import dev.nimble.device.Recording;
import dev.nimble.error.DeviceException;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Graph;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.memory.MemoryPlanner;
import dev.nimble.op.Assign;
import dev.nimble.op.Binary;
import dev.nimble.op.BinaryFunction;
import dev.nimble.op.Gather;
import dev.nimble.op.KernelChoices;
import dev.nimble.op.Reshape;
import dev.nimble.op.Unary;
import dev.nimble.op.UnaryFunction;
import dev.nimble.plan.Command;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.plan.PlanAssembler;
import dev.nimble.plan.Timeline;
import dev.nimble.schedule.Policies;
import dev.nimble.schedule.Schedule;
import dev.nimble.testkit.Delayed;
import dev.nimble.testkit.RandomGraphs;
import dev.nimble.testkit.RandomPlans;
import dev.nimble.testkit.ReferenceExecutor;
import dev.nimble.testkit.Seeds;
import dev.nimble.transform.OutputCopies;
import dev.nimble.verify.PlanVerifier;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CpuRecordingTest {
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private static Device device(int workers) {
    return new CpuDevice(workers, Placements.roundRobin());
  }

  private static ExecutionPlan plan(Device device, Graph graph, Schedule schedule) {
    KernelChoices kernels = device.select(graph);
    ExecutionPlan plan =
        PlanAssembler.assemble(
            graph, kernels, schedule, MemoryPlanner.plan(graph, kernels, schedule));
    PlanVerifier.verify(plan);
    return plan;
  }

  private static ExecutionPlan plan(Device device, Graph graph) {
    return plan(device, graph, Policies.nimble().schedule(graph, device.select(graph)));
  }

  private static List<Thread> workerThreads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(t -> t.getName().startsWith("nimble-cpu-worker"))
        .toList();
  }

  /** {@code branches} chains of {@code length} sines of one input, added up. */
  private static Graph branches(int branches, int length, int delayMicros) {
    GraphBuilder builder = new GraphBuilder("branches");
    Value x = builder.input("x", TensorType.f32(16));
    Value sum = null;
    for (int b = 0; b < branches; b++) {
      Value y = x;
      for (int i = 0; i < length; i++) {
        Operator operator = Unary.of(i % 2 == 0 ? UnaryFunction.SIN : UnaryFunction.RELU);
        boolean delayed = delayMicros > 0;
        y = builder.apply(delayed ? new Delayed(operator, b, delayMicros) : operator, y);
      }
      sum = sum == null ? y : builder.apply(new Binary(BinaryFunction.ADD), sum, y);
    }
    return builder.output("y", sum).build();
  }

  // Nothing on the hot path.

  @Test
  void aReplayAllocatesNothingInAnyThread() {
    for (int workers : new int[] {1, 3}) {
      Graph graph = branches(6, 20, 0);
      try (Device device = device(workers);
          Recording recording = device.record(plan(device, graph))) {
        assertThat(allocatedBy(recording, workers - 1)).as(workers + " workers").isZero();
      }
    }
  }

  @Test
  void aReplayOfEveryKindOfKernelAllocatesNothing() {
    Seeds.forEach(
        8,
        (random, seed) -> {
          RandomGraphs.Style style = RandomGraphs.Style.ofNodes(40).withVariables().withJumps();
          Graph graph = OutputCopies.apply(RandomGraphs.of(random, style));
          try (Device device = device(2);
              Recording recording = device.record(plan(device, graph))) {
            assertThat(allocatedBy(recording, -1)).as(graph.toString()).isZero();
          }
        });
  }

  /** Bytes that a few hundred replays allocate, once the JVM has linked what they call. */
  private static long allocatedBy(Recording recording, int expectedThreads) {
    long[] ids = workerThreads().stream().mapToLong(Thread::getId).toArray();
    if (expectedThreads >= 0) {
      assertThat(ids).hasSize(expectedThreads);
    }
    long[] all = LongStream.concat(LongStream.of(ids), LongStream.of(own())).toArray();
    for (int i = 0; i < 20; i++) {
      recording.replay();
    }
    long least = Long.MAX_VALUE; // the JIT may charge a thread for a deoptimisation, rarely
    for (int round = 0; round < 5 && least > 0; round++) {
      long asked = allocated(all);
      long before = allocated(all);
      long cost = before - asked; // of asking
      for (int i = 0; i < 100; i++) {
        recording.replay();
      }
      least = Math.min(least, allocated(all) - before - cost);
    }
    return least;
  }

  private static long allocated(long[] threadIds) {
    return LongStream.of(THREADS.getThreadAllocatedBytes(threadIds)).sum();
  }

  private static long own() {
    return Thread.currentThread().getId();
  }

  @Test
  void theAllocationCheckSeesAnAllocationInAnyThread() {
    GraphBuilder builder = new GraphBuilder("allocating");
    Value x = builder.input("x", TensorType.f32(16));
    Value y = builder.apply(new Probe(() -> Probe.sink = new byte[16]), x);
    Value z = builder.apply(Unary.of(UnaryFunction.SIN), x);
    Graph graph = builder.output("y", builder.apply(new Binary(BinaryFunction.ADD), y, z)).build();
    for (int probeStream = 0; probeStream < 2; probeStream++) {
      int[] streams = {probeStream, 1 - probeStream, 0};
      try (Device device = device(2);
          Recording recording = device.record(plan(device, graph, schedule(graph, streams)))) {
        assertThat(allocatedBy(recording, 1)).isGreaterThanOrEqualTo(100 * 16);
      }
    }
  }

  private static Schedule schedule(Graph graph, int... streamOf) {
    return RandomPlans.schedule(graph, streamOf, graph.nodes(), 1 + max(streamOf));
  }

  private static int max(int[] numbers) {
    return ImmutableIntArray.copyOf(numbers).asList().stream().max(Integer::compare).orElse(0);
  }

  /** Copies its operand, and does something besides. */
  private record Probe(Runnable action) implements Operator {
    private static volatile Object sink = "";

    @Override
    public String name() {
      return "Probe";
    }

    @Override
    public List<TensorType> infer(List<TensorType> inputs) {
      return inputs;
    }

    @Override
    public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
      return () -> {
        action.run();
        outputs.get(0).copyFrom(inputs.get(0));
      };
    }
  }

  @Test
  void viewsCostNothing() {
    GraphBuilder builder = new GraphBuilder("views");
    Value x = builder.input("x", TensorType.f32(4, 4));
    Value y = builder.apply(Unary.of(UnaryFunction.SIN), x);
    for (int i = 0; i < 10; i++) {
      y = builder.apply(new Reshape(Shape.of(i % 2 == 0 ? new int[] {16} : new int[] {4, 4})), y);
    }
    Graph graph = builder.output("y", builder.apply(Unary.of(UnaryFunction.ABS), y)).build();
    try (Device device = device(1);
        Recording recording = device.record(plan(device, graph))) {
      assertThat(recording.replayTimed().spans()).hasSize(2);
    }
  }

  // Threads.

  @Test
  void workersEndWhenTheRecordingIsClosed() {
    assertThat(workerThreads()).isEmpty();
    try (Device device = device(4)) {
      ExecutionPlan plan = plan(device, branches(6, 3, 0));
      for (int i = 0; i < 20; i++) {
        Recording first = device.record(plan);
        Recording second = device.record(plan);
        first.replay();
        assertThat(workerThreads()).hasSize(6).allMatch(Thread::isDaemon);
        first.close();
        assertThat(workerThreads()).hasSize(3);
        second.replay();
        second.close();
        assertThat(workerThreads()).isEmpty();
      }
    }
  }

  @Test
  void thereAreNoMoreWorkersThanStreams() {
    try (Device device = device(8);
        Recording recording = device.record(plan(device, branches(3, 3, 0)))) {
      recording.replay();
      assertThat(workerThreads()).hasSize(2); // and the caller
    }
  }

  @Test
  void anIdleRecordingUsesNoProcessor() throws Exception {
    try (Device device = device(3);
        Recording recording = device.record(plan(device, branches(6, 3, 0)))) {
      recording.replay();
      Thread.sleep(100);
      long[] ids = workerThreads().stream().mapToLong(Thread::getId).toArray();
      assertThat(ids).hasSize(2);
      long before = cpuNanos(ids);
      Thread.sleep(400);
      assertThat(cpuNanos(ids) - before).isLessThan(20_000_000);
      recording.replay(); // and it wakes up again
    }
  }

  @Test
  void aStrayInterruptDoesNotMakeAnIdleWorkerSpin() throws Exception {
    try (Device device = device(2);
        Recording recording = device.record(plan(device, branches(2, 3, 0)))) {
      recording.replay();
      List<Thread> workers = workerThreads();
      workers.forEach(Thread::interrupt);
      Thread.sleep(100);
      long[] ids = workers.stream().mapToLong(Thread::getId).toArray();
      long before = cpuNanos(ids);
      Thread.sleep(300);
      assertThat(cpuNanos(ids) - before).isLessThan(20_000_000);
      recording.replay();
    }
  }

  private static long cpuNanos(long[] ids) {
    return LongStream.of(ids).map(THREADS::getThreadCpuTime).sum();
  }

  @Test
  void anInterruptedCallerCompletesTheReplayAndStaysInterrupted() {
    Graph graph = branches(4, 4, 500);
    Random random = new Random(3);
    try (Device device = device(3);
        Recording recording = device.record(plan(device, graph))) {
      for (int s = 0; s < 20; s++) {
        List<Tensor> inputs = RandomGraphs.inputs(graph, random);
        recording.input(0).copyFrom(inputs.get(0));
        Thread.currentThread().interrupt();
        recording.replay();
        assertThat(Thread.interrupted()).isTrue();
        Tensor expected = ReferenceExecutor.run(graph, inputs).get(0);
        assertThat(recording.output(0).bitwiseEquals(expected)).isTrue();
      }
    }
  }

  // Chaos.

  @Test
  void thousandsOfReplaysOfWideDelayedGraphsStayRight() {
    Seeds.forEach(
        6,
        (random, seed) -> {
          RandomGraphs.Style style = RandomGraphs.Style.ofNodes(30).withVariables();
          Graph graph = Delayed.all(OutputCopies.apply(RandomGraphs.of(random, style)), seed, 4);
          ReferenceExecutor reference = new ReferenceExecutor(graph);
          Schedule schedule = RandomPlans.schedule(graph, random, 2 + random.nextInt(6));
          try (Device device = device(2 + random.nextInt(3));
              Recording recording = device.record(plan(device, graph, schedule))) {
            for (int s = 0; s < 400; s++) {
              List<Tensor> inputs = RandomGraphs.inputs(graph, random);
              for (int i = 0; i < inputs.size(); i++) {
                recording.input(i).copyFrom(inputs.get(i));
              }
              recording.replay();
              List<Tensor> expected = reference.step(inputs);
              for (int i = 0; i < expected.size(); i++) {
                assertThat(recording.output(i).bitwiseEquals(expected.get(i)))
                    .as("step %s, output %s: %s, not %s", s, i, recording.output(i), expected)
                    .isTrue();
              }
            }
          }
        });
  }

  @Test
  void delaysMakeAMissingWaitShow() {
    AtomicInteger wrong = new AtomicInteger();
    Seeds.forEach(
        6,
        (random, seed) -> {
          Graph graph = branches(4, 3, 200);
          try (Device device = device(4)) {
            ExecutionPlan plan = plan(device, graph);
            ExecutionPlan hasty =
                new ExecutionPlan(
                    graph,
                    plan.kernels(),
                    plan.schedule(),
                    plan.memory(),
                    plan.streams(),
                    plan.events(),
                    plan.commands().stream()
                        .filter(c -> !(c instanceof Command.WaitEvent))
                        .collect(ImmutableList.toImmutableList()));
            try (Recording recording = device.record(hasty)) {
              for (int s = 0; s < 10; s++) {
                List<Tensor> inputs = RandomGraphs.inputs(graph, random);
                recording.input(0).copyFrom(inputs.get(0));
                recording.replay();
                Tensor expected = ReferenceExecutor.run(graph, inputs).get(0);
                wrong.addAndGet(recording.output(0).bitwiseEquals(expected) ? 0 : 1);
              }
            }
          }
        });
    assertThat(wrong.get()).as("wrong results of 60").isPositive();
  }

  @Test
  void aTimedReplayShowsStreamsRunningTogether() {
    Graph graph = branches(2, 3, 20_000);
    try (Device device = device(2);
        Recording recording = device.record(plan(device, graph))) {
      boolean overlapped = false;
      for (int s = 0; s < 5; s++) {
        List<Timeline.Span> spans = recording.replayTimed().spans();
        for (Timeline.Span a : spans) {
          for (Timeline.Span b : spans) {
            overlapped |=
                a.worker() != b.worker()
                    && a.startNanos() < b.endNanos()
                    && b.startNanos() < a.endNanos();
          }
        }
      }
      assertThat(overlapped).isTrue();
    }
  }

  // Failures.

  /** Fails in a branch, while others go on, wait for it, or have finished. */
  @Test
  void aKernelsExceptionEndsTheReplayAndNamesTheNode() {
    for (int failing = 0; failing < 4; failing++) {
      AtomicInteger left = new AtomicInteger(Integer.MAX_VALUE);
      GraphBuilder builder = new GraphBuilder("failing");
      Value x = builder.input("x", TensorType.f32(16));
      Value sum = null;
      for (int b = 0; b < 4; b++) {
        Runnable action =
            b != failing
                ? () -> {}
                : () -> {
                  if (left.decrementAndGet() < 0) {
                    throw new IllegalStateException("out of luck");
                  }
                };
        Value y = builder.apply("branch" + b, new Delayed(new Probe(action), b, 100), x);
        sum = sum == null ? y : builder.apply(new Binary(BinaryFunction.ADD), sum, y);
      }
      Graph graph = builder.output("y", sum).build();
      String node = "branch" + failing;
      for (int workers : new int[] {1, 2, 4}) {
        try (Device device = device(workers);
            Recording recording = device.record(plan(device, graph))) {
          for (int round = 0; round < 10; round++) {
            left.set(0);
            assertThatThrownBy(round % 2 == 0 ? recording::replay : recording::replayTimed)
                .isInstanceOf(DeviceException.class)
                .hasMessageContaining(node)
                .hasMessageContaining("Probe")
                .hasMessageContaining("f32[16]")
                .hasMessageContaining("out of luck")
                .hasRootCauseInstanceOf(IllegalStateException.class);
            left.set(Integer.MAX_VALUE);
            recording.input(0).floats().put(0, round);
            recording.replay(); // usable again
            assertThat(recording.output(0).floats().get(0)).isEqualTo(4f * round);
          }
        }
      }
    }
  }

  @Test
  void anErrorInAKernelIsReportedToo() {
    GraphBuilder builder = new GraphBuilder("out of memory");
    Value x = builder.input("x", TensorType.f32(16));
    Value y =
        builder.apply(
            new Probe(
                () -> {
                  throw new StackOverflowError("deep");
                }),
            x);
    Graph graph = builder.output("y", y).build();
    try (Device device = device(1);
        Recording recording = device.record(plan(device, graph))) {
      assertThatThrownBy(recording::replay)
          .isInstanceOf(DeviceException.class)
          .hasRootCauseInstanceOf(StackOverflowError.class);
    }
  }

  @Test
  void contentsThatNoKernelCanUseAreTheCallersFault() {
    GraphBuilder builder = new GraphBuilder("lookup");
    Value table = builder.constant("table", Tensor.of(Shape.of(3), 10, 20, 30));
    Value index = builder.input("index", TensorType.of(DataType.I64, 2));
    Graph graph =
        builder.output("y", builder.apply("look up", new Gather(0), table, index)).build();
    try (Device device = device(1);
        Recording recording = device.record(plan(device, graph))) {
      recording.input(0).longs().put(0, 1).put(1, 3);
      assertThatThrownBy(recording::replay)
          .isInstanceOf(InvalidArgumentException.class)
          .hasMessageContaining("look up")
          .hasMessageContaining("3");
      recording.input(0).longs().put(0, 2).put(1, 0);
      recording.replay();
      assertThat(recording.output(0).toFloatArray()).containsExactly(30, 10);
    }
  }

  /** Kernels that cannot cope with the zeros of the prerun are no reason not to record. */
  @Test
  void aKernelThatFailsInThePrerunCanStillBeReplayed() {
    AtomicInteger runs = new AtomicInteger();
    GraphBuilder builder = new GraphBuilder("picky");
    Value x = builder.input("x", TensorType.f32(16));
    Operator picky =
        new Probe(
            () -> {
              if (runs.getAndIncrement() == 0) {
                throw new IllegalArgumentException("not yet");
              }
            });
    Graph graph = builder.output("y", builder.apply(picky, x)).build();
    try (Device device = device(1);
        Recording recording = device.record(plan(device, graph))) {
      recording.input(0).floats().put(0, 7);
      recording.replay();
      assertThat(recording.output(0).floats().get(0)).isEqualTo(7);
    }
  }

  @Test
  void anOperatorThatCannotBeBoundIsNamedAndNothingIsLeft() {
    GraphBuilder builder = new GraphBuilder("unbound");
    Value x = builder.input("x", dev.nimble.testkit.OpaqueOperator.type(100));
    Value y = builder.apply("mystery", dev.nimble.testkit.OpaqueOperator.of("Opaque", 100), x);
    Graph graph = builder.output("y", y).build();
    try (Device device = device(2)) {
      ExecutionPlan plan = plan(device, graph);
      assertThatThrownBy(() -> device.record(plan))
          .isInstanceOf(DeviceException.class)
          .hasMessageContaining("mystery");
      assertThat(device.openResources()).isZero();
      assertThat(workerThreads()).isEmpty();
    }
  }

  @Test
  void aClosedDeviceRecordsNothing() {
    Device device = device(1);
    ExecutionPlan plan = plan(device, branches(1, 1, 0));
    Recording recording = device.record(plan);
    device.close();
    device.close();
    assertThatThrownBy(() -> device.record(plan))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessageContaining("closed");
    assertThatThrownBy(device::eager).isInstanceOf(InvalidArgumentException.class);
    recording.replay(); // what it made lives on
    recording.close();
    assertThat(device.openResources()).isZero();
  }

  @Test
  void indexesOutsideTheGraphAreRefused() {
    try (Device device = device(1);
        Recording recording = device.record(plan(device, branches(1, 1, 0)))) {
      List<Runnable> calls = new ArrayList<>();
      calls.add(() -> recording.input(1));
      calls.add(() -> recording.input(-1));
      calls.add(() -> recording.output(1));
      calls.add(() -> recording.readVariable(0, Tensor.zeros(TensorType.f32(1))));
      calls.add(() -> recording.writeVariable(0, Tensor.zeros(TensorType.f32(1))));
      for (Runnable call : calls) {
        assertThatThrownBy(call::run)
            .isInstanceOf(InvalidArgumentException.class)
            .hasMessageContaining("there is no");
      }
    }
  }

  @Test
  void tensorsOutliveTheRecording() {
    Graph graph = branches(2, 2, 0);
    try (Device device = device(2)) {
      List<Tensor> kept = new ArrayList<>();
      for (int i = 0; i < 50; i++) {
        Recording recording = device.record(plan(device, graph));
        recording.input(0).floats().put(0, i);
        recording.replay();
        kept.add(recording.input(0));
        kept.add(recording.output(0));
        recording.close();
      }
      System.gc();
      for (int i = 0; i < 50; i++) {
        assertThat(kept.get(2 * i).floats().get(0)).isEqualTo(i);
        kept.get(2 * i + 1).floats().put(0, i);
      }
    }
  }

  @Test
  void variablesAreRestoredAfterEveryPlacementAndPrerun() {
    GraphBuilder builder = new GraphBuilder("two counters");
    for (int i = 0; i < 2; i++) {
      Value count = builder.variable("count" + i, Tensor.of(Shape.of(1), i));
      Value one = builder.constant("one", Tensor.of(Shape.of(1), 1));
      builder.add("increment", new Delayed(new Assign(true), i, 1_000), List.of(count, one));
    }
    Graph graph = builder.build();
    for (Device device : List.of(device(1), device(2), new CpuDeviceProvider(2).open(0))) {
      try (device;
          Recording recording = device.record(plan(device, graph))) {
        Tensor contents = Tensor.zeros(TensorType.f32(1));
        for (int i = 0; i < 2; i++) {
          recording.readVariable(i, contents);
          assertThat(contents.floats().get(0)).isEqualTo(i);
        }
      }
    }
  }
}
