package dev.nimble.transform;

import static dev.nimble.transform.Rewritten.apply;
import static dev.nimble.transform.Rewritten.graphOf;
import static dev.nimble.transform.Rewritten.input;
import static dev.nimble.transform.Rewritten.number;
import static dev.nimble.transform.Rewritten.weights;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Node;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.Assign;
import dev.nimble.op.BatchNormalization;
import dev.nimble.op.BinaryFunction;
import dev.nimble.op.Concat;
import dev.nimble.op.Conv;
import dev.nimble.op.ConvTranspose;
import dev.nimble.op.Gemm;
import dev.nimble.op.MatMul;
import dev.nimble.op.Unary;
import dev.nimble.op.UnaryFunction;
import dev.nimble.op.Window;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ChannelScalingTest {
  private final GraphBuilder g = graphOf();

  private Value conv(Value x, int filters, int group, boolean biased) {
    Value w = weights(g, filters, x.type().shape().extent(1) / group, 3, 3);
    Conv conv = new Conv(Window.square(1, 1), group);
    return biased ? g.apply(conv, x, w, weights(g, filters)) : g.apply(conv, x, w);
  }

  private Value batchNorm(Value x) {
    int channels = x.type().shape().extent(1);
    return g.apply(
        new BatchNormalization(1e-3f),
        x,
        weights(g, channels),
        weights(g, channels),
        weights(g, channels),
        weights(g, channels));
  }

  private Rewritten rewritten(Value... outputs) {
    for (int i = 0; i < outputs.length; i++) {
      g.output("y" + i, outputs[i]);
    }
    return Rewritten.by(Pass.CONV_BATCH_NORM, g);
  }

  @ParameterizedTest
  @CsvSource({"6, 1, true", "6, 1, false", "6, 2, true", "8, 4, false"})
  void foldsBatchNormalizationIntoConv(int filters, int group, boolean biased) {
    rewritten(batchNorm(conv(input(g, 2, 4, 5, 5), filters, group, biased))).hasOperators("Conv");
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void foldsBatchNormalizationIntoConvTranspose(int group) {
    Value w = weights(g, 4, 3, 2, 2);
    ConvTranspose operator =
        new ConvTranspose(Window.square(2, 0), ImmutableIntArray.of(0, 0), group, null);
    Value y = g.apply(operator, input(g, 1, 4, 3, 3), w);
    rewritten(batchNorm(y)).hasOperators("ConvTranspose");
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void foldsBatchNormalizationIntoGemm(boolean transB) {
    Value w = transB ? weights(g, 5, 4) : weights(g, 4, 5);
    Gemm gemm = new Gemm(0.5f, 0.25f, false, transB, null);
    Value y = g.apply(gemm, input(g, 3, 4), w, weights(g, 1, 5));
    rewritten(batchNorm(y)).hasOperators("Gemm");
  }

  @Test
  void foldsBatchNormalizationIntoMatMul() {
    rewritten(batchNorm(g.apply(new MatMul(), input(g, 3, 4), weights(g, 4, 5))))
        .hasOperators("MatMul");
  }

  @ParameterizedTest
  @CsvSource({"MUL, 0", "MUL, 1", "ADD, 0", "ADD, 1", "SUB, 0", "SUB, 1", "DIV, 0"})
  void foldsArithmeticWithConstantsOfEachChannel(BinaryFunction function, int position) {
    Value y = conv(input(g, 1, 2, 4, 4), 3, 1, true);
    Value other = weights(g, 3, 1, 1);
    Value z = position == 0 ? apply(g, function, y, other) : apply(g, function, other, y);
    rewritten(apply(g, function, z, number(g, 1.5))).hasOperators("Conv");
  }

  @Test
  void foldsAScaleOfColumnsIntoMatMulOfAnyRank() {
    Value y = g.apply(new MatMul(), input(g, 2, 3, 4), weights(g, 4, 5));
    rewritten(apply(g, BinaryFunction.MUL, y, weights(g, 5))).hasOperators("MatMul");
  }

  @Test
  void keepsTheWeightsWhereOnlyABiasIsAdded() {
    Value w = weights(g, 4, 5);
    Value y = g.apply(new MatMul(), input(g, 2, 3, 4), w);
    Node node =
        rewritten(apply(g, BinaryFunction.ADD, y, weights(g, 5)))
            .hasOperatorsExactly("MatMul")
            .graph()
            .nodes()
            .get(0);
    assertThat(node.inputs().get(1).contents()).isSameAs(w.contents());
  }

  @Test
  void foldsThroughConcat() {
    Value x = input(g, 1, 4, 5, 5);
    Value joined = g.apply(new Concat(1), conv(x, 2, 1, true), conv(x, 3, 1, false));
    rewritten(batchNorm(joined)).hasOperators("Conv", "Conv", "Concat");
  }

  @Test
  void foldsThroughConcatAndScalesAfterIt() {
    Value x = input(g, 1, 4, 5, 5);
    Value joined = g.apply(new Concat(-3), conv(x, 2, 1, true), conv(x, 3, 1, false));
    Value scaled = apply(g, BinaryFunction.MUL, batchNorm(joined), weights(g, 1, 5, 1, 1));
    g.output("y", scaled);
    Rewritten.byAll(g).hasOperators("Conv", "Conv", "Concat");
  }

  @Test
  void leavesAConcatOfSomethingElse() {
    Value x = input(g, 1, 4, 5, 5);
    Value other = g.apply(Unary.of(UnaryFunction.RELU), x);
    rewritten(batchNorm(g.apply(new Concat(1), conv(x, 2, 1, true), other))).isUnchanged();
  }

  @Test
  void leavesAConcatAlongAnotherAxis() {
    Value x = input(g, 1, 4, 5, 5);
    Value joined = g.apply(new Concat(2), conv(x, 3, 1, true), conv(x, 3, 1, false));
    rewritten(batchNorm(joined)).isUnchanged();
  }

  @Test
  void leavesAConcatOfOneConvTwice() {
    Value y = conv(input(g, 1, 4, 5, 5), 3, 1, true);
    rewritten(batchNorm(g.apply(new Concat(1), y, y))).isUnchanged();
  }

  @Test
  void leavesAConcatPartThatIsReadElsewhere() {
    Value x = input(g, 1, 4, 5, 5);
    Value y = conv(x, 3, 1, true);
    rewritten(batchNorm(g.apply(new Concat(1), y, conv(x, 2, 1, true))), y).isUnchanged();
  }

  @Test
  void leavesAConvThatAnotherNodeReads() {
    Value y = conv(input(g, 1, 2, 4, 4), 3, 1, true);
    rewritten(batchNorm(y), g.apply(Unary.of(UnaryFunction.RELU), y)).isUnchanged();
  }

  @Test
  void leavesAConvThatIsAnOutput() {
    Value y = conv(input(g, 1, 2, 4, 4), 3, 1, true);
    rewritten(batchNorm(y), y).isUnchanged();
  }

  @Test
  void leavesStatisticsThatAreNotConstant() {
    Value y = conv(input(g, 1, 2, 4, 4), 3, 1, true);
    Value mean = g.input("mean", TensorType.f32(3));
    Value c = weights(g, 3);
    rewritten(g.apply(new BatchNormalization(1e-3f), y, c, c, mean, c)).isUnchanged();
  }

  @Test
  void leavesConstantsAlongAnotherAxis() {
    Value y = conv(input(g, 1, 2, 3, 3), 3, 1, true);
    rewritten(
            apply(g, BinaryFunction.MUL, y, weights(g, 3)), // of each column
            apply(g, BinaryFunction.ADD, conv(g.input("z", y.type()), 3, 1, true), y))
        .isUnchanged();
  }

  @Test
  void leavesAScaleThatBroadcastsTheResult() {
    Value y = conv(input(g, 1, 2, 4, 4), 3, 1, true);
    rewritten(apply(g, BinaryFunction.MUL, y, weights(g, 2, 3, 1, 1))).isUnchanged();
  }

  @Test
  void leavesQuotientsByTheResultAndDivisionByZero() {
    Value y = conv(input(g, 1, 2, 4, 4), 3, 1, true);
    Value inverse = apply(g, BinaryFunction.DIV, number(g, 2), y);
    Value z = conv(inverse, 3, 1, true);
    rewritten(apply(g, BinaryFunction.DIV, z, number(g, 0))).isUnchanged();
  }

  @Test
  void leavesAConvWithActivation() {
    Value x = input(g, 1, 2, 4, 4);
    Conv conv = new Conv(Window.square(1, 1), 1, Unary.of(UnaryFunction.RELU));
    rewritten(batchNorm(g.apply(conv, x, weights(g, 3, 2, 3, 3)))).isUnchanged();
  }

  @Test
  void movesNoReadOfAVariableAcrossAnUpdate() {
    Value state = g.variable("state", Tensor.zeros(TensorType.f32(1, 2, 4, 4)));
    Value x = g.input("x", state.type());
    Value y = conv(state, 3, 1, true);
    g.add("update", new Assign(true), List.of(state, x));
    rewritten(batchNorm(y)).isUnchanged();
  }

  @Test
  void foldsReadersOfAVariableBeforeTheUpdate() {
    Value state = g.variable("state", Tensor.zeros(TensorType.f32(1, 2, 4, 4)));
    Value x = g.input("x", state.type());
    Value y = batchNorm(conv(state, 3, 1, true));
    g.add("update", new Assign(true), List.of(state, x));
    rewritten(y).hasOperators("Conv", "AssignAdd");
  }

  // -- into the product after it --

  private Value pointwise(Value x, int filters, int group) {
    Value w = weights(g, filters, x.type().shape().extent(1) / group, 1, 1);
    Conv conv = new Conv(Window.square(1, 0), group, Unary.of(UnaryFunction.SIGMOID));
    return g.apply(conv, x, w, weights(g, filters));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2})
  void foldsScalesAndShiftsIntoTheConvAfterThem(int group) {
    Value x = g.apply(Unary.of(UnaryFunction.TANH), input(g, 2, 4, 3, 3));
    Value y = apply(g, BinaryFunction.MUL, weights(g, 4, 1, 1), x);
    y = apply(g, BinaryFunction.SUB, number(g, 0.25), y);
    rewritten(pointwise(batchNorm(y), 6, group)).hasOperators("Tanh", "Conv");
  }

  @Test
  void foldsAWindowedConvWithoutPads() {
    Value y = apply(g, BinaryFunction.ADD, input(g, 1, 2, 5, 5), weights(g, 2, 1, 1));
    Conv conv = new Conv(Window.square(2, 0), 1);
    rewritten(g.apply(conv, y, weights(g, 3, 2, 3, 3))).hasOperators("Conv");
  }

  @Test
  void foldsOnlyScalesWhereAConvPads() {
    Value x = input(g, 1, 2, 4, 4);
    Value scaled = apply(g, BinaryFunction.MUL, x, weights(g, 2, 1, 1));
    Value shifted = apply(g, BinaryFunction.ADD, x, weights(g, 2, 1, 1));
    rewritten(conv(scaled, 3, 1, true), conv(shifted, 3, 1, true))
        .hasOperators("Add", "Conv", "Conv");
  }

  @Test
  void foldsOnlyScalesIntoTheConvTransposeAfterThem() {
    Value w = weights(g, 4, 3, 2, 2);
    ConvTranspose operator =
        new ConvTranspose(Window.square(2, 0), ImmutableIntArray.of(0, 0), 2, null);
    Value x = input(g, 1, 4, 3, 3);
    Value scaled = apply(g, BinaryFunction.MUL, x, weights(g, 4, 1, 1));
    Value shifted = apply(g, BinaryFunction.ADD, x, weights(g, 4, 1, 1));
    rewritten(g.apply(operator, scaled, w), g.apply(operator, shifted, w))
        .hasOperators("Add", "ConvTranspose", "ConvTranspose");
  }

  @ParameterizedTest
  @CsvSource({"true, true", "true, false", "false, true", "false, false"})
  void foldsScalesAndShiftsIntoTheGemmAfterThem(boolean transA, boolean transB) {
    Value x = transA ? input(g, 4, 3) : input(g, 3, 4);
    Value w = transB ? weights(g, 5, 4) : weights(g, 4, 5);
    Value y = apply(g, BinaryFunction.MUL, x, transA ? weights(g, 4, 1) : weights(g, 4));
    y = apply(g, BinaryFunction.ADD, y, transA ? weights(g, 4, 1) : weights(g, 4));
    Gemm gemm = new Gemm(0.5f, 0.25f, transA, transB, Unary.of(UnaryFunction.TANH));
    rewritten(g.apply(gemm, y, w, weights(g, 5))).hasOperators("Gemm");
  }

  @Test
  void foldsScalesAndShiftsIntoTheMatMulAfterThem() {
    Value y = apply(g, BinaryFunction.MUL, input(g, 2, 3, 4), weights(g, 4));
    y = apply(g, BinaryFunction.ADD, y, weights(g, 1));
    rewritten(g.apply(new MatMul(), y, weights(g, 4, 5))).hasOperators("MatMul");
  }

  @Test
  void leavesScalesThatSomethingElseReads() {
    Value y = apply(g, BinaryFunction.MUL, input(g, 2, 3, 4), weights(g, 4));
    rewritten(g.apply(new MatMul(), y, weights(g, 4, 5)), y).isUnchanged();
  }

  @Test
  void leavesScalesAlongAnAxisThatIsNotSummed() {
    Value y = apply(g, BinaryFunction.MUL, input(g, 2, 3, 4), weights(g, 3, 1));
    rewritten(g.apply(new MatMul(), y, weights(g, 4, 5))).isUnchanged();
  }

  @Test
  void leavesScalesOfAVariable() {
    Value state = g.variable("state", Tensor.zeros(TensorType.f32(3, 4)));
    Value y = apply(g, BinaryFunction.MUL, state, weights(g, 4));
    g.add("update", new Assign(true), List.of(state, input(g, 3, 4)));
    rewritten(g.apply(new MatMul(), y, weights(g, 4, 5))).isUnchanged();
  }
}
