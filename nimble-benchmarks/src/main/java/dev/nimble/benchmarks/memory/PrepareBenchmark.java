package dev.nimble.benchmarks.memory;

import dev.nimble.EngineOptions;
import dev.nimble.Nimble;
import dev.nimble.benchmarks.models.ModelSource;
import dev.nimble.device.Device;
import dev.nimble.device.Devices;
import dev.nimble.graph.Graph;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.schedule.Policies;
import java.util.Map;
import java.util.concurrent.TimeUnit;
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

/** Transforms, selection, schedule, memory plan and proof of a real model: all but recording. */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 3, time = 2)
@State(Scope.Thread)
public class PrepareBenchmark {
  /** The model. */
  @Param({"minilm", "ppocr-det-v4"})
  public String model;

  private Device device;
  private Graph graph;

  /** Captures the model. */
  @Setup
  public void setUp() {
    device = Devices.open("cpu");
    graph = ModelSource.open(model, Map.of()).graph();
  }

  /** Closes the device. */
  @TearDown
  public void tearDown() {
    device.close();
  }

  /** With the Nimble policy. */
  @Benchmark
  public ExecutionPlan nimble() {
    return Nimble.plan(graph, device, EngineOptions.defaults());
  }

  /** With one stream. */
  @Benchmark
  public ExecutionPlan singleStream() {
    return Nimble.plan(graph, device, EngineOptions.defaults().withPolicy(Policies.singleStream()));
  }
}
