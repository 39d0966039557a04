package dev.nimble.benchmarks.replay;

import dev.nimble.EagerGraph;
import dev.nimble.Engine;
import dev.nimble.EngineOptions;
import dev.nimble.Nimble;
import dev.nimble.benchmarks.models.TinyChain;
import dev.nimble.benchmarks.peers.OnnxRuntimePeer;
import dev.nimble.device.Device;
import dev.nimble.device.Devices;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.onnx.OnnxModel;
import dev.nimble.transform.Transforms;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * A step of {@link TinyChain}: eager, replay, ONNX Runtime; one operator is the cost of doing
 * nothing.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
@State(Scope.Thread)
public class ChainBenchmark {
  /** Operators in the chain. */
  @Param({"1", "100", "1000"})
  public int operators;

  private Device device;
  private Engine engine;
  private EagerGraph eager;
  private @Nullable OnnxRuntimePeer peer;
  private Map<String, Tensor> inputs;

  /** Prepares all three. */
  @Setup
  public void setUp() {
    byte[] model = TinyChain.onnx(operators);
    Graph graph = OnnxModel.parse(model, "chain").graph(Map.of());
    device = Devices.open("cpu");
    engine =
        Nimble.prepare(graph, device, EngineOptions.defaults().withTransforms(Transforms.none()));
    eager = new EagerGraph(graph, device);
    inputs = Map.of("x", Tensor.zeros(TensorType.f32(1, 16)));
    peer = OnnxRuntimePeer.open(model, inputs, 1).orElse(null);
  }

  /** Frees all three. */
  @TearDown
  public void tearDown() {
    engine.close();
    eager.close();
    device.close();
    if (peer != null) {
      peer.close();
    }
  }

  /** Replay on bound buffers. */
  @Benchmark
  public void replay() {
    engine.replay();
  }

  /** Operator by operator. */
  @Benchmark
  public Map<String, Tensor> eager() {
    return eager.run(inputs);
  }

  /** ONNX Runtime, one thread. */
  @Benchmark
  public void onnxRuntime() {
    if (peer != null) {
      peer.run();
    }
  }
}
