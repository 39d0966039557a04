package dev.nimble.op;

import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * Standardises over the axes from {@code axis} on: (x - mean) / sqrt(variance + epsilon) * scale +
 * bias. Operands x, scale, and optionally bias; the last two broadcast to the normalised axes.
 * Computed in double precision, rounded once.
 *
 * @param axis the first normalised axis; a negative one counts from the end
 * @param epsilon added to the variance
 */
public record LayerNormalization(int axis, float epsilon) implements Operator {
  @Override
  public String name() {
    return "LayerNormalization";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 2, 3);
    Checks.sameDataType(inputs);
    TensorType x = inputs.get(0);
    Checks.floating(x);
    Checks.rankAtLeast(x, 1);
    Shape normalised = normalised(x.shape());
    for (TensorType operand : inputs.subList(1, inputs.size())) {
      Checks.that(
          Checks.broadcasts(operand.shape(), normalised),
          "scale and bias must broadcast to " + normalised + ", not be " + operand);
    }
    return List.of(x);
  }

  private Shape normalised(Shape shape) {
    int first = Checks.axis(axis, shape.rank());
    return Shape.of(java.util.Arrays.copyOfRange(shape.toArray(), first, shape.rank()));
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor x = inputs.get(0);
    Tensor scale = inputs.get(1);
    Tensor bias = inputs.size() > 2 ? inputs.get(2) : scale;
    boolean biased = inputs.size() > 2;
    Tensor out = outputs.get(0);
    Shape normalised = normalised(x.type().shape());
    int n = normalised.elements();
    int rows = n == 0 ? 0 : x.type().elements() / n;
    Odometer at = Odometer.broadcasting(normalised, scale.type().shape(), bias.type().shape());
    return () -> {
      for (int row = 0; row < rows; row++) {
        double mean = 0;
        for (int i = 0; i < n; i++) {
          mean += x.getDouble(row * n + i);
        }
        mean /= n;
        double variance = 0;
        for (int i = 0; i < n; i++) {
          double difference = x.getDouble(row * n + i) - mean;
          variance += difference * difference;
        }
        double inverse = 1 / Math.sqrt(variance / n + epsilon);
        at.reset();
        for (int i = 0; i < n; i++, at.next()) {
          double y = (x.getDouble(row * n + i) - mean) * inverse * scale.getDouble(at.offset(0));
          out.setDouble(row * n + i, biased ? y + bias.getDouble(at.offset(1)) : y);
        }
      }
    };
  }

  @Override
  public String toString() {
    return name() + "(axis=" + axis + ", epsilon=" + epsilon + ")";
  }
}
