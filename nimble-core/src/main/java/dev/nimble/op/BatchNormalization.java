package dev.nimble.op;

import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * Batch normalisation with fixed statistics: (x - mean) / sqrt(variance + epsilon) * scale + bias,
 * per channel of X {@code [N, C, ...]}. Operands X, scale, bias, mean, variance.
 *
 * @param epsilon added to the variance
 */
public record BatchNormalization(float epsilon) implements Operator {
  @Override
  public String name() {
    return "BatchNormalization";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 5, 5);
    Checks.sameDataType(inputs);
    TensorType x = inputs.get(0);
    Checks.floating(x);
    Checks.rankAtLeast(x, 2);
    Shape channels = Shape.of(x.shape().extent(1));
    for (TensorType operand : inputs.subList(1, 5)) {
      Checks.that(
          operand.shape().equals(channels),
          "scale, bias, mean and variance must be " + channels + ", not " + operand);
    }
    return List.of(x);
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor x = inputs.get(0);
    Tensor out = outputs.get(0);
    int channels = x.type().shape().extent(1);
    int planes = x.type().shape().extent(0) * channels;
    int area = planes == 0 ? 0 : x.type().elements() / planes;
    return () -> {
      for (int plane = 0; plane < planes; plane++) {
        int channel = plane % channels;
        double inverse = 1 / Math.sqrt(inputs.get(4).getDouble(channel) + epsilon);
        double scale = inputs.get(1).getDouble(channel) * inverse;
        double shift = inputs.get(2).getDouble(channel) - inputs.get(3).getDouble(channel) * scale;
        for (int i = plane * area; i < (plane + 1) * area; i++) {
          out.setDouble(i, x.getDouble(i) * scale + shift);
        }
      }
    };
  }

  @Override
  public String toString() {
    return name() + "(epsilon=" + epsilon + ")";
  }
}
