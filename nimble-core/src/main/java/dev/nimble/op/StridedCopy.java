package dev.nimble.op;

import dev.nimble.graph.Tensor;

/** Copies elements between a strided and a dense tensor. */
final class StridedCopy {
  private StridedCopy() {}

  /**
   * Fills {@code out} in row-major order: its element at a position comes from {@code in} at {@code
   * start} plus the position times {@code strides}, all in elements of {@code size} bytes.
   */
  static Runnable gather(Tensor in, int start, int[] strides, Tensor out, int size) {
    Odometer at = new Odometer(out.type().shape(), strides);
    int n = out.type().elements();
    return () -> {
      at.reset();
      for (int i = 0; i < n; i++, at.next()) {
        Elements.copy(in, start + at.offset(0), out, i, 1, size);
      }
    };
  }
}
