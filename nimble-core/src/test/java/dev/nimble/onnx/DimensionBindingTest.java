package dev.nimble.onnx;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.nimble.error.InvalidArgumentException;
import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Shape;
import dev.nimble.testkit.RealModels;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class DimensionBindingTest {
  private static OnnxModel model(Object... dimensions) {
    return new ModelMaker(13).input("x", dimensions).node("Relu", "x", "y").output("y").model();
  }

  private static Shape bound(OnnxModel model, Map<String, Integer> dimensions) {
    return model.graph(dimensions).inputs().get(0).type().shape();
  }

  @Test
  void aSymbolBindsEveryAxisThatHasIt() {
    assertThat(bound(model("n", 3, "n"), Map.of("n", 5))).isEqualTo(Shape.of(5, 3, 5));
  }

  @Test
  void theMoreParticularNameWins() {
    OnnxModel model = model("n", 3, "n");
    assertThat(bound(model, Map.of("n", 5, "x.2", 7))).isEqualTo(Shape.of(5, 3, 7));
    assertThat(bound(model, Map.of("n", 5, "*.2", 7))).isEqualTo(Shape.of(5, 3, 7));
    assertThat(bound(model, Map.of("*.0", 4, "*.2", 7, "x.2", 8))).isEqualTo(Shape.of(4, 3, 8));
    assertThat(bound(model, Map.of("n", 2, "*.1", 9))).isEqualTo(Shape.of(2, 3, 2));
  }

  @Test
  void axesWithoutSymbolAreNamedByInputAndAxis() {
    OnnxModel model = model("", 3, "?", -1);
    assertThat(model.symbolicDimensions()).containsExactly("x.0", "x.2", "x.3");
    assertThat(bound(model, Map.of("x.0", 1, "x.2", 32, "x.3", 64)))
        .isEqualTo(Shape.of(1, 3, 32, 64));
  }

  @Test
  void anExtentOfZeroIsAnExtent() {
    assertThat(bound(model("n", 0), Map.of("n", 0))).isEqualTo(Shape.of(0, 0));
  }

  @Test
  void anUnboundDimensionIsNamedWithTheWaysToBindIt() {
    assertThatThrownBy(() -> model("n", 3, "").graph(Map.of()))
        .isInstanceOf(InvalidModelException.class)
        .hasMessage(
            "made.onnx: axis 0 ('n') of input x: f32[n, 3, ?] is not bound; bind it by the name n"
                + " or x.0 (1 more are open)");
    assertThatThrownBy(() -> model("n", 3, "").graph(Map.of("n", 1)))
        .isInstanceOf(InvalidModelException.class)
        .hasMessage(
            "made.onnx: axis 2 of input x: f32[n, 3, ?] is not bound; bind it by the name x.2");
  }

  @Test
  void aNameOrExtentThatCannotBeIsTheCallersError() {
    assertThatThrownBy(() -> model("n", 3).graph(Map.of("n", 1, "m", 2)))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessage("made.onnx: the model has no dimension 'm'; open are [n]");
    assertThatThrownBy(() -> model("n", 3).graph(Map.of("n", -1)))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessage("made.onnx: dimension n cannot be -1");
    assertThatThrownBy(() -> model("n", 3).graph(Map.of("n", 1, "x.1", 4)))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessage("made.onnx: x.1 is fixed at 3 by the model, not 4");
    assertThatThrownBy(() -> model("n", 3).graph(Map.of("n", 1_000_000_000)))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessageContaining("input 'x': shape [1000000000, 3] has more than 2^31 - 1 elements");
  }

  @Test
  void wholeShapesBindEveryAxis() {
    OnnxModel model = model("n", 3, "n");
    assertThat(model.graphOfShapes(Map.of("x", Shape.of(4, 3, 6))).inputs().get(0).type().shape())
        .isEqualTo(Shape.of(4, 3, 6));
    assertThatThrownBy(() -> model.graphOfShapes(Map.of("z", Shape.of(1))))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessage("made.onnx: the model has no input 'z'; it has [x: f32[n, 3, n]]");
    assertThatThrownBy(() -> model.graphOfShapes(Map.of("x", Shape.of(4, 3))))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessage("made.onnx: input x: f32[n, 3, n] cannot have the shape [4,3]");
    assertThatThrownBy(() -> model.graphOfShapes(Map.of("x", Shape.of(4, 2, 6))))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessage("made.onnx: x.1 is fixed at 3 by the model, not 2");
  }

  @Test
  void anInitializerIsADefaultNotAnInput() {
    OnnxModel model =
        new ModelMaker(8)
            .input("x", 2)
            .input("w", 2)
            .initializer("w", dev.nimble.graph.Tensor.of(Shape.of(2), 1, 2))
            .node("Add", "x,w", "y")
            .output("y")
            .model();
    assertThat(model.inputs()).extracting(ModelInput::name).containsExactly("x");
    assertThat(model.graph(Map.of()).inputs()).hasSize(1);
  }

  @Test
  void theRealModelsSayWhatTheyNeed() {
    OnnxModel minilm = RealModels.MINILM.model();
    assertThat(minilm.opset()).isEqualTo(14);
    assertThat(minilm.nodeCount()).isEqualTo(692);
    assertThat(minilm.inputs())
        .extracting(ModelInput::name)
        .containsExactly("input_ids", "attention_mask", "token_type_ids");
    Graph graph = minilm.graph(Map.of("*.0", 2, "*.1", 5));
    assertThat(graph.inputs()).allMatch(i -> i.type().shape().equals(Shape.of(2, 5)));
    assertThat(graph.outputNames()).isEqualTo(minilm.outputs());

    OnnxModel det = RealModels.PPOCR_DET_V4.model();
    assertThat(det.opset()).isEqualTo(12);
    assertThat(det.nodeCount()).isEqualTo(672);
    assertThat(det.symbolicDimensions())
        .containsExactly(
            "p2o.DynamicDimension.0", "p2o.DynamicDimension.1", "p2o.DynamicDimension.2");
    assertThat(RealModels.PPOCR_DET_V3.model().symbolicDimensions())
        .containsExactly("x.0", "x.2", "x.3");
    // a Constant node becomes a constant, every other node stays a node
    Graph imported = det.graph(Map.of("x.0", 1, "x.2", 64, "x.3", 96));
    List<String> kinds =
        imported.nodes().stream().map(n -> n.operator().name()).collect(Collectors.toList());
    assertThat(kinds).hasSize(330).doesNotContain("Constant");
  }
}
