package dev.nimble;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.common.collect.ImmutableSet;
import com.sun.management.ThreadMXBean;
import dev.nimble.device.Device;
import dev.nimble.device.cpu.CpuDeviceProvider;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.Assign;
import dev.nimble.op.Binary;
import dev.nimble.op.BinaryFunction;
import dev.nimble.op.Unary;
import dev.nimble.op.UnaryFunction;
import dev.nimble.plan.Timeline;
import dev.nimble.schedule.Policies;
import dev.nimble.schedule.SchedulingPolicy;
import dev.nimble.testkit.OnnxRuntimeOracle;
import dev.nimble.testkit.RandomTensors;
import dev.nimble.testkit.RealModels;
import dev.nimble.transform.Transforms;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class EngineTest {
  private static final Binary ADD = new Binary(BinaryFunction.ADD);
  private static final Unary RELU = Unary.of(UnaryFunction.RELU);

  private final Device device = new CpuDeviceProvider(2).open(0);

  @AfterEach
  void nothingIsLeaked() {
    assertThat(device.openResources()).isZero();
    device.close();
  }

  private static Tensor row(float... elements) {
    return Tensor.of(Shape.of(elements.length), elements);
  }

  private Engine prepare(Graph graph) {
    return Nimble.prepare(graph, device, EngineOptions.defaults());
  }

  /** y = relu(x) + x. */
  private static Graph small() {
    GraphBuilder g = new GraphBuilder("small");
    Value x = g.input("x", TensorType.f32(3));
    return g.output("y", g.apply(ADD, g.apply(RELU, x), x)).build();
  }

  /** Many independent branches of large operators, so that several workers are used. */
  private static Graph wide() {
    GraphBuilder g = new GraphBuilder("wide");
    Value x = g.input("x", TensorType.f32(512, 64));
    Value sum = x;
    for (int i = 0; i < 8; i++) {
      Value branch = x;
      for (int k = 0; k < 4; k++) {
        branch = g.apply(Unary.of(k % 2 == 0 ? UnaryFunction.TANH : UnaryFunction.SIN), branch);
      }
      sum = g.apply(ADD, sum, branch);
    }
    return g.output("y", sum).build();
  }

  @Test
  void runCopiesAndReplayUsesTheBoundBuffers() {
    try (Engine engine = prepare(small())) {
      Tensor x = row(-1, 0, 2);
      Map<String, Tensor> outputs = engine.run(Map.of("x", x));
      assertThat(outputs.get("y").toFloatArray()).containsExactly(-1, 0, 4);
      engine.input("x").copyFrom(row(5, -5, 1));
      engine.replay();
      assertThat(engine.output("y").toFloatArray()).containsExactly(10, -5, 2);
      assertThat(outputs.get("y").toFloatArray()).as("a copy stays").containsExactly(-1, 0, 4);
      assertThat(engine.input("x")).isSameAs(engine.input("x"));
    }
  }

  @Test
  void residentInputsAndOutputsStayOnTheDevice(@TempDir Path folder) {
    EngineOptions options = EngineOptions.defaults().withDevice("cpu").withResident("x", "y");
    Path file = folder.resolve("small.plan");
    try (Engine engine = Nimble.prepare(small(), options)) {
      engine.residentInput("x").write(row(5, -5, 1));
      engine.replay();
      Tensor y = Tensor.zeros(TensorType.f32(3));
      engine.residentOutput("y").read(y);
      assertThat(y.toFloatArray()).containsExactly(10, -5, 2);
      assertThat(engine.run(Map.of("x", row(-1, 0, 2))).get("y").toFloatArray())
          .containsExactly(-1, 0, 4);
      assertThatThrownBy(() -> engine.input("x")).hasMessageContaining("resident");
      assertThatThrownBy(() -> engine.output("y")).hasMessageContaining("resident");
      assertThatThrownBy(() -> engine.residentInput("z")).hasMessageContaining("no input 'z'");
      engine.save(file);
    }
    try (Engine engine = Nimble.load(file, "cpu", ImmutableSet.of("y"))) {
      engine.input("x").copyFrom(row(1, 1, -1));
      engine.replay();
      Tensor y = Tensor.zeros(TensorType.f32(3));
      engine.residentOutput("y").read(y);
      assertThat(y.toFloatArray()).containsExactly(2, 2, -1);
      assertThatThrownBy(() -> engine.residentInput("x"))
          .isInstanceOf(InvalidArgumentException.class)
          .hasMessageContaining("withResident");
    }
    assertThatThrownBy(
            () ->
                Nimble.prepare(
                    small(),
                    EngineOptions.defaults().withDevice("cpu").withResident("x", "w", "v")))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessageContaining("neither inputs nor outputs: [w, v]");
  }

  @Test
  void outputsMayBeInputsConstantsVariablesAndTwice() {
    GraphBuilder g = new GraphBuilder("odd outputs");
    Value x = g.input("x", TensorType.f32(2));
    g.input("unused", TensorType.f32(7));
    Value c = g.constant("c", row(3, 4));
    Value v = g.variable("v", row(10, 20));
    Value y = g.apply(RELU, x);
    g.add("bump", new Assign(true), List.of(v, x));
    Graph graph =
        g.output("input", x)
            .output("constant", c)
            .output("variable", v)
            .output("a", y)
            .output("b", y)
            .build();
    try (Engine engine = prepare(graph)) {
      Map<String, Tensor> inputs =
          Map.of("x", row(1, -2), "unused", Tensor.zeros(TensorType.f32(7)));
      Map<String, Tensor> outputs = engine.run(inputs);
      assertThat(outputs.keySet()).containsExactly("input", "constant", "variable", "a", "b");
      assertThat(outputs.get("input").toFloatArray()).containsExactly(1, -2);
      assertThat(outputs.get("constant").toFloatArray()).containsExactly(3, 4);
      assertThat(outputs.get("variable").toFloatArray())
          .as("after the update")
          .containsExactly(11, 18);
      assertThat(outputs.get("a").toFloatArray()).containsExactly(1, 0);
      assertThat(outputs.get("b").toFloatArray()).containsExactly(1, 0);
      engine.run(inputs);
      assertThat(engine.variable("v").toFloatArray()).containsExactly(12, 16);
      engine.setVariable("v", row(0, 0));
      engine.run(inputs);
      assertThat(engine.variable("v").toFloatArray()).containsExactly(1, -2);
    }
  }

  @Test
  void anEmptyGraphRuns() {
    try (Engine engine = prepare(new GraphBuilder("empty").build())) {
      assertThat(engine.run(Map.of())).isEmpty();
      engine.replay();
      assertThat(engine.replayTimed().spans()).isEmpty();
    }
  }

  @Test
  void inputsAreDemandedByNameAndType() {
    try (Engine engine = prepare(small())) {
      assertThatThrownBy(() -> engine.run(Map.of()))
          .isInstanceOf(InvalidArgumentException.class)
          .hasMessageContaining("'x' is missing");
      assertThatThrownBy(() -> engine.run(Map.of("x", row(1, 2))))
          .hasMessageContaining("must be f32[3], not f32[2]");
      assertThatThrownBy(() -> engine.run(Map.of("x", row(1, 2, 3), "z", row(1))))
          .hasMessageContaining("there is no input 'z'");
      assertThatThrownBy(() -> engine.output("z")).hasMessageContaining("[y]");
      assertThatThrownBy(() -> engine.runAsync(Map.of())).hasMessageContaining("missing");
    }
  }

  @Test
  void afterCloseEveryCallFailsAndCloseIsIdempotent() {
    Engine engine = prepare(small());
    engine.close();
    engine.close();
    assertThat(engine.isClosed()).isTrue();
    List<Runnable> calls =
        List.of(
            engine::replay,
            () -> engine.run(Map.of("x", row(1, 2, 3))),
            () -> engine.input("x"),
            () -> engine.output("y"),
            engine::replayTimed,
            engine::replayAsync);
    for (Runnable call : calls) {
      assertThatThrownBy(call::run)
          .isInstanceOf(InvalidArgumentException.class)
          .hasMessage("the engine is closed");
    }
    assertThat(engine.plan().explain()).contains("small");
  }

  @Test
  void asynchronousStepsRunInOrderAndCloseWaitsForThem() {
    List<CompletableFuture<Map<String, Tensor>>> steps = new ArrayList<>();
    GraphBuilder g = new GraphBuilder("counter");
    Value v = g.variable("v", row(0));
    Value x = g.input("x", TensorType.f32(1));
    g.add("count", new Assign(true), List.of(v, x));
    Graph graph = g.output("y", v).build();
    try (Engine engine = prepare(graph)) {
      for (int i = 0; i < 50; i++) {
        steps.add(engine.runAsync(Map.of("x", row(1))));
      }
    }
    for (int i = 0; i < 50; i++) {
      assertThat(steps.get(i).join().get("y").toFloatArray()).containsExactly(i + 1);
    }
  }

  @Test
  void severalThreadsTakeTurnsInRun() throws Exception {
    Graph graph = wide();
    try (Engine engine = prepare(graph)) {
      AtomicInteger wrong = new AtomicInteger();
      List<Thread> threads = new ArrayList<>();
      for (int t = 0; t < 4; t++) {
        Tensor x = RandomTensors.of(TensorType.f32(512, 64), new Random(t));
        Tensor expected = engine.run(Map.of("x", x)).get("y");
        Thread thread =
            new Thread(
                () -> {
                  for (int i = 0; i < 20; i++) {
                    if (!engine.run(Map.of("x", x)).get("y").bitwiseEquals(expected)) {
                      wrong.incrementAndGet();
                    }
                  }
                });
        threads.add(thread);
      }
      threads.forEach(Thread::start);
      for (Thread thread : threads) {
        thread.join();
      }
      assertThat(wrong).hasValue(0);
    }
  }

  @Test
  void aReplayDuringAnotherStepFailsAtOnce() throws Exception {
    try (Engine engine = prepare(wide())) {
      CountDownLatch stop = new CountDownLatch(1);
      Thread other =
          new Thread(
              () -> {
                while (stop.getCount() > 0) {
                  engine.run(Map.of("x", Tensor.zeros(TensorType.f32(512, 64))));
                }
              });
      other.start();
      boolean refused = false;
      for (int i = 0; i < 100_000 && !refused; i++) {
        try {
          engine.replay();
        } catch (InvalidArgumentException e) {
          refused = true;
          assertThat(e).hasMessageContaining("another thread");
        }
      }
      stop.countDown();
      other.join();
      assertThat(refused).isTrue();
    }
  }

  @Test
  void aReplayAllocatesNothingInAnyThread() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    for (Graph graph : List.of(small(), wide())) {
      try (Engine engine = prepare(graph)) {
        for (int i = 0; i < 3000; i++) {
          engine.replay();
        }
        long[] ids =
            Thread.getAllStackTraces().keySet().stream()
                .filter(t -> t.getName().startsWith("nimble-cpu") || t == Thread.currentThread())
                .mapToLong(Thread::getId)
                .toArray();
        assertThat(ids).as("the caller and the workers").isNotEmpty();
        // Reading the counters allocates too: no replay must cost what 200 cost.
        long none = leastAllocated(threads, ids, engine, 0);
        assertThat(leastAllocated(threads, ids, engine, 200))
            .as("bytes in 200 replays of %s", graph.name())
            .isLessThanOrEqualTo(none);
      }
    }
  }

  /** The least over several tries, since the JIT may still be at work in the first. */
  private static long leastAllocated(ThreadMXBean threads, long[] ids, Engine engine, int replays) {
    long least = Long.MAX_VALUE;
    for (int attempt = 0; attempt < 8; attempt++) {
      long before = sum(threads.getThreadAllocatedBytes(ids));
      for (int i = 0; i < replays; i++) {
        engine.replay();
      }
      least = Math.min(least, sum(threads.getThreadAllocatedBytes(ids)) - before);
    }
    return least;
  }

  private static long sum(long[] bytes) {
    return java.util.stream.LongStream.of(bytes).sum();
  }

  @Test
  void aTimelineHasEveryLaunchInDependencyOrder() {
    try (Engine engine = prepare(wide())) {
      Timeline timeline = engine.replayTimed();
      Graph graph = engine.plan().graph();
      assertThat(timeline.spans()).hasSize(graph.nodes().size());
      long[] end = new long[graph.nodes().size()];
      timeline.spans().forEach(span -> end[span.node().id()] = span.endNanos());
      for (Timeline.Span span : timeline.spans()) {
        graph
            .predecessors(span.node())
            .forEach(p -> assertThat(end[p.id()]).isLessThanOrEqualTo(span.startNanos()));
        assertThat(span.endNanos()).isLessThanOrEqualTo(timeline.totalNanos());
      }
    }
  }

  /** Replay under every policy equals eager execution bit for bit, and ONNX Runtime closely. */
  @ParameterizedTest
  @EnumSource(RealModels.class)
  void realModelsReplayAsTheyRunEagerlyAndInOnnxRuntime(RealModels model) {
    for (int shape = 0; shape < 2; shape++) {
      Graph captured = model.model().graph(model.dimensions(shape));
      Map<String, TensorType> types = new LinkedHashMap<>();
      captured.inputs().forEach(input -> types.put(input.name(), input.type()));
      Map<String, Tensor> inputs = RealModels.inputs(types, 3);
      List<Tensor> expected = OnnxRuntimeOracle.run(model.bytes(), inputs);
      for (Transforms transforms : List.of(Transforms.unfused(), Transforms.all())) {
        EngineOptions options = EngineOptions.defaults().withTransforms(transforms);
        Map<String, Tensor> eager = eagerly(captured, options, inputs);
        int index = 0;
        for (Tensor output : eager.values()) {
          assertThat(RandomTensors.largestDifference(output, expected.get(index++)))
              .isLessThanOrEqualTo(1e-4);
        }
        for (SchedulingPolicy policy :
            List.of(Policies.singleStream(), Policies.nimble(), Policies.nimble(2))) {
          try (Engine engine = Nimble.prepare(captured, device, options.withPolicy(policy))) {
            for (int step = 0; step < 3; step++) {
              engine
                  .run(inputs)
                  .forEach(
                      (name, output) ->
                          assertThat(output.bitwiseEquals(eager.get(name)))
                              .as("%s of %s by %s", name, model, policy.name())
                              .isTrue());
            }
          }
        }
      }
    }
  }

  private Map<String, Tensor> eagerly(
      Graph captured, EngineOptions options, Map<String, Tensor> inputs) {
    Graph graph = Nimble.plan(captured, device, options).graph();
    try (EagerGraph eager = new EagerGraph(graph, device)) {
      return eager.run(inputs);
    }
  }
}
