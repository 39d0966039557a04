package dev.nimble.transform;

import dev.nimble.graph.DataType;
import dev.nimble.graph.Node;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.Conv;
import dev.nimble.op.ConvTranspose;
import dev.nimble.op.Gemm;
import dev.nimble.op.MatMul;
import dev.nimble.op.Window;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.IntBinaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A convolution or matrix product in single precision with constant weights and bias: a {@link
 * ChannelAffine} of its result, or of its operand, can be folded into these.
 */
final class ChannelProduct {
  private final Node node;
  private final int channelAxis;

  private ChannelProduct(Node node, int channelAxis) {
    this.node = node;
    this.channelAxis = channelAxis;
  }

  /** The node as a product, or null if it is not one. */
  static @Nullable ChannelProduct of(@Nullable Node node) {
    if (node == null
        || node.outputs().size() != 1
        || node.output().type().dataType() != DataType.F32
        || node.inputs().size() < 2
        || !node.inputs().stream().skip(1).allMatch(Constants::isConstant)) {
      return null;
    }
    Operator operator = node.operator();
    int axis = -1;
    if (operator instanceof Conv || operator instanceof ConvTranspose || operator instanceof Gemm) {
      axis = 1;
    } else if (operator instanceof MatMul && node.inputs().get(1).type().shape().rank() == 2) {
      axis = node.output().type().shape().rank() - 1;
    }
    ChannelProduct product = new ChannelProduct(node, axis);
    return axis < 0 || product.bias() == null ? null : product;
  }

  /** The product's node. */
  Node node() {
    return node;
  }

  /** The axis of the result along which each index has weights of its own. */
  int channelAxis() {
    return channelAxis;
  }

  /** The axis of the operand along which each index has weights of its own. */
  int operandAxis() {
    if (node.operator() instanceof MatMul) {
      return node.inputs().get(0).type().shape().rank() - 1;
    }
    return node.operator() instanceof Gemm && ((Gemm) node.operator()).transA() ? 0 : 1;
  }

  /** Whether the bias is the last thing that is added: no activation follows. */
  boolean isPlain() {
    Operator operator = node.operator();
    if (operator instanceof Conv) {
      return ((Conv) operator).activation() == null;
    } else if (operator instanceof ConvTranspose) {
      return ((ConvTranspose) operator).activation() == null;
    }
    return operator instanceof Gemm
        ? ((Gemm) operator).activation() == null
        : operator.equals(new MatMul());
  }

  /** Whether every element of a channel of the result meets all weights of the channel. */
  boolean meetsAllWeights() {
    if (node.operator() instanceof Conv) {
      Window window = ((Conv) node.operator()).window();
      return window.padsBefore().stream().allMatch(pad -> pad == 0)
          && window.padsAfter().stream().allMatch(pad -> pad == 0);
    }
    return !(node.operator() instanceof ConvTranspose);
  }

  private int channels() {
    return node.output().type().shape().extent(channelAxis);
  }

  /** What is added to each channel; null if it is not a number a channel. */
  private double @Nullable [] bias() {
    double[] bias = new double[channels()];
    if (node.inputs().size() > 2) {
      boolean matrix = node.operator() instanceof Gemm || node.operator() instanceof MatMul;
      Value operand = node.inputs().get(2);
      Shape shape = matrix ? node.output().type().shape() : operand.type().shape();
      double @Nullable [] numbers = Constants.perChannel(operand, shape, matrix ? channelAxis : 0);
      if (numbers == null) {
        return null;
      }
      double beta = node.operator() instanceof Gemm ? ((Gemm) node.operator()).beta() : 1;
      Arrays.setAll(bias, c -> beta * numbers[c]);
    }
    return bias;
  }

  /** The operator once an affine is folded in: it adds its bias as it is. */
  Operator operator() {
    if (node.operator() instanceof Gemm) {
      Gemm gemm = (Gemm) node.operator();
      return new Gemm(gemm.alpha(), 1, gemm.transA(), gemm.transB(), gemm.activation());
    }
    return node.operator();
  }

  /**
   * For a product of the new graph, the operands with which its result is {@code affine} of what it
   * was.
   */
  List<Value> operandsBefore(ChannelAffine affine, String name, Rewriter rewriter) {
    double[] bias = Objects.requireNonNull(bias());
    Arrays.setAll(bias, c -> bias[c] * affine.scale()[c] + affine.shift()[c]);
    Value weights =
        affine.keepsScale()
            ? node.inputs().get(1)
            : rewriter.constant(node.inputs().get(1).name(), scaled(affine, this::channel));
    return List.of(node.inputs().get(0), weights, biasOperand(bias, name, rewriter));
  }

  /**
   * For a product of the old graph, the operands with which its result stays what it was, though
   * its first operand is {@code operand}, of which that was the {@code affine}.
   */
  List<Value> operandsAfter(ChannelAffine affine, Value operand, String name, Rewriter rewriter) {
    double[] bias = Objects.requireNonNull(bias());
    double alpha = node.operator() instanceof Gemm ? ((Gemm) node.operator()).alpha() : 1;
    Tensor weights = node.inputs().get(1).contents();
    int[] at = {0};
    forEachKernel(
        (row, column, volume) -> {
          double sum = 0;
          for (int end = at[0] + volume; at[0] < end; at[0]++) {
            sum += weights.floats().get(at[0]);
          }
          double shift = affine.shift()[operandChannel(row, column)];
          bias[channel(row, column)] += alpha * sum * shift;
        });
    Value scaled =
        affine.keepsScale()
            ? rewriter.map(node.inputs().get(1))
            : rewriter.constant(node.inputs().get(1).name(), scaled(affine, this::operandChannel));
    return List.of(rewriter.map(operand), scaled, biasOperand(bias, name, rewriter));
  }

  private static Value biasOperand(double[] bias, String name, Rewriter rewriter) {
    Tensor tensor = Tensor.zeros(TensorType.f32(bias.length));
    for (int c = 0; c < bias.length; c++) {
      tensor.floats().put(c, (float) bias[c]);
    }
    return rewriter.constant(name + "/bias", tensor);
  }

  private Tensor scaled(ChannelAffine affine, IntBinaryOperator channelOf) {
    Tensor weights = node.inputs().get(1).contents();
    Tensor scaled = Tensor.zeros(weights.type());
    int[] at = {0};
    forEachKernel(
        (row, column, volume) -> {
          double scale = affine.scale()[channelOf.applyAsInt(row, column)];
          for (int end = at[0] + volume; at[0] < end; at[0]++) {
            scaled.floats().put(at[0], (float) (weights.floats().get(at[0]) * scale));
          }
        });
    return scaled;
  }

  /** What is done with the {@code volume} weights at the first two indices. */
  private interface Kernel {
    void accept(int row, int column, int volume);
  }

  private void forEachKernel(Kernel kernel) {
    Shape shape = node.inputs().get(1).type().shape();
    int volume = shape.elements() / Math.max(1, shape.extent(0) * shape.extent(1));
    for (int row = 0; row < shape.extent(0); row++) {
      for (int column = 0; column < shape.extent(1); column++) {
        kernel.accept(row, column, volume);
      }
    }
  }

  /** The channel of the result to which the weights at the first two indices belong. */
  private int channel(int row, int column) {
    Operator operator = node.operator();
    if (operator instanceof ConvTranspose) { // weights are [C, M / group, kernel...]
      Shape shape = node.inputs().get(1).type().shape();
      int rowsOfGroup = shape.extent(0) / ((ConvTranspose) operator).group();
      return row / rowsOfGroup * shape.extent(1) + column;
    }
    return operator instanceof Conv || isTransposed() ? row : column;
  }

  /** The channel of the operand that the weights at the first two indices multiply. */
  private int operandChannel(int row, int column) {
    if (node.operator() instanceof Conv) { // weights are [M, C / group, kernel...]
      Shape shape = node.inputs().get(1).type().shape();
      int rowsOfGroup = shape.extent(0) / ((Conv) node.operator()).group();
      return row / rowsOfGroup * shape.extent(1) + column;
    }
    return isTransposed() ? column : row;
  }

  private boolean isTransposed() {
    return node.operator() instanceof Gemm && ((Gemm) node.operator()).transB();
  }
}
