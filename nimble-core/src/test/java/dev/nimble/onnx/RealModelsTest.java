package dev.nimble.onnx;

import static org.assertj.core.api.Assertions.assertThat;

import dev.nimble.graph.Graph;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.testkit.OnnxRuntimeOracle;
import dev.nimble.testkit.RandomTensors;
import dev.nimble.testkit.RealModels;
import dev.nimble.testkit.ReferenceExecutor;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/** The six real models, by the reference kernels, against ONNX Runtime. */
class RealModelsTest {
  @TestFactory
  Stream<DynamicTest> everyModelEqualsOnnxRuntime() {
    return Stream.of(RealModels.values())
        .flatMap(
            m ->
                Stream.of(0, 1)
                    .map(
                        shape ->
                            DynamicTest.dynamicTest(
                                m + " at " + m.dimensions(shape), () -> check(m, shape))));
  }

  private static void check(RealModels real, int shape) {
    Graph graph = real.model().graph(real.dimensions(shape));
    Map<String, TensorType> types = new LinkedHashMap<>();
    graph.inputs().forEach(input -> types.put(input.name(), input.type()));
    Map<String, Tensor> inputs = RealModels.inputs(types, 42 + shape);
    List<Tensor> expected = OnnxRuntimeOracle.run(real.bytes(), inputs);
    List<Tensor> actual = ReferenceExecutor.run(graph, new ArrayList<>(inputs.values()));
    assertThat(actual).hasSameSizeAs(expected);
    for (int i = 0; i < expected.size(); i++) {
      assertThat(actual.get(i).type()).isEqualTo(expected.get(i).type());
      assertThat(RandomTensors.largestDifference(actual.get(i), expected.get(i)))
          .as("output %s", graph.outputNames().get(i))
          .isLessThanOrEqualTo(1e-4);
    }
  }
}
