package dev.nimble.op;

import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * Its operand broadcast to a shape.
 *
 * @param target the result's shape, to which the operand broadcasts
 */
public record Expand(Shape target) implements Operator {
  @Override
  public String name() {
    return "Expand";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 1, 1);
    TensorType type = inputs.get(0);
    Checks.that(Checks.broadcasts(type.shape(), target), type + " does not broadcast to " + target);
    return List.of(new TensorType(type.dataType(), target));
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor in = inputs.get(0);
    int[] strides = in.type().shape().broadcastStrides(target);
    return StridedCopy.gather(in, 0, strides, outputs.get(0), in.type().dataType().sizeBytes());
  }

  @Override
  public String toString() {
    return name() + target;
  }
}
