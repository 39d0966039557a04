package dev.nimble.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.common.collect.ImmutableSortedMap;
import dev.nimble.Engine;
import dev.nimble.Nimble;
import dev.nimble.cuda.emulator.Emulator;
import dev.nimble.cuda.emulator.OnEmulator;
import dev.nimble.cuda.kernel.DiskCache;
import dev.nimble.cuda.library.Libraries;
import dev.nimble.cuda.record.CudaRecording;
import dev.nimble.device.Device;
import dev.nimble.device.Devices;
import dev.nimble.error.InvalidPlanException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Tensor;
import dev.nimble.plan.Tuning;
import dev.nimble.planfile.PlanFile;
import dev.nimble.planfile.SavedPlan;
import dev.nimble.schedule.Policies;
import dev.nimble.testkit.RandomGraphs;
import dev.nimble.testkit.RandomTensors;
import java.nio.file.Path;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Plan files of the CUDA device. */
@OnEmulator
class SavedPlanTest {
  private static final Graph GRAPH = TestGraphs.libraries();
  private static final Map<String, Tensor> INPUTS =
      Map.of("x", RandomGraphs.inputs(GRAPH, new Random(2)).get(0));

  @TempDir private Path folder;

  /** A device that finds nothing on disk. */
  private static Device open() {
    return TestDevice.open(0, CudaRecording.Mode.GRAPH, Libraries.ALL, new DiskCache(null));
  }

  /** Saves a plan, and returns what it computes. */
  private static Map<String, Tensor> save(Device device, Path file) {
    try (Engine engine = Nimble.prepare(GRAPH, device, TestGraphs.options(Policies.nimble()))) {
      engine.save(file);
      return engine.run(INPUTS);
    }
  }

  @Test
  void aSavedPlanKeepsTheAlgorithmsThatWereMeasured() {
    Path file = folder.resolve("libraries.plan");
    Map<String, Tensor> expected;
    try (Device device = open()) {
      expected = save(device, file);
    }
    assertThat(Emulator.calls()).containsKey("cudnnFindConvolutionForwardAlgorithmEx");
    Emulator.reset();
    try (Device device = open();
        Engine engine = Nimble.load(file, device)) {
      assertThat(Emulator.calls().keySet()).noneMatch(call -> call.startsWith("cudnnFind"));
      Map<String, Tensor> outputs = engine.run(INPUTS);
      expected.forEach(
          (name, tensor) ->
              assertThat(RandomTensors.largestDifference(outputs.get(name), tensor)).isZero());
      engine.save(folder.resolve("again.plan"));
    }
    assertThat(PlanFile.read(folder.resolve("again.plan")).tuning())
        .isEqualTo(PlanFile.read(file).tuning());
  }

  @Test
  void algorithmsThatAreNotThePlansAreRefused() {
    Path file = folder.resolve("libraries.plan");
    try (Device device = open()) {
      save(device, file);
      SavedPlan saved = PlanFile.read(file);
      assertThat(saved.tuning().entries()).hasSize(2);
      for (String lie : new String[] {"7 0 0", "1 999999999999999999 0", "9999 0 0"}) {
        TreeMap<String, String> entries = new TreeMap<>(saved.tuning().entries());
        entries.replaceAll((convolution, algorithm) -> lie);
        Tuning tuning = new Tuning(ImmutableSortedMap.copyOfSorted(entries));
        SavedPlan other = new SavedPlan(saved.plan(), saved.target(), tuning);
        assertThatThrownBy(() -> Nimble.load("libraries.plan", other, device))
            .isInstanceOf(InvalidPlanException.class)
            .hasMessageContainingAll("libraries.plan", "node 'conv'", "the plan has kernel");
      }
      assertThat(device.openResources()).isZero();
    }
  }

  @Test
  void aPlanForTheHostIsRefused() {
    Path file = folder.resolve("host.plan");
    try (Device host = Devices.open("cpu")) {
      save(host, file);
    }
    try (Device device = open()) {
      assertThatThrownBy(() -> Nimble.load(file, device))
          .isInstanceOf(InvalidPlanException.class)
          .hasMessageContainingAll(
              "host.plan", "was made for the device 'cpu", "cuda Emulated GPU");
    }
  }
}
