package dev.nimble.op;

import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * The largest or the mean element of each window of {@code [N, C, spatial...]}, one to three
 * spatial axes.
 *
 * @param function which
 * @param kernel the window's extents
 * @param window how it slides
 * @param ceilMode whether a partial last window counts
 * @param countIncludePad whether a mean divides by padding elements too
 */
public record Pool(
    Function function,
    ImmutableIntArray kernel,
    Window window,
    boolean ceilMode,
    boolean countIncludePad)
    implements Operator {
  /** What a pool takes of its window. */
  public enum Function {
    /** The largest element. */
    MAX,
    /** The mean. */
    AVERAGE
  }

  @Override
  public String name() {
    return function == Function.MAX ? "MaxPool" : "AveragePool";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 1, 1);
    TensorType type = inputs.get(0);
    if (function == Function.AVERAGE) {
      Checks.floating(type);
    }
    Checks.numeric(type);
    Checks.notUnsignedLong(type);
    int rank = window.rank();
    if (rank < 1 || rank > 3 || type.shape().rank() != rank + 2 || kernel.length() != rank) {
      throw new InvalidModelException(
          "needs an operand with 1 to 3 spatial axes, as many as the kernel ("
              + kernel
              + "), not "
              + type);
    }
    int[] extents = type.shape().toArray();
    for (int i = 0; i < rank; i++) {
      Checks.that(
          window.padsBefore().get(i) < (long) window.dilations().get(i) * (kernel.get(i) - 1) + 1,
          "pads " + window.padsBefore() + " must be smaller than the kernel " + kernel);
      extents[2 + i] = window.count(i, extents[2 + i], kernel.get(i), ceilMode);
    }
    return List.of(new TensorType(type.dataType(), Shape.of(extents)));
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor in = inputs.get(0);
    Tensor out = outputs.get(0);
    int[] extent = Window.spatial3(in.type().shape());
    int[] size = Window.spatial3(out.type().shape());
    int planes = in.type().shape().extent(0) * in.type().shape().extent(1);
    return () -> {
      int o = 0;
      for (int plane = 0; plane < planes; plane++) {
        int start = plane * extent[0] * extent[1] * extent[2];
        for (int d = 0; d < size[0]; d++) {
          for (int h = 0; h < size[1]; h++) {
            for (int v = 0; v < size[2]; v++) {
              if (function == Function.MAX) {
                out.setDouble(o++, largest(in, start, extent, d, h, v));
              } else {
                out.setDouble(o++, mean(in, start, extent, d, h, v));
              }
            }
          }
        }
      }
    };
  }

  private double largest(Tensor in, int start, int[] extent, int d, int h, int v) {
    double largest = Double.NEGATIVE_INFINITY;
    for (int tap = 0; tap < volume(); tap++) {
      int at = position(extent, d, h, v, tap);
      if (at >= 0) {
        double x = in.getDouble(start + at);
        largest = x > largest || Double.isNaN(x) ? x : largest;
      }
    }
    return largest;
  }

  private double mean(Tensor in, int start, int[] extent, int d, int h, int v) {
    double sum = 0;
    int count = 0;
    for (int tap = 0; tap < volume(); tap++) {
      int at = position(extent, d, h, v, tap);
      if (at >= 0) {
        sum += in.getDouble(start + at);
      }
      if (at >= 0 || (countIncludePad && at == PADDING)) {
        count++;
      }
    }
    return sum / count;
  }

  static final int PADDING = -1;
  static final int BEYOND_PADDING = -2;

  /** The offset of a window's element within its plane, or why there is none. */
  int position(int[] extent, int d, int h, int v, int tap) {
    int p = along(0, d, tap / (kernelOf(1) * kernelOf(2)));
    int q = along(1, h, tap / kernelOf(2) % kernelOf(1));
    int r = along(2, v, tap % kernelOf(2));
    if (beyond(0, p, extent) || beyond(1, q, extent) || beyond(2, r, extent)) {
      return BEYOND_PADDING;
    }
    boolean inside = p >= 0 && p < extent[0] && q >= 0 && q < extent[1] && r >= 0 && r < extent[2];
    return inside ? (p * extent[1] + q) * extent[2] + r : PADDING;
  }

  private int along(int axis, int output, int tap) {
    int i = axis - 3 + window.rank();
    return i < 0
        ? 0
        : output * window.strides().get(i)
            + tap * window.dilations().get(i)
            - window.padsBefore().get(i);
  }

  private boolean beyond(int axis, int at, int[] extent) {
    int i = axis - 3 + window.rank();
    return i >= 0 && at >= extent[axis] + window.padsAfter().get(i);
  }

  private int kernelOf(int axis) {
    int i = axis - 3 + kernel.length();
    return i < 0 ? 1 : kernel.get(i);
  }

  int volume() {
    return kernelOf(0) * kernelOf(1) * kernelOf(2);
  }

  @Override
  public String toString() {
    return name() + "(kernel=" + kernel + ", " + window + ")";
  }
}
