package dev.nimble.op;

import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * Running sums along an axis (ONNX CumSum). Floating sums are kept in double precision, each result
 * rounded once; integer sums in 64 bits.
 *
 * @param axis the axis; a negative one counts from the end
 * @param exclusive whether element i is the sum of those before it only
 * @param reverse whether the sums run from the end
 */
public record CumSum(int axis, boolean exclusive, boolean reverse) implements Operator {
  @Override
  public String name() {
    return "CumSum";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 1, 1);
    Checks.numeric(inputs.get(0));
    Checks.rankAtLeast(inputs.get(0), 1);
    Checks.axis(axis, inputs.get(0).shape().rank());
    return inputs;
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor in = inputs.get(0);
    Tensor out = outputs.get(0);
    Shape shape = in.type().shape();
    int along = Checks.axis(axis, shape.rank());
    int n = shape.extent(along);
    int inner = shape.strides()[along];
    int rows = n == 0 ? 0 : shape.elements() / n;
    boolean floating = in.type().dataType().isFloating();
    return () -> {
      for (int row = 0; row < rows; row++) {
        int start = row / inner * n * inner + row % inner;
        double real = 0;
        long integer = 0;
        for (int k = 0; k < n; k++) {
          int at = start + (reverse ? n - 1 - k : k) * inner;
          if (floating) {
            double sum = real + in.getDouble(at);
            out.setDouble(at, exclusive ? real : sum);
            real = sum;
          } else {
            long sum = integer + in.getLong(at);
            out.setLong(at, exclusive ? integer : sum);
            integer = sum;
          }
        }
      }
    };
  }

  @Override
  public String toString() {
    return name()
        + "(axis="
        + axis
        + (exclusive ? ", exclusive" : "")
        + (reverse ? ", reverse)" : ")");
  }
}
