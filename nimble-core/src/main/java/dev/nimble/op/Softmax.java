package dev.nimble.op;

import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * exp(x) / sum(exp(x)) along one axis, or its logarithm (ONNX Softmax and LogSoftmax from opset
 * 13).
 *
 * @param axis the axis; a negative one counts from the end
 * @param log whether the logarithm is meant
 */
public record Softmax(int axis, boolean log) implements Operator {
  @Override
  public String name() {
    return log ? "LogSoftmax" : "Softmax";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 1, 1);
    Checks.floating(inputs.get(0));
    Checks.rankAtLeast(inputs.get(0), 1);
    Checks.axis(axis, inputs.get(0).shape().rank());
    return inputs;
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor in = inputs.get(0);
    Tensor out = outputs.get(0);
    Shape shape = in.type().shape();
    int resolved = Checks.axis(axis, shape.rank());
    int n = shape.extent(resolved);
    int stride = shape.strides()[resolved];
    int outer = n == 0 ? 0 : shape.elements() / n / stride;
    return () -> {
      for (int i = 0; i < outer; i++) {
        for (int j = 0; j < stride; j++) {
          row(in, out, i * n * stride + j, n, stride);
        }
      }
    };
  }

  private void row(Tensor in, Tensor out, int start, int n, int stride) {
    double largest = Double.NEGATIVE_INFINITY;
    for (int k = 0; k < n; k++) {
      largest = Math.max(largest, in.getDouble(start + k * stride));
    }
    double sum = 0;
    for (int k = 0; k < n; k++) {
      sum += Math.exp(in.getDouble(start + k * stride) - largest);
    }
    for (int k = 0; k < n; k++) {
      double x = in.getDouble(start + k * stride) - largest;
      out.setDouble(start + k * stride, log ? x - Math.log(sum) : Math.exp(x) / sum);
    }
  }

  @Override
  public String toString() {
    return name() + "(axis=" + axis + ")";
  }
}
