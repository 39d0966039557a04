package dev.nimble.benchmarks.peers;

import dev.nimble.graph.Tensor;
import java.util.Map;

/** How far results lie apart. */
public final class Differences {
  private Differences() {}

  /** The largest of |a - b| / max(1, |b|); infinite if one is NaN and the other is not. */
  public static double largest(Tensor a, Tensor b) {
    double largest = 0;
    for (int i = 0; i < a.type().elements(); i++) {
      double x = a.getDouble(i);
      double y = b.getDouble(i);
      if (Double.compare(x, y) != 0) {
        double difference = Math.abs(x - y) / Math.max(1, Math.abs(y));
        largest =
            Math.max(largest, Double.isNaN(difference) ? Double.POSITIVE_INFINITY : difference);
      }
    }
    return largest;
  }

  /** As {@link #largest(Tensor, Tensor)}, over results of the same names. */
  public static double largest(Map<String, Tensor> a, Map<String, Tensor> b) {
    double largest = 0;
    for (Map.Entry<String, Tensor> result : a.entrySet()) {
      Tensor other = b.get(result.getKey());
      if (other == null) {
        throw new IllegalArgumentException("only one side has " + result.getKey());
      }
      largest = Math.max(largest, largest(result.getValue(), other));
    }
    return largest;
  }
}
