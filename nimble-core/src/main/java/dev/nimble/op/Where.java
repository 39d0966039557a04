package dev.nimble.op;

import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/** Operands condition (bool), x, y: x where the condition holds, else y; with broadcasting. */
public record Where() implements Elementwise {
  @Override
  public String name() {
    return "Where";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 3, 3);
    Checks.bool(inputs.get(0));
    Checks.sameDataType(inputs.subList(1, 3));
    Shape shape = Shape.broadcast(inputs.get(1).shape(), inputs.get(2).shape());
    return List.of(
        new TensorType(inputs.get(1).dataType(), Shape.broadcast(inputs.get(0).shape(), shape)));
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor condition = inputs.get(0);
    Tensor x = inputs.get(1);
    Tensor y = inputs.get(2);
    Tensor out = outputs.get(0);
    int n = out.type().elements();
    int size = out.type().dataType().sizeBytes();
    Odometer at =
        Odometer.broadcasting(
            out.type().shape(), condition.type().shape(), x.type().shape(), y.type().shape());
    return () -> {
      at.reset();
      for (int i = 0; i < n; i++, at.next()) {
        boolean first = condition.bytes().get(at.offset(0)) != 0;
        Tensor source = first ? x : y;
        Elements.copy(source, at.offset(first ? 1 : 2), out, i, 1, size);
      }
    };
  }

  @Override
  public String toString() {
    return name();
  }
}
