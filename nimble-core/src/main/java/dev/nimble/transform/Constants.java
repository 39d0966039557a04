package dev.nimble.transform;

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
    return isClose(scalar(value), wanted);
  }

  /** Whether two numbers are equal but for the rounding of a few single-precision operations. */
  static boolean isClose(double a, double b) {
    return Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(b));
  }

  /**
   * The numbers of a constant that broadcasts along one axis of {@code shape} only, one an index;
   * null if it is something else.
   */
  static double @Nullable [] perChannel(Value value, Shape shape, int axis) {
    if (!isConstant(value) || axis >= shape.rank()) {
      return null;
    }
    if (!broadcastsAlong(value.type().shape(), shape, axis)) {
      return null;
    }
    Tensor contents = value.contents();
    double[] numbers = new double[shape.extent(axis)];
    for (int c = 0; c < numbers.length; c++) {
      numbers[c] = contents.getDouble(contents.type().elements() == 1 ? 0 : c);
    }
    return numbers;
  }

  /** Whether {@code own} broadcasts to {@code shape} with extents of 1 at all axes but one. */
  static boolean broadcastsAlong(Shape own, Shape shape, int axis) {
    if (own.rank() > shape.rank()) {
      return false;
    }
    for (int fromEnd = 1; fromEnd <= own.rank(); fromEnd++) {
      int extent = own.extent(-fromEnd);
      boolean fits = fromEnd == shape.rank() - axis && extent == shape.extent(axis);
      if (extent != 1 && !fits) {
        return false;
      }
    }
    return true;
  }
}
