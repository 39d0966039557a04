package dev.nimble.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.nimble.graph.DataType;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

class RandomGraphsTest {
  @Test
  void graphsDependOnNothingButTheSeed() {
    for (int seed = 0; seed < 20; seed++) {
      RandomGraphs.Style style = RandomGraphs.Style.ofNodes(30).withJumps().withVariables();
      assertThat(RandomGraphs.of(new Random(seed), style).toString())
          .isEqualTo(RandomGraphs.of(new Random(seed), style).toString());
    }
  }

  @Test
  void graphsRunWithModerateResults() {
    DataType[] types = {DataType.F32, DataType.F64, DataType.F16};
    Seeds.forEach(
        300,
        (random, seed) -> {
          RandomGraphs.Style style =
              new RandomGraphs.Style(
                  1 + random.nextInt(40),
                  random.nextBoolean(),
                  random.nextBoolean(),
                  types[random.nextInt(3)]);
          Graph graph = RandomGraphs.of(random, style);
          ReferenceExecutor executor = new ReferenceExecutor(graph);
          for (int step = 0; step < 3; step++) {
            for (Tensor output : executor.step(RandomGraphs.inputs(graph, random))) {
              for (int i = 0; i < output.type().elements(); i++) {
                assertThat(Math.abs(output.getDouble(i))).as(graph.toString()).isLessThan(100);
              }
            }
          }
        });
  }

  @Test
  void graphsCoverTheOperatorsAndShapesOfGraphs() {
    Set<String> operators = new TreeSet<>();
    int constantOutputs = 0;
    int inputOutputs = 0;
    int severalOutputs = 0;
    int dead = 0;
    int forks = 0;
    for (int seed = 0; seed < 200; seed++) {
      RandomGraphs.Style style = RandomGraphs.Style.ofNodes(40).withJumps().withVariables();
      Graph graph = RandomGraphs.of(new Random(seed), style);
      graph.nodes().forEach(node -> operators.add(node.operator().name()));
      List<Value.Kind> kinds = graph.outputs().stream().map(Value::kind).toList();
      constantOutputs += kinds.contains(Value.Kind.CONSTANT) ? 1 : 0;
      inputOutputs += kinds.contains(Value.Kind.INPUT) ? 1 : 0;
      severalOutputs += graph.outputs().size() > 1 ? 1 : 0;
      forks += graph.nodes().stream().anyMatch(n -> graph.successors(n).size() > 2) ? 1 : 0;
      dead +=
          graph.nodes().stream()
                  .anyMatch(
                      n ->
                          graph.successors(n).isEmpty()
                              && n.operator().mutatedInputs().isEmpty()
                              && n.outputs().stream().noneMatch(graph.outputs()::contains))
              ? 1
              : 0;
    }
    assertThat(List.of(constantOutputs, inputOutputs, severalOutputs, dead, forks))
        .allMatch(count -> count > 5);
    assertThat(operators)
        .contains("Conv", "ConvTranspose", "BatchNormalization", "MatMul", "Gemm", "Softmax")
        .contains("LayerNormalization", "Concat", "Split", "Reshape", "Transpose", "Slice")
        .contains("Pad", "Tile", "Expand", "Gather", "Resize", "MaxPool", "GlobalAveragePool")
        .contains("ReduceSum", "Where", "Cast", "Less", "And", "Not", "Assign", "AssignAdd")
        .contains("Identity", "Div", "Pow", "Gelu", "Clip", "ArgMax", "ArgMin");
  }
}
