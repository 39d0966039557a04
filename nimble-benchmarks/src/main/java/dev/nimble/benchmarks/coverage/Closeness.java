package dev.nimble.benchmarks.coverage;

import dev.nimble.graph.DataType;
import dev.nimble.graph.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * The comparison of ONNX's backend tests: floating elements within rtol 1e-3 and atol 1e-7 (NaN
 * equals NaN, an infinity itself), others exactly; types and shapes the same. Neighbours in bf16
 * are further apart than rtol: there it is the distance between them (the suite's data were
 * truncated, where the library rounds to the nearest).
 */
final class Closeness {
  private static final double RELATIVE = 1e-3;
  private static final double ABSOLUTE = 1e-7;
  private static final double RELATIVE_BF16 = 0x1p-7;

  private Closeness() {}

  /** What is wrong with {@code actual}, or null. */
  static @Nullable String difference(Tensor actual, Tensor expected) {
    if (!actual.type().equals(expected.type())) {
      return "is " + actual.type() + ", not " + expected.type();
    }
    for (int i = 0; i < expected.type().elements(); i++) {
      if (!close(actual, expected, i)) {
        return "is " + actual + ", not " + expected + " (element " + i + ")";
      }
    }
    return null;
  }

  private static boolean close(Tensor actual, Tensor expected, int i) {
    if (!expected.type().dataType().isFloating()) {
      return actual.getLong(i) == expected.getLong(i);
    }
    double relative = expected.type().dataType() == DataType.BF16 ? RELATIVE_BF16 : RELATIVE;
    double a = actual.getDouble(i);
    double b = expected.getDouble(i);
    return Double.isNaN(a) || Double.isNaN(b) || Double.isInfinite(b) || Double.isInfinite(a)
        ? a == b || (Double.isNaN(a) && Double.isNaN(b))
        : Math.abs(a - b) <= ABSOLUTE + relative * Math.abs(b);
  }
}
