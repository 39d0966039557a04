package dev.nimble;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.nimble.device.Device;
import dev.nimble.device.cpu.CpuDeviceProvider;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.MatMul;
import dev.nimble.op.Unary;
import dev.nimble.op.UnaryFunction;
import dev.nimble.testkit.RandomTensors;
import dev.nimble.testkit.RealModels;
import dev.nimble.testkit.ReferenceExecutor;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

class EngineCacheTest {
  private final Device device = new CpuDeviceProvider(2).open(0);
  private final AtomicInteger captures = new AtomicInteger();

  @AfterEach
  void nothingIsLeaked() {
    assertThat(device.openResources()).isZero();
    device.close();
  }

  /** y = tanh(x w), x of batch rows and {@code width} columns; w is made anew for each graph. */
  private Graph model(Map<String, Integer> dimensions) {
    captures.incrementAndGet();
    if (!dimensions.keySet().equals(Set.of("batch"))) {
      throw new InvalidArgumentException("the dimension is batch, not " + dimensions);
    }
    GraphBuilder g = new GraphBuilder("model");
    Value x = g.input("x", TensorType.f32(dimensions.get("batch"), 16));
    Value w = g.constant("w", RandomTensors.of(TensorType.f32(16, 16), new Random(1)));
    Value y = g.apply(Unary.of(UnaryFunction.TANH), g.apply(new MatMul(null), x, w));
    return g.output("y", y).build();
  }

  private EngineCache cache(int mostEngines) {
    return EngineCache.of(this::model, device, EngineOptions.defaults(), mostEngines);
  }

  private static Map<String, Integer> batch(int extent) {
    return Map.of("batch", extent);
  }

  private static Tensor input(int batch, long seed) {
    return RandomTensors.of(TensorType.f32(batch, 16), new Random(seed));
  }

  private Tensor reference(Tensor x) {
    Graph graph = model(batch(x.type().shape().extent(0)));
    return ReferenceExecutor.run(graph, List.of(x)).get(0);
  }

  private static void assertClose(Tensor actual, Tensor expected) {
    assertThat(actual.type()).isEqualTo(expected.type());
    assertThat(RandomTensors.largestDifference(actual, expected)).isLessThan(1e-5);
  }

  @Test
  void equalDimensionsShareAnEngineAndOthersHaveTheirOwn() {
    try (EngineCache cache = cache(3);
        EngineCache.Lease a = cache.lease(batch(2));
        EngineCache.Lease b = cache.lease(batch(2));
        EngineCache.Lease c = cache.lease(batch(3))) {
      assertThat(a.engine()).isSameAs(b.engine()).isNotSameAs(c.engine());
      assertThat(captures).hasValue(2);
      assertThat(cache.statistics().engines()).isEqualTo(2);
      Tensor x = input(3, 1);
      assertClose(cache.run(batch(3), Map.of("x", x)).get("y"), reference(x));
    }
  }

  @Test
  void theLeastRecentlyUsedIdleEngineIsClosed() {
    try (EngineCache cache = cache(2)) {
      Engine one;
      Engine two;
      try (EngineCache.Lease lease = cache.lease(batch(1))) {
        one = lease.engine();
      }
      try (EngineCache.Lease lease = cache.lease(batch(2))) {
        two = lease.engine();
      }
      cache.lease(batch(1)).close(); // now 2 is the older
      cache.lease(batch(3)).close();
      assertThat(two.isClosed()).isTrue();
      assertThat(one.isClosed()).isFalse();
      assertThat(cache.statistics().evicted()).isEqualTo(1);
      assertThat(device.openResources()).isEqualTo(2);
    }
  }

  @Test
  void enginesInUseAreKeptBeyondTheBoundAndClosedAfterwards() {
    EngineCache cache = cache(1);
    EngineCache.Lease a = cache.lease(batch(1));
    EngineCache.Lease b = cache.lease(batch(2));
    EngineCache.Lease c = cache.lease(batch(3));
    assertThat(List.of(a, b, c)).noneMatch(lease -> lease.engine().isClosed());
    assertThat(cache.statistics().engines()).isEqualTo(3);
    b.close();
    b.close(); // idempotent: counted once
    assertThat(b.engine().isClosed()).isTrue();
    assertThat(a.engine().isClosed()).isFalse();
    cache.close();
    cache.close();
    assertThat(a.engine().isClosed()).isFalse();
    Tensor x = input(1, 2);
    assertClose(a.engine().run(Map.of("x", x)).get("y"), reference(x));
    assertThatThrownBy(() -> cache.lease(batch(1)))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessageContaining("closed");
    a.close();
    assertThat(a.engine().isClosed()).isTrue();
    c.close();
    assertThat(device.openResources()).isZero();
  }

  @Test
  void failuresAreThrownAndTriedAgain() {
    try (EngineCache cache = cache(2)) {
      for (int i = 0; i < 2; i++) {
        assertThatThrownBy(() -> cache.lease(Map.of("depth", 3)))
            .isInstanceOf(InvalidArgumentException.class)
            .hasMessageContaining("depth");
      }
      assertThat(captures).hasValue(2);
      assertThat(cache.statistics().engines()).isZero();
      cache.lease(batch(1)).close();
    }
    assertThatThrownBy(() -> cache(0)).isInstanceOf(InvalidArgumentException.class);
  }

  private static List<Tensor> constants(Engine engine) {
    return engine.plan().graph().values().stream()
        .filter(v -> v.kind() == Value.Kind.CONSTANT)
        .map(Value::contents)
        .toList();
  }

  @Test
  void weightsAreTheSameBuffersForEveryShape() {
    try (EngineCache cache = cache(3)) {
      cache.prepare(List.of(batch(1), batch(2), batch(3)));
      try (EngineCache.Lease a = cache.lease(batch(1));
          EngineCache.Lease b = cache.lease(batch(3))) {
        assertThat(constants(a.engine())).hasSize(1);
        assertThat(constants(a.engine()).get(0)).isSameAs(constants(b.engine()).get(0));
      }
      EngineCache.Statistics statistics = cache.statistics();
      assertThat(statistics.engines()).isEqualTo(3);
      assertThat(statistics.weightBytes()).isEqualTo(16 * 16 * 4);
      assertThat(statistics.weightBytesWithoutSharing()).isEqualTo(3 * 16 * 16 * 4);
      assertThatThrownBy(() -> cache.prepare(List.of(batch(1), batch(2), batch(3), batch(4))))
          .isInstanceOf(InvalidArgumentException.class);
    }
  }

  @Test
  void aRealModelKeepsOneCopyOfItsWeightsForSeveralShapes() {
    var model = RealModels.PPOCR_CLS.model();
    try (EngineCache cache = EngineCache.of(model::graph, device, EngineOptions.defaults(), 4)) {
      cache.prepare(
          List.of(RealModels.PPOCR_CLS.dimensions(0), RealModels.PPOCR_CLS.dimensions(1)));
      EngineCache.Statistics two = cache.statistics();
      System.out.println("ppocr-cls at two shapes: " + two);
      assertThat(two.weightBytes()).isLessThan(two.weightBytesWithoutSharing() * 51 / 100);
      for (int shape = 0; shape < 2; shape++) {
        Graph graph = model.graph(RealModels.PPOCR_CLS.dimensions(shape));
        Map<String, TensorType> types = new LinkedHashMap<>();
        graph.inputs().forEach(v -> types.put(v.name(), v.type()));
        Map<String, Tensor> inputs = RealModels.inputs(types, 5);
        Map<String, Tensor> shared = cache.run(RealModels.PPOCR_CLS.dimensions(shape), inputs);
        try (Engine alone = Nimble.prepare(graph, device, EngineOptions.defaults())) {
          alone
              .run(inputs)
              .forEach((name, y) -> assertThat(shared.get(name).bitwiseEquals(y)).isTrue());
        }
      }
    }
  }

  /** Many threads, more shapes than engines: right results, each engine closed once and idle. */
  @Test
  void threadsMayUseItWhileEnginesAreEvicted() throws Exception {
    int shapes = 6;
    List<Tensor> inputs = new ArrayList<>();
    List<Tensor> expected = new ArrayList<>();
    for (int i = 1; i <= shapes; i++) {
      inputs.add(input(i, i));
      expected.add(reference(inputs.get(i - 1)));
    }
    Set<Engine> seen =
        Collections.synchronizedSet(Collections.newSetFromMap(new IdentityHashMap<>()));
    EngineCache cache = cache(2);
    ExecutorService threads = Executors.newFixedThreadPool(8);
    List<Future<?>> results = new ArrayList<>();
    for (int t = 0; t < 8; t++) {
      long seed = t;
      Callable<?> work =
          () -> {
            Random random = new Random(seed);
            for (int i = 0; i < 60; i++) {
              int k = random.nextInt(shapes);
              try (EngineCache.Lease lease = cache.lease(batch(k + 1))) {
                seen.add(lease.engine());
                Tensor y = lease.engine().run(Map.of("x", inputs.get(k))).get("y");
                assertClose(y, expected.get(k));
                assertThat(lease.engine().isClosed()).isFalse();
              }
            }
            return null;
          };
      results.add(threads.submit(work));
    }
    for (Future<?> result : results) {
      result.get();
    }
    threads.shutdown();
    EngineCache.Statistics statistics = cache.statistics();
    assertThat(statistics.engines()).isLessThanOrEqualTo(2);
    assertThat(statistics.prepared()).isEqualTo(seen.size());
    assertThat(statistics.evicted()).isEqualTo(seen.size() - statistics.engines()).isPositive();
    cache.close();
    assertThat(seen).allMatch(Engine::isClosed);
  }

  @Test
  void oneShapeIsPreparedOnceHoweverManyAskForIt() throws Exception {
    try (EngineCache cache = cache(1)) {
      ExecutorService threads = Executors.newFixedThreadPool(6);
      List<Future<Engine>> engines = new ArrayList<>();
      for (int t = 0; t < 6; t++) {
        engines.add(
            threads.submit(
                () -> {
                  try (EngineCache.Lease lease = cache.lease(batch(4))) {
                    return lease.engine();
                  }
                }));
      }
      for (Future<Engine> engine : engines) {
        assertThat(engine.get()).isSameAs(engines.get(0).get());
      }
      threads.shutdown();
      assertThat(captures).hasValue(1);
    }
  }

  @Test
  void bucketsPadInputsAndCutOutputs() {
    Buckets buckets = Buckets.of("batch", 8, 4);
    try (EngineCache cache = cache(3)) {
      for (int extent = 1; extent <= 8; extent++) {
        Tensor x = input(extent, extent);
        Tensor y = cache.run(batch(extent), buckets, Map.of("x", x)).get("y");
        assertClose(y, reference(x));
      }
      assertThat(cache.statistics().engines()).isEqualTo(2);
      assertThatThrownBy(() -> cache.run(batch(9), buckets, Map.of("x", input(9, 9))))
          .isInstanceOf(InvalidArgumentException.class)
          .hasMessageContainingAll("'batch' is 9", "[4, 8]");
      assertThatThrownBy(() -> cache.run(Map.of(), buckets, Map.of()))
          .hasMessageContaining("missing");
      assertThatThrownBy(() -> cache.run(batch(3), buckets, Map.of("x", input(5, 5))))
          .isInstanceOf(InvalidArgumentException.class)
          .hasMessageContaining("cannot be padded");
      assertThatThrownBy(() -> cache.run(batch(3), buckets, Map.of()))
          .isInstanceOf(InvalidArgumentException.class)
          .hasMessageContaining("'x' is missing");
    }
    assertThatThrownBy(() -> Buckets.of("batch")).isInstanceOf(InvalidArgumentException.class);
    assertThatThrownBy(() -> Buckets.of("batch", 0)).isInstanceOf(InvalidArgumentException.class);
  }

  /** Padding any axes by zeros and cutting them again gives the tensor back. */
  @Test
  void paddingIsUndoneByCutting() {
    dev.nimble.testkit.Seeds.forEach(
        200,
        (random, seed) -> {
          int rank = random.nextInt(5);
          int[] small = random.ints(rank, 0, 4).toArray();
          int[] large = small.clone();
          for (int axis = 0; axis < rank; axis++) {
            large[axis] += random.nextInt(3);
          }
          Tensor x = RandomTensors.of(TensorType.f32(small), random);
          Tensor padded = Padding.pad("x", x, TensorType.f32(large));
          assertThat(Padding.cut(padded, x.type()).bitwiseEquals(x)).isTrue();
          Shape shape = Shape.of(large);
          int[] strides = shape.strides();
          for (int i = 0; i < padded.type().elements(); i++) {
            boolean inside = true;
            for (int axis = 0; axis < rank; axis++) {
              inside &= i / strides[axis] % Math.max(1, large[axis]) < small[axis];
            }
            if (!inside) {
              assertThat(padded.floats().get(i)).isZero();
            }
          }
        });
  }

  @Test
  void aCacheThatOpenedItsDeviceClosesIt() {
    EngineCache cache = EngineCache.of(this::model, EngineOptions.defaults().withDevice("cpu"), 2);
    EngineCache.Lease lease = cache.lease(batch(1));
    cache.close();
    Tensor x = input(1, 3);
    assertClose(lease.engine().run(Map.of("x", x)).get("y"), reference(x));
    lease.close();
    assertThat(lease.engine().isClosed()).isTrue();
  }
}
