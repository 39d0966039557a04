package dev.nimble.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import dev.nimble.EagerGraph;
import dev.nimble.Engine;
import dev.nimble.Nimble;
import dev.nimble.cuda.emulator.Emulator;
import dev.nimble.cuda.emulator.OnEmulator;
import dev.nimble.cuda.record.CudaRecording;
import dev.nimble.device.Device;
import dev.nimble.device.Recording;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Tensor;
import dev.nimble.schedule.Policies;
import dev.nimble.testkit.RandomGraphs;
import dev.nimble.testkit.RandomTensors;
import dev.nimble.testkit.ReferenceExecutor;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.LongSupplier;
import java.util.function.ToLongFunction;
import org.junit.jupiter.api.Test;

/**
 * What a step costs the host: driver calls as the emulator counts them, and Java allocation. Times
 * are printed, not judged: they are the emulator's as much as ours.
 */
@OnEmulator
class ReplayCostTest {
  private static final Map<String, Long> ONE_LAUNCH = Map.of("cuGraphLaunch", 1L);

  @Test
  void aStepIsOneCallHoweverManyOperators() {
    System.out.println("host nanoseconds of a step, emulated driver, empty kernels:");
    for (int operators : new int[] {10, 100, 1_000, 10_000}) {
      Graph graph = TestGraphs.columns(operators, 3);
      Map<String, Tensor> inputs = inputs(graph, 1);
      try (Device device = TestDevice.withoutLibraries(CudaRecording.Mode.GRAPH);
          Recording recording = record(device, graph);
          EagerGraph eagerGraph = new EagerGraph(graph, device)) {
        Emulator.emptyKernels(true);
        long launch =
            median(
                () -> {
                  long begin = System.nanoTime();
                  recording.launch();
                  long nanos = System.nanoTime() - begin;
                  recording.await();
                  return nanos;
                });
        Emulator.forgetCalls();
        recording.launch();
        assertThat(Emulator.callsOfThisThread()).isEqualTo(ONE_LAUNCH);
        recording.await();
        eagerGraph.run(inputs);
        Emulator.forgetCalls();
        long begin = System.nanoTime();
        eagerGraph.run(inputs);
        long eager = System.nanoTime() - begin;
        long calls = sum(Emulator.callsOfThisThread());
        assertThat(calls).as("eager's calls").isGreaterThan(operators);
        System.out.printf(
            "%,7d operators: replay 1 call, %,7d ns; eager %,7d calls, %,12d ns%n",
            operators, launch, calls, eager);
        Emulator.emptyKernels(false);
      }
    }
  }

  private static Map<String, Tensor> inputs(Graph graph, int seed) {
    return Map.of("x", RandomGraphs.inputs(graph, new Random(seed)).get(0));
  }

  private static Recording record(Device device, Graph graph) {
    return device.record(TestGraphs.plan(device, graph, Policies.nimble()));
  }

  private static long sum(Map<String, Long> calls) {
    return calls.values().stream().mapToLong(Long::longValue).sum();
  }

  private static long median(LongSupplier once) {
    long[] nanos = new long[200];
    Arrays.setAll(nanos, i -> once.getAsLong());
    Arrays.sort(nanos);
    return nanos[nanos.length / 2];
  }

  /** Prepare uploads the graph and runs it once, so nothing is left for the first step to do. */
  @Test
  void theFirstStepMakesTheCallsOfEveryStep() {
    try (Device device = TestDevice.of(CudaRecording.Mode.GRAPH);
        Engine engine =
            Nimble.prepare(TestGraphs.libraries(), device, TestGraphs.options(Policies.nimble()))) {
      assertThat(Emulator.calls()).containsEntry("cuGraphUpload", 1L);
      List<Map<String, Long>> steps = new ArrayList<>();
      for (int step = 0; step < 3; step++) {
        Emulator.forgetCalls();
        engine.replay();
        steps.add(Emulator.calls());
      }
      assertThat(steps)
          .containsOnly(Map.of("cuGraphLaunch", 1L, "cuStreamSynchronize", 1L))
          .hasSize(3);
    }
  }

  @Test
  void stepsAllocateNothing() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    ToLongFunction<Recording> bytes =
        recording -> {
          long before = threads.getCurrentThreadAllocatedBytes();
          recording.replay();
          return threads.getCurrentThreadAllocatedBytes() - before;
        };
    for (CudaRecording.Mode mode : CudaRecording.Mode.values()) {
      try (Device device = TestDevice.of(mode);
          Recording recording = record(device, TestGraphs.libraries())) {
        for (int warm = 0; warm < 50; warm++) {
          recording.replay();
        }
        assertThat(bytes.applyAsLong(recording)).as("bytes of a step, %s", mode).isZero();
      }
    }
  }

  /** Eager steps between replays take nothing that the recording holds. */
  @Test
  void graphStreamsAndEagerAgreeAndMayTakeTurns() {
    agree(TestGraphs.libraries());
    agree(TestGraphs.contents());
  }

  private static void agree(Graph graph) {
    try (Device graphs = TestDevice.of(CudaRecording.Mode.GRAPH);
        Device streams = TestDevice.of(CudaRecording.Mode.STREAMS);
        Recording byGraph = record(graphs, graph);
        Recording byStreams = record(streams, graph);
        EagerGraph eagerGraph = new EagerGraph(graph, graphs)) {
      for (int step = 0; step < 8; step++) {
        Map<String, Tensor> inputs = inputs(graph, step);
        Emulator.delays(step, 100);
        List<Tensor> expected = ReferenceExecutor.run(graph, List.copyOf(inputs.values()));
        for (Recording recording : List.of(byGraph, byStreams)) {
          recording.input(0).copyFrom(inputs.get("x"));
          recording.replay();
        }
        Map<String, Tensor> eager = eagerGraph.run(inputs);
        for (int i = 0; i < expected.size(); i++) {
          assertThat(RandomTensors.largestDifference(byGraph.output(i), expected.get(i)))
              .isLessThan(1e-4);
          assertThat(RandomTensors.largestDifference(byGraph.output(i), byStreams.output(i)))
              .isZero();
          assertThat(
                  RandomTensors.largestDifference(
                      byGraph.output(i), eager.get(graph.outputNames().get(i))))
              .isZero();
        }
      }
    }
  }
}
