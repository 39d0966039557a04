package dev.nimble.transform;

import dev.nimble.graph.DataType;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.BatchNormalization;
import dev.nimble.op.Binary;
import dev.nimble.op.BinaryFunction;
import dev.nimble.op.Conv;
import dev.nimble.op.ConvTranspose;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Folds what follows a convolution and only scales and shifts its channels into the convolution's
 * weights and bias: batch normalisation with fixed statistics, products and sums with per-channel
 * constants.
 */
final class ConvScaling {
  private ConvScaling() {}

  /** y = scale * x + shift, one of each a channel. */
  private record Affine(double[] scale, double[] shift) {}

  static Graph apply(Graph graph) {
    Uses uses = new Uses(graph);
    Rewriter rewriter = new Rewriter(graph);
    for (Node node : graph.nodes()) {
      if (!fold(node, uses, rewriter)) {
        rewriter.copy(node);
      }
    }
    return rewriter.finish();
  }

  private static boolean fold(Node node, Uses uses, Rewriter rewriter) {
    for (int i = 0; i < Math.min(2, node.inputs().size()); i++) {
      Value operand = node.inputs().get(i);
      if (uses.onlyReader(operand) != node || operand.type().dataType() != DataType.F32) {
        continue;
      }
      // The producer in the new graph: it may itself have been folded in this very pass.
      Value rewritten = rewriter.map(operand);
      Node conv = rewritten.producer();
      Affine affine = conv == null || !isPlain(conv) ? null : affine(node, i, operand);
      if (conv != null && affine != null && rewritten.type().equals(node.output().type())) {
        emit(node, conv, affine, rewriter);
        return true;
      }
    }
    return false;
  }

  /** A convolution with constant weights and bias, and no activation yet. */
  private static boolean isPlain(Node node) {
    Operator operator = node.operator();
    boolean plain =
        operator instanceof Conv
            ? ((Conv) operator).activation() == null
            : operator instanceof ConvTranspose && ((ConvTranspose) operator).activation() == null;
    return plain && node.inputs().stream().skip(1).allMatch(Constants::isConstant);
  }

  private static @Nullable Affine affine(Node node, int position, Value operand) {
    Shape shape = operand.type().shape();
    int channels = shape.extent(1);
    double[] scale = new double[channels];
    double[] shift = new double[channels];
    Arrays.fill(scale, 1);
    if (node.operator() instanceof BatchNormalization) {
      if (position != 0 || !node.inputs().stream().skip(1).allMatch(Constants::isConstant)) {
        return null;
      }
      double epsilon = ((BatchNormalization) node.operator()).epsilon();
      for (int c = 0; c < channels; c++) {
        double variance = node.inputs().get(4).contents().getDouble(c);
        double mean = node.inputs().get(3).contents().getDouble(c);
        scale[c] = node.inputs().get(1).contents().getDouble(c) / Math.sqrt(variance + epsilon);
        shift[c] = node.inputs().get(2).contents().getDouble(c) - mean * scale[c];
      }
      return new Affine(scale, shift);
    }
    if (!(node.operator() instanceof Binary)) {
      return null;
    }
    float[] other = Constants.perChannel(node.inputs().get(1 - position), shape);
    if (other == null) {
      return null;
    }
    BinaryFunction function = ((Binary) node.operator()).function();
    for (int c = 0; c < channels; c++) {
      switch (function) {
        case MUL:
          scale[c] = other[c];
          break;
        case ADD:
          shift[c] = other[c];
          break;
        case SUB:
          scale[c] = position == 0 ? 1 : -1;
          shift[c] = position == 0 ? -other[c] : other[c];
          break;
        case DIV:
          scale[c] = 1.0 / other[c];
          break;
        default:
          return null;
      }
    }
    return function == BinaryFunction.DIV && position == 1 ? null : new Affine(scale, shift);
  }

  private static void emit(Node node, Node conv, Affine affine, Rewriter rewriter) {
    Value w = conv.inputs().get(1);
    int outputs = affine.scale().length;
    boolean transposed = conv.operator() instanceof ConvTranspose;
    Tensor weights = w.contents().copy();
    int elements = weights.type().elements();
    int rows = w.type().shape().extent(0);
    int columns = w.type().shape().extent(1);
    int volume = elements / Math.max(1, rows * columns);
    for (int i = 0; i < elements; i++) {
      int row = i / (columns * volume);
      int channel = row;
      if (transposed) { // W is [C, M / group, kernel...]
        int group = ((ConvTranspose) conv.operator()).group();
        channel = row / (rows / group) * columns + i / volume % columns;
      }
      weights.floats().put(i, (float) (w.contents().floats().get(i) * affine.scale()[channel]));
    }
    Tensor bias = Tensor.zeros(TensorType.f32(outputs));
    for (int c = 0; c < outputs; c++) {
      double old = conv.inputs().size() > 2 ? conv.inputs().get(2).contents().getDouble(c) : 0;
      bias.floats().put(c, (float) (old * affine.scale()[c] + affine.shift()[c]));
    }
    rewriter.emit(
        node,
        conv.operator(),
        List.of(
            conv.inputs().get(0),
            rewriter.builder().constant(w.name(), weights),
            rewriter.builder().constant(node.name() + "/bias", bias)));
  }
}
