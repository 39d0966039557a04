package dev.nimble.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.nimble.Engine;
import dev.nimble.EngineOptions;
import dev.nimble.Nimble;
import dev.nimble.cuda.emulator.Emulator;
import dev.nimble.cuda.emulator.OnEmulator;
import dev.nimble.cuda.record.CudaRecording;
import dev.nimble.device.Device;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.schedule.Policies;
import dev.nimble.schedule.SchedulingPolicy;
import dev.nimble.testkit.RandomTensors;
import dev.nimble.testkit.RealModels;
import dev.nimble.testkit.ReferenceExecutor;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * The real networks on the emulated GPU, through JCuda's own natives: equal to the reference
 * kernels in whatever order the emulator runs what no event orders.
 */
@OnEmulator
class CudaModelsTest {
  private static final int SEEDS = 50;
  private static final int PAUSE_MICROS = 20;
  private static final double TOLERANCE = 1e-4;

  @ParameterizedTest
  @EnumSource
  void everyPolicyEqualsTheReferenceUnderRandomDelays(RealModels network) {
    Graph graph = network.model().graph(network.dimensions(0));
    Map<String, TensorType> types = new LinkedHashMap<>();
    graph.inputs().forEach(input -> types.put(input.name(), input.type()));
    Map<String, Tensor> inputs = RealModels.inputs(types, 7);
    List<Tensor> expected = ReferenceExecutor.run(graph, List.copyOf(inputs.values()));
    try (Device device = TestDevice.of(CudaRecording.Mode.GRAPH)) {
      for (SchedulingPolicy policy : List.of(Policies.singleStream(), Policies.nimble())) {
        EngineOptions options = EngineOptions.defaults().withPolicy(policy);
        try (Engine engine = Nimble.prepare(graph, device, options)) {
          for (int seed = 0; seed < SEEDS; seed++) {
            Emulator.delays(seed, PAUSE_MICROS);
            Map<String, Tensor> outputs = engine.run(inputs);
            for (int i = 0; i < expected.size(); i++) {
              String output = graph.outputNames().get(i);
              assertThat(RandomTensors.largestDifference(outputs.get(output), expected.get(i)))
                  .as("%s, %s, seed %d, %s", network, policy.name(), seed, output)
                  .isLessThan(TOLERANCE);
            }
          }
        }
      }
    }
  }
}
