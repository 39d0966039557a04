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
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A convolution or matrix product in single precision with constant weights and bias and without
 * activation: a {@link ChannelAffine} of its result can be folded into these.
 */
final class ChannelProduct {
  private final Node node;
  private final int channelAxis;

  private ChannelProduct(Node node, int channelAxis) {
    this.node = node;
    this.channelAxis = channelAxis;
  }

  /** The product that computes {@code value}, or null if that is not one. */
  static @Nullable ChannelProduct of(Value value) {
    Node node = value.producer();
    if (node == null
        || value.type().dataType() != DataType.F32
        || node.inputs().size() < 2
        || !node.inputs().stream().skip(1).allMatch(Constants::isConstant)) {
      return null;
    }
    Operator operator = node.operator();
    int axis = -1;
    if (operator instanceof Conv) {
      axis = ((Conv) operator).activation() == null ? 1 : -1;
    } else if (operator instanceof ConvTranspose) {
      axis = ((ConvTranspose) operator).activation() == null ? 1 : -1;
    } else if (operator instanceof Gemm) {
      axis = ((Gemm) operator).activation() == null ? 1 : -1;
    } else if (operator.equals(new MatMul()) && node.inputs().get(1).type().shape().rank() == 2) {
      axis = value.type().shape().rank() - 1;
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

  private int channels() {
    return node.output().type().shape().extent(channelAxis);
  }

  /** What is added to each channel; null if it is not a number a channel. */
  private double @Nullable [] bias() {
    if (node.inputs().size() < 3) {
      return new double[channels()];
    }
    Value bias = node.inputs().get(2);
    boolean convolution = !(node.operator() instanceof Gemm || node.operator() instanceof MatMul);
    Shape shape = convolution ? bias.type().shape() : node.output().type().shape();
    return Constants.perChannel(bias, shape, convolution ? 0 : channelAxis);
  }

  /** The operator once an affine is folded in: it adds its bias as it is. */
  Operator operator() {
    if (node.operator() instanceof Gemm) {
      Gemm gemm = (Gemm) node.operator();
      return new Gemm(gemm.alpha(), 1, gemm.transA(), gemm.transB(), null);
    }
    return node.operator();
  }

  /** The operands with which the product's result is {@code affine} of what it was. */
  List<Value> operands(ChannelAffine affine, String name, Rewriter rewriter) {
    double @Nullable [] old = bias();
    if (old == null) {
      throw new IllegalStateException(node + " has a bias that is not per channel");
    }
    double beta = node.operator() instanceof Gemm ? ((Gemm) node.operator()).beta() : 1;
    Tensor bias = Tensor.zeros(TensorType.f32(channels()));
    for (int c = 0; c < channels(); c++) {
      bias.floats().put(c, (float) (beta * old[c] * affine.scale()[c] + affine.shift()[c]));
    }
    Value weights = node.inputs().get(1);
    if (!affine.keepsScale()) {
      weights = rewriter.constant(weights.name(), scaled(weights.contents(), affine));
    }
    return List.of(node.inputs().get(0), weights, rewriter.constant(name + "/bias", bias));
  }

  private Tensor scaled(Tensor weights, ChannelAffine affine) {
    Operator operator = node.operator();
    Shape shape = weights.type().shape();
    int columns = shape.extent(1);
    int volume = shape.elements() / Math.max(1, shape.extent(0) * columns);
    int rowsOfGroup = shape.extent(0);
    if (operator instanceof ConvTranspose) {
      rowsOfGroup /= ((ConvTranspose) operator).group();
    }
    boolean byRow =
        operator instanceof Conv || (operator instanceof Gemm && ((Gemm) operator).transB());
    Tensor scaled = Tensor.zeros(weights.type());
    int i = 0;
    for (int row = 0; row < shape.extent(0); row++) {
      for (int column = 0; column < columns; column++) {
        // a transposed convolution's weights are [C, M / group, kernel...]; a matrix's [C, M]
        int channel = byRow ? row : row / rowsOfGroup * columns + column;
        for (int end = i + volume; i < end; i++) {
          scaled.floats().put(i, (float) (weights.floats().get(i) * affine.scale()[channel]));
        }
      }
    }
    return scaled;
  }
}
