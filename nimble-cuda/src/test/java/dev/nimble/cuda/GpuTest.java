package dev.nimble.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.nimble.cuda.record.CudaRecording;
import dev.nimble.device.Device;
import dev.nimble.device.DeviceContract;
import dev.nimble.device.DeviceProvider;
import dev.nimble.device.Recording;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Tensor;
import dev.nimble.schedule.Policies;
import dev.nimble.testkit.RandomGraphs;
import dev.nimble.testkit.RandomTensors;
import dev.nimble.testkit.ReferenceExecutor;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * What every device must do, on a real GPU. Only in a process of its own, asked for by {@code
 * -Dnimble.gpu=true}: where the emulator is loaded there can be no other driver.
 */
@Tag("gpu")
@EnabledIfSystemProperty(
    named = "nimble.gpu",
    matches = "true",
    disabledReason = "needs a GPU: see docs/gpu-testing.md")
class GpuTest extends DeviceContract {
  @BeforeAll
  static void examine() {
    Doctor.examine().forEach(System.out::println);
    DeviceProvider.Availability availability = new CudaDeviceProvider().availability();
    assertThat(availability.available()).as(availability.description()).isTrue();
  }

  @Override
  protected Device open() {
    return new CudaDeviceProvider().open(0);
  }

  @Test
  void librariesAndOwnKernelsAgreeWithTheReferenceInEveryMode() {
    for (Graph graph : List.of(TestGraphs.libraries(), TestGraphs.columns(60, 6))) {
      List<Tensor> inputs = RandomGraphs.inputs(graph, new Random(3));
      List<Tensor> expected = ReferenceExecutor.run(graph, inputs);
      for (CudaRecording.Mode mode : CudaRecording.Mode.values()) {
        for (boolean libraries : new boolean[] {true, false}) {
          try (Device device = libraries ? TestDevice.of(mode) : TestDevice.withoutLibraries(mode);
              Recording recording =
                  device.record(TestGraphs.plan(device, graph, Policies.nimble()))) {
            for (int step = 0; step < 100; step++) {
              recording.input(0).copyFrom(inputs.get(0));
              recording.replay();
            }
            for (int i = 0; i < expected.size(); i++) {
              assertThat(RandomTensors.largestDifference(recording.output(i), expected.get(i)))
                  .as("%s, %s, libraries %s", graph.name(), mode, libraries)
                  .isLessThan(1e-4);
            }
          }
        }
      }
    }
  }

  /** The host's part of a step and the whole of it, printed beside eager execution. */
  @Test
  void timesOfAStepArePrinted() {
    for (int operators : new int[] {10, 100, 1_000, 10_000}) {
      Graph graph = TestGraphs.columns(operators, 3);
      try (Device device = TestDevice.of(CudaRecording.Mode.GRAPH);
          Device streams = TestDevice.of(CudaRecording.Mode.STREAMS);
          Recording byGraph = device.record(TestGraphs.plan(device, graph, Policies.nimble()));
          Recording single =
              device.record(TestGraphs.plan(device, graph, Policies.singleStream()));
          Recording byStreams =
              streams.record(TestGraphs.plan(streams, graph, Policies.nimble()))) {
        System.out.printf(
            "%,7d operators, ns a step: graph %,d, graph on one stream %,d, stream by stream %,d%n",
            operators, median(byGraph), median(single), median(byStreams));
      }
    }
  }

  private static long median(Recording recording) {
    long[] nanos = new long[101];
    for (int i = 0; i < nanos.length; i++) {
      long begin = System.nanoTime();
      recording.replay();
      nanos[i] = System.nanoTime() - begin;
    }
    Arrays.sort(nanos);
    return nanos[nanos.length / 2];
  }
}
