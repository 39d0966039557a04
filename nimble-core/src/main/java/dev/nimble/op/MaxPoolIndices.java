package dev.nimble.op;

import dev.nimble.graph.DataType;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * Where the elements are that a maximum pool takes (the second output of ONNX MaxPool): I64 offsets
 * into the whole operand. Of equal elements it is the first in row-major order of the window; a NaN
 * is larger than every number.
 *
 * @param pool the pool, of function MAX
 * @param columnMajor whether an offset counts the spatial axes from the first, not from the last
 *     (ONNX storage_order 1)
 */
public record MaxPoolIndices(Pool pool, boolean columnMajor) implements Operator {
  /** Checks that it is a maximum pool. */
  public MaxPoolIndices {
    Checks.that(pool.function() == Pool.Function.MAX, "needs a maximum pool");
  }

  @Override
  public String name() {
    return "MaxPoolIndices";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    return List.of(new TensorType(DataType.I64, pool.infer(inputs).get(0).shape()));
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor in = inputs.get(0);
    Tensor out = outputs.get(0);
    Shape shape = in.type().shape();
    int[] extent = Window.spatial3(shape);
    int[] size = Window.spatial3(out.type().shape());
    int planes = shape.extent(0) * shape.extent(1);
    int volume = extent[0] * extent[1] * extent[2];
    return () -> {
      int o = 0;
      for (int plane = 0; plane < planes; plane++) {
        int start = plane * volume;
        for (int d = 0; d < size[0]; d++) {
          for (int h = 0; h < size[1]; h++) {
            for (int v = 0; v < size[2]; v++) {
              int at = largest(in, start, extent, d, h, v);
              out.longs().put(o++, start + (columnMajor ? columnMajor(at, extent) : at));
            }
          }
        }
      }
    };
  }

  private int largest(Tensor in, int start, int[] extent, int d, int h, int v) {
    int best = -1;
    double largest = Double.NEGATIVE_INFINITY;
    for (int tap = 0; tap < pool.volume(); tap++) {
      int at = pool.position(extent, d, h, v, tap);
      if (at >= 0) {
        double x = in.getDouble(start + at);
        if (best < 0 || x > largest || (Double.isNaN(x) && !Double.isNaN(largest))) {
          best = at;
          largest = x;
        }
      }
    }
    return Math.max(best, 0); // pads are smaller than the window: there is an element
  }

  private static int columnMajor(int at, int[] extent) {
    int d = at / (extent[1] * extent[2]);
    int h = at / extent[2] % extent[1];
    int v = at % extent[2];
    return (v * extent[1] + h) * extent[0] + d;
  }

  @Override
  public String toString() {
    return name() + "(kernel=" + pool.kernel() + ", " + pool.window() + ")";
  }
}
