package dev.nimble.op;

import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.Arrays;
import java.util.List;

/**
 * The largest or the mean element of each channel of {@code [N, C, spatial...]}; every spatial axis
 * of the result has extent 1.
 *
 * @param function which
 */
public record GlobalPool(Pool.Function function) implements Operator {
  @Override
  public String name() {
    return function == Pool.Function.MAX ? "GlobalMaxPool" : "GlobalAveragePool";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 1, 1);
    TensorType type = inputs.get(0);
    Checks.floating(type);
    Checks.rankAtLeast(type, 3);
    int[] extents = type.shape().toArray();
    Arrays.fill(extents, 2, extents.length, 1);
    return List.of(new TensorType(type.dataType(), Shape.of(extents)));
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor in = inputs.get(0);
    Tensor out = outputs.get(0);
    int planes = out.type().elements();
    int area = planes == 0 ? 0 : in.type().elements() / planes;
    return () -> {
      for (int plane = 0; plane < planes; plane++) {
        double sum = 0;
        double largest = Double.NEGATIVE_INFINITY;
        for (int i = plane * area; i < (plane + 1) * area; i++) {
          sum += in.getDouble(i);
          largest = Math.max(largest, in.getDouble(i));
        }
        out.setDouble(plane, function == Pool.Function.MAX ? largest : sum / area);
      }
    };
  }

  @Override
  public String toString() {
    return name();
  }
}
