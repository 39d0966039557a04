package dev.nimble.testkit;

import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.Random;

/** Seeded contents. */
public final class RandomTensors {
  private RandomTensors() {}

  /** Floating elements normal around 0, integers in [0, 4), bools fair. */
  public static Tensor of(TensorType type, Random random) {
    Tensor tensor = Tensor.zeros(type);
    for (int i = 0; i < type.elements(); i++) {
      if (type.dataType().isFloating()) {
        tensor.setDouble(i, random.nextGaussian());
      } else {
        tensor.setLong(i, random.nextInt(type.dataType().isInteger() ? 4 : 2));
      }
    }
    return tensor;
  }

  /**
   * The largest of |a - b| / max(1, |b|) over the elements; NaN against NaN and equal infinities
   * are 0.
   */
  public static double largestDifference(Tensor a, Tensor b) {
    if (!a.type().equals(b.type())) {
      throw new IllegalArgumentException(a.type() + " against " + b.type());
    }
    double largest = 0;
    for (int i = 0; i < a.type().elements(); i++) {
      double x = a.getDouble(i);
      double y = b.getDouble(i);
      if (Double.compare(x, y) != 0) {
        double difference = Math.abs(x - y) / Math.max(1, Math.abs(y));
        largest =
            Double.isNaN(difference) ? Double.POSITIVE_INFINITY : Math.max(largest, difference);
      }
    }
    return largest;
  }
}
