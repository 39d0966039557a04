package dev.nimble.op;

import dev.nimble.graph.DataType;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * The extents of its operand as I64 (ONNX Shape). Known when the graph is built, so it always
 * folds.
 */
public record ShapeOf() implements Operator {
  @Override
  public String name() {
    return "Shape";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 1, 1);
    return List.of(TensorType.of(DataType.I64, inputs.get(0).shape().rank()));
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    return () -> write(inputs.get(0).type().shape(), outputs.get(0));
  }

  /** Writes the extents of {@code shape} to {@code result}: I64, as many elements as axes. */
  public static void write(Shape shape, Tensor result) {
    for (int axis = 0; axis < shape.rank(); axis++) {
      result.longs().put(axis, shape.extent(axis));
    }
  }

  @Override
  public String toString() {
    return name();
  }
}
