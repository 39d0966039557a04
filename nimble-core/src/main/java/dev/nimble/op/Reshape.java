package dev.nimble.op;

import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * The same elements in the same order under another shape (ONNX Reshape, Squeeze, Unsqueeze,
 * Flatten).
 *
 * @param target the new shape, of as many elements
 */
public record Reshape(Shape target) implements Operator {
  @Override
  public String name() {
    return "Reshape";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 1, 1);
    TensorType type = inputs.get(0);
    Checks.that(
        type.elements() == target.elements(),
        "cannot reshape " + type + " (" + type.elements() + " elements) to " + target);
    return List.of(new TensorType(type.dataType(), target));
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor in = inputs.get(0);
    Tensor out = outputs.get(0);
    int size = in.type().dataType().sizeBytes();
    return () -> Elements.copy(in, 0, out, 0, in.type().elements(), size);
  }

  @Override
  public String toString() {
    return name() + target;
  }
}
