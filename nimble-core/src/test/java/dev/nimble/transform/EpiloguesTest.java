package dev.nimble.transform;

import static dev.nimble.transform.Rewritten.apply;
import static dev.nimble.transform.Rewritten.graphOf;
import static dev.nimble.transform.Rewritten.input;
import static dev.nimble.transform.Rewritten.number;
import static dev.nimble.transform.Rewritten.weights;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.Assign;
import dev.nimble.op.BinaryFunction;
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
import org.junit.jupiter.params.provider.EnumSource;

class EpiloguesTest {
  private final GraphBuilder g = graphOf();

  /** A product without bias, its operand named x. */
  enum Product {
    CONV("Conv"),
    CONV_TRANSPOSE("ConvTranspose"),
    GEMM("Gemm"),
    MAT_MUL("MatMul");

    private final String operator;

    Product(String operator) {
      this.operator = operator;
    }

    private boolean isConvolution() {
      return ordinal() < 2;
    }

    private TensorType operand() {
      return isConvolution() ? TensorType.f32(1, 2, 4, 4) : TensorType.f32(3, 2);
    }

    private Value of(GraphBuilder g, Value x) {
      Window window = Window.square(1, 1);
      switch (this) {
        case CONV:
          return g.apply(new Conv(window, 1), x, weights(g, 3, 2, 3, 3));
        case CONV_TRANSPOSE:
          ImmutableIntArray none = ImmutableIntArray.of(0, 0);
          return g.apply(new ConvTranspose(window, none, 1, null), x, weights(g, 2, 3, 3, 3));
        case GEMM:
          return g.apply(new Gemm(0.5f, 0.25f, false, false, null), x, weights(g, 2, 3));
        default:
          return g.apply(new MatMul(), x, weights(g, 2, 3));
      }
    }

    private Value bias(GraphBuilder g) {
      return isConvolution() ? weights(g, 1, 3, 1, 1) : weights(g, 3);
    }
  }

  private Rewritten rewritten(Value... outputs) {
    for (int i = 0; i < outputs.length; i++) {
      g.output("y" + i, outputs[i]);
    }
    return Rewritten.by(Pass.EPILOGUES, g);
  }

  @ParameterizedTest
  @EnumSource(Product.class)
  void takesBiasAndActivation(Product product) {
    Value y = product.of(g, g.input("x", product.operand()));
    Value biased = apply(g, BinaryFunction.ADD, product.bias(g), y);
    Rewritten after = rewritten(g.apply(Unary.of(UnaryFunction.SIGMOID), biased));
    after.hasOperators(product.operator);
    assertThat(after.graph().nodes().get(0).operator().toString()).endsWith("+Sigmoid");
    assertThat(after.graph().nodes().get(0).inputs()).hasSize(3);
  }

  @ParameterizedTest
  @EnumSource(Product.class)
  void takesOneActivationOnly(Product product) {
    Value y = product.of(g, g.input("x", product.operand()));
    Value once = g.apply(Unary.of(UnaryFunction.TANH), y);
    rewritten(g.apply(Unary.of(UnaryFunction.ABS), once))
        .hasOperatorsExactly(product.operator, "Abs");
  }

  @ParameterizedTest
  @EnumSource(Product.class)
  void addsNoBiasAfterTheActivation(Product product) {
    Value y = product.of(g, g.input("x", product.operand()));
    Value activated = g.apply(Unary.of(UnaryFunction.TANH), y);
    rewritten(apply(g, BinaryFunction.ADD, activated, product.bias(g)))
        .hasOperatorsExactly(product.operator, "Add");
  }

  @ParameterizedTest
  @EnumSource(Product.class)
  void leavesAProductThatIsReadTwice(Product product) {
    Value y = product.of(g, g.input("x", product.operand()));
    rewritten(g.apply(Unary.of(UnaryFunction.RELU), y), apply(g, BinaryFunction.MUL, y, y))
        .isUnchanged();
  }

  @ParameterizedTest
  @EnumSource(Product.class)
  void leavesABiasThatIsComputed(Product product) {
    Value x = g.input("x", product.operand());
    Value y = product.of(g, x);
    Value bias = g.input("bias", TensorType.f32(1));
    rewritten(apply(g, BinaryFunction.ADD, y, g.apply(Unary.of(UnaryFunction.EXP), bias)))
        .isUnchanged();
  }

  @ParameterizedTest
  @EnumSource(Product.class)
  void leavesABiasThatBroadcastsTheResult(Product product) {
    Value y = product.of(g, g.input("x", product.operand()));
    int rank = y.type().shape().rank();
    Value larger = rank == 4 ? weights(g, 2, 3, 1, 1) : weights(g, 2, 1, 3);
    rewritten(apply(g, BinaryFunction.ADD, y, larger)).isUnchanged();
  }

  @ParameterizedTest
  @EnumSource(Product.class)
  void movesNoReadOfAVariableAcrossAnUpdate(Product product) {
    Value state = g.variable("state", Tensor.zeros(product.operand()));
    Value y = product.of(g, state);
    g.add("update", new Assign(true), List.of(state, g.input("x", product.operand())));
    rewritten(apply(g, BinaryFunction.ADD, y, product.bias(g))).isUnchanged();
  }

  @ParameterizedTest
  @EnumSource(Product.class)
  void activatesReadersOfAVariableThatIsUpdatedLater(Product product) {
    Value state = g.variable("state", Tensor.zeros(product.operand()));
    Value y = g.apply(Unary.of(UnaryFunction.RELU), product.of(g, state));
    g.add("update", new Assign(true), List.of(state, g.input("x", product.operand())));
    rewritten(y).hasOperatorsExactly(product.operator, "AssignAdd");
  }

  @Test
  void leavesAConstantAlongAnotherAxisOfAConv() {
    Value y = Product.CONV.of(g, input(g, 1, 2, 4, 4));
    rewritten(apply(g, BinaryFunction.ADD, y, weights(g, 4))).isUnchanged();
  }

  @Test
  void leavesASumThatIsNoBias() {
    Value y = Product.MAT_MUL.of(g, input(g, 3, 2));
    rewritten(apply(g, BinaryFunction.SUB, y, number(g, 1))).isUnchanged();
  }
}
