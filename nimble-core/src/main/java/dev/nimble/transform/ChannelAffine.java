package dev.nimble.transform;

import dev.nimble.graph.Node;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Value;
import dev.nimble.op.BatchNormalization;
import dev.nimble.op.Binary;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * y = scale * x + shift with numbers of each channel.
 *
 * @param scale one number a channel, finite
 * @param shift one number a channel, finite
 */
record ChannelAffine(double[] scale, double[] shift) {
  /**
   * What {@code node} does to its operand at {@code position} if it only scales and shifts the
   * channels along {@code axis} by constants: a batch normalisation with constant statistics, or
   * arithmetic with a constant. Null if it does something else.
   */
  static @Nullable ChannelAffine of(Node node, int position, int axis) {
    ChannelAffine affine = null;
    if (node.operator() instanceof BatchNormalization) {
      affine = position == 0 && axis == 1 ? ofNormalization(node) : null;
    } else if (node.operator() instanceof Binary) {
      affine = ofArithmetic(node, position, axis);
    }
    return affine != null && affine.isFinite() ? affine : null;
  }

  private static @Nullable ChannelAffine ofNormalization(Node node) {
    List<Value> statistics = node.inputs().subList(1, 5);
    if (!statistics.stream().allMatch(Constants::isConstant)) {
      return null;
    }
    double epsilon = ((BatchNormalization) node.operator()).epsilon();
    int channels = statistics.get(0).type().elements();
    double[] scale = new double[channels];
    double[] shift = new double[channels];
    for (int c = 0; c < channels; c++) {
      double variance = statistics.get(3).contents().getDouble(c);
      double mean = statistics.get(2).contents().getDouble(c);
      scale[c] = statistics.get(0).contents().getDouble(c) / Math.sqrt(variance + epsilon);
      shift[c] = statistics.get(1).contents().getDouble(c) - mean * scale[c];
    }
    return new ChannelAffine(scale, shift);
  }

  private static @Nullable ChannelAffine ofArithmetic(Node node, int position, int axis) {
    Shape shape = node.inputs().get(position).type().shape();
    double @Nullable [] other = Constants.perChannel(node.inputs().get(1 - position), shape, axis);
    if (other == null) {
      return null;
    }
    double[] scale = new double[other.length];
    double[] shift = new double[other.length];
    Arrays.fill(scale, 1);
    for (int c = 0; c < other.length; c++) {
      switch (((Binary) node.operator()).function()) {
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
          scale[c] = position == 0 ? 1 / other[c] : Double.NaN; // a quotient by x: not affine
          break;
        default:
          return null;
      }
    }
    return new ChannelAffine(scale, shift);
  }

  boolean isFinite() {
    return Arrays.stream(scale).allMatch(Double::isFinite)
        && Arrays.stream(shift).allMatch(Double::isFinite);
  }

  /** Leaves every channel as it is. */
  static ChannelAffine identity(int channels) {
    double[] scale = new double[channels];
    Arrays.fill(scale, 1);
    return new ChannelAffine(scale, new double[channels]);
  }

  /** This after {@code first}. */
  ChannelAffine after(ChannelAffine first) {
    double[] newScale = new double[scale.length];
    double[] newShift = new double[scale.length];
    Arrays.setAll(newScale, c -> scale[c] * first.scale[c]);
    Arrays.setAll(newShift, c -> scale[c] * first.shift[c] + shift[c]);
    return new ChannelAffine(newScale, newShift);
  }

  /** Whether it only scales. */
  boolean keepsZero() {
    return Arrays.stream(shift).allMatch(s -> s == 0);
  }

  /** Whether it only shifts. */
  boolean keepsScale() {
    return Arrays.stream(scale).allMatch(s -> s == 1);
  }

  /** That of some channels. */
  ChannelAffine part(int from, int to) {
    return new ChannelAffine(
        Arrays.copyOfRange(scale, from, to), Arrays.copyOfRange(shift, from, to));
  }
}
