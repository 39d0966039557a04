package dev.nimble.transform;

import dev.nimble.graph.DataType;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import org.jspecify.annotations.Nullable;

/** Readings of constants that several passes need. */
final class Constants {
  private Constants() {}

  static boolean isConstant(Value value) {
    return value.kind() == Value.Kind.CONSTANT;
  }

  /** The one number of a floating constant of one element, or NaN. */
  static double scalar(Value value) {
    boolean single =
        isConstant(value) && value.type().elements() == 1 && value.type().dataType().isFloating();
    return single ? value.contents().getDouble(0) : Double.NaN;
  }

  /**
   * Whether {@code value} is a constant of one element, equal to {@code wanted} but for rounding.
   */
  static boolean isScalar(Value value, double wanted) {
    return Math.abs(scalar(value) - wanted) <= 1e-6 * Math.max(1, Math.abs(wanted));
  }

  /**
   * The numbers of a single-precision constant that broadcasts along axis 1 of {@code shape} only,
   * one a channel; null if it is something else.
   */
  static float @Nullable [] perChannel(Value value, Shape shape) {
    if (!isConstant(value) || value.type().dataType() != DataType.F32 || shape.rank() < 2) {
      return null;
    }
    Tensor contents = value.contents();
    Shape own = value.type().shape();
    int channels = shape.extent(1);
    if (own.rank() > shape.rank()) {
      return null;
    }
    for (int axis = 1; axis <= own.rank(); axis++) {
      boolean channelAxis = axis == shape.rank() - 1;
      int extent = own.extent(-axis);
      if (extent != 1 && !(channelAxis && extent == channels)) {
        return null;
      }
    }
    float[] numbers = new float[channels];
    for (int c = 0; c < channels; c++) {
      numbers[c] = contents.floats().get(contents.type().elements() == 1 ? 0 : c);
    }
    return numbers;
  }
}
