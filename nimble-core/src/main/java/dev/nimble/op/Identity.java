package dev.nimble.op;

import dev.nimble.graph.Operator;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/** A copy of its operand; also how a variable, an input or a constant becomes a graph output. */
public record Identity() implements Operator {
  @Override
  public String name() {
    return "Identity";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 1, 1);
    return inputs;
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    return () -> outputs.get(0).copyFrom(inputs.get(0));
  }

  @Override
  public String toString() {
    return name();
  }
}
