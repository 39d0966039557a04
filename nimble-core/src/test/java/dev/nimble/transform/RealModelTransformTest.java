package dev.nimble.transform;

import static org.assertj.core.api.Assertions.assertThat;

import dev.nimble.graph.DataType;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.testkit.OnnxRuntimeOracle;
import dev.nimble.testkit.RandomTensors;
import dev.nimble.testkit.RealModels;
import dev.nimble.testkit.ReferenceExecutor;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The six real models: what is left of them, and that it equals ONNX Runtime. */
class RealModelTransformTest {
  @ParameterizedTest
  @EnumSource(RealModels.class)
  void transformedModelsAreSmallerAndEqualOnnxRuntime(RealModels model) {
    Graph graph = model.model().graph(model.dimensions(0));
    Transformation transformation = Transforms.all().trace(graph);
    Graph transformed = transformation.graph();
    System.out.printf("%s%n%s%s%n", model, transformation.explain(), operators(transformed));
    assertThat(transformed.nodes().size())
        .as(transformation.explain())
        .isLessThan(graph.nodes().size() / 2);
    assertThat(Transforms.all().apply(transformed)).isSameAs(transformed);
    assertThat(operators(transformed).keySet())
        .doesNotContain("Shape", "Identity", "BatchNormalization", "Gelu");

    Map<String, TensorType> types = new LinkedHashMap<>();
    graph.inputs().forEach(input -> types.put(input.name(), input.type()));
    Map<String, Tensor> inputs = RealModels.inputs(types, 42);
    List<Tensor> expected = OnnxRuntimeOracle.run(model.bytes(), inputs);
    List<Tensor> actual = ReferenceExecutor.run(transformed, new ArrayList<>(inputs.values()));
    for (int i = 0; i < expected.size(); i++) {
      assertThat(RandomTensors.largestDifference(actual.get(i), expected.get(i)))
          .as("output %s", graph.outputNames().get(i))
          .isLessThanOrEqualTo(1e-4);
    }
  }

  @Test
  void shapeArithmeticOfMiniLmVanishes() {
    RealModels model = RealModels.MINILM;
    Graph graph = Transforms.all().apply(model.model().graph(model.dimensions(0)));
    for (Node node : graph.nodes()) { // what is left on integers shows an input in another shape
      if (node.outputs().stream().anyMatch(v -> v.type().dataType() == DataType.I64)) {
        assertThat(node.operator().name()).as(node.toString()).isEqualTo("Reshape");
        assertThat(node.inputs().get(0).kind()).as(node.toString()).isEqualTo(Value.Kind.INPUT);
      }
    }
    assertThat(operators(graph).get("Gather")).as("embeddings").isLessThanOrEqualTo(3);
    assertThat(operators(graph).get("LayerNormalization")).isEqualTo(13);
  }

  private static Map<String, Integer> operators(Graph graph) {
    Map<String, Integer> counts = new TreeMap<>();
    graph.nodes().forEach(node -> counts.merge(node.operator().name(), 1, Integer::sum));
    return counts;
  }
}
