package dev.nimble.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.onnx.OnnxModel;
import dev.nimble.op.Conv;
import dev.nimble.op.Elementwise;
import dev.nimble.op.KernelChoice;
import dev.nimble.op.KernelChoices;
import dev.nimble.op.Reshape;
import dev.nimble.op.ResourceDemand;
import dev.nimble.testkit.RandomPlans;
import dev.nimble.testkit.RealModels;
import java.util.stream.IntStream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class RealModelArenaTest {
  @ParameterizedTest
  @EnumSource(RealModels.class)
  void oneStreamStaysWithinFiveHundredthsOfTheLowerBound(RealModels model) {
    OnnxModel imported = model.model();
    for (int shape = 0; shape < 2; shape++) {
      Graph graph = imported.graph(model.dimensions(shape));
      assertTight(graph, KernelChoices.of("plain", graph, n -> plain()));
      assertTight(graph, KernelChoices.of("rich", graph, RealModelArenaTest::rich));
    }
  }

  private static void assertTight(Graph graph, KernelChoices kernels) {
    int[] streamOf = new int[graph.nodes().size()];
    MemoryPlan plan =
        MemoryPlanner.plan(graph, kernels, RandomPlans.schedule(graph, streamOf, graph.nodes(), 1));
    assertThat(plan.arenaBytes())
        .isBetween(plan.lowerBoundBytes(), plan.lowerBoundBytes() * 105 / 100);
    assertThat(plan.arenaBytes()).isLessThan(plan.naiveBytes() / 5);
  }

  private static KernelChoice plain() {
    return KernelChoice.of("k", ResourceDemand.NONE);
  }

  /** What a device might offer: views, elementwise in place, workspaces of convolutions. */
  private static KernelChoice rich(Node node) {
    if (node.operator() instanceof Reshape) {
      return plain().asView();
    }
    if (node.operator() instanceof Conv) {
      return plain().withWorkspace(node.output().type().sizeBytes() / 2);
    }
    if (node.operator() instanceof Elementwise) {
      return plain()
          .inPlaceOver(
              IntStream.range(0, node.inputs().size())
                  .filter(i -> node.inputs().get(i).type().equals(node.output().type()))
                  .boxed()
                  .toList());
    }
    return plain();
  }
}
