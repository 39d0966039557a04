package dev.nimble.planfile;

import static org.assertj.core.api.Assertions.assertThat;

import dev.nimble.EngineOptions;
import dev.nimble.Nimble;
import dev.nimble.device.Device;
import dev.nimble.device.cpu.CpuDeviceProvider;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import dev.nimble.op.FusedElementwise;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.plan.Tuning;
import dev.nimble.testkit.RandomGraphs;
import dev.nimble.testkit.ReferenceExecutor;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * A plan file of each version of the format stays readable: {@code plans/version-1.plan} was
 * written once, by {@link #main}, with its outputs in {@code plans/version-1.txt}. Its kernels may
 * be of the past; so its graph is run by the reference kernels.
 */
class GoldenPlanTest {
  /** Writes the golden files of this version into a folder; only when the version is new. */
  public static void main(String[] arguments) throws IOException {
    Path folder = Path.of(arguments[0]);
    try (Device device = new CpuDeviceProvider(2).open(0)) {
      ExecutionPlan plan;
      int seed = 0;
      do { // until there is something of everything
        Graph graph =
            RandomGraphs.of(new Random(seed++), RandomGraphs.Style.ofNodes(60).withJumps());
        plan = Nimble.plan(graph, device, EngineOptions.defaults());
      } while (plan.graph().nodes().size() < 25
          || plan.streams() < 3
          || plan.graph().outputs().size() < 3
          || plan.memory().views().isEmpty()
          || plan.graph().nodes().stream()
              .noneMatch(n -> n.operator() instanceof FusedElementwise));
      SavedPlan saved = new SavedPlan(plan, "cpu", Tuning.NONE);
      PlanFile.write(
          folder.resolve("version-" + PlanFile.VERSION + ".plan"), saved, PlanWeights.inline());
      Files.write(
          folder.resolve("version-" + PlanFile.VERSION + ".txt"), outputs(saved.plan().graph()));
    }
  }

  /** The outputs for inputs that rise from -1 to 1: a line an output. */
  private static List<String> outputs(Graph graph) {
    List<Tensor> inputs = new ArrayList<>();
    for (Value input : graph.inputs()) {
      Tensor tensor = Tensor.zeros(input.type());
      for (int i = 0; i < input.type().elements(); i++) {
        tensor.setDouble(i, 2.0 * i / input.type().elements() - 1);
      }
      inputs.add(tensor);
    }
    List<String> lines = new ArrayList<>();
    List<Tensor> outputs = ReferenceExecutor.run(graph, inputs);
    for (int k = 0; k < outputs.size(); k++) {
      StringBuilder line = new StringBuilder(graph.outputNames().get(k));
      for (int i = 0; i < Math.min(40, outputs.get(k).type().elements()); i++) {
        line.append(' ').append((float) outputs.get(k).getDouble(i));
      }
      lines.add(line.toString());
    }
    return lines;
  }

  private static Path resource(String name) throws URISyntaxException {
    return Path.of(GoldenPlanTest.class.getResource("/plans/" + name).toURI());
  }

  @Test
  void theFileOfVersionOneIsStillReadAndComputesWhatItDid() throws Exception {
    SavedPlan saved = PlanFile.read(resource("version-1.plan"));
    assertThat(saved.target()).isEqualTo("cpu");
    assertThat(saved.plan().graph().nodes()).hasSizeGreaterThan(20);
    assertThat(saved.plan().streams()).isGreaterThan(1);
    List<String> expected = Files.readAllLines(resource("version-1.txt"));
    List<String> actual = outputs(saved.plan().graph());
    assertThat(actual).hasSameSizeAs(expected);
    for (int i = 0; i < expected.size(); i++) {
      String[] wanted = expected.get(i).split(" ");
      String[] found = actual.get(i).split(" ");
      assertThat(found[0]).isEqualTo(wanted[0]);
      assertThat(found).hasSameSizeAs(wanted);
      for (int k = 1; k < wanted.length; k++) {
        double value = Double.parseDouble(wanted[k]);
        assertThat(Double.parseDouble(found[k]))
            .as("output %s, element %d", wanted[0], k - 1)
            .isCloseTo(
                value, org.assertj.core.data.Offset.offset(1e-5 * Math.max(1, Math.abs(value))));
      }
    }
  }
}
