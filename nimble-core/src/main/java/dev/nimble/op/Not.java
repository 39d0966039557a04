package dev.nimble.op;

import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/** Negation of a bool operand. */
public record Not() implements Elementwise {
  @Override
  public String name() {
    return "Not";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 1, 1);
    Checks.bool(inputs.get(0));
    return inputs;
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor in = inputs.get(0);
    Tensor out = outputs.get(0);
    return () -> {
      for (int i = 0; i < out.type().elements(); i++) {
        out.bytes().put(i, (byte) (in.bytes().get(i) == 0 ? 1 : 0));
      }
    };
  }

  @Override
  public String toString() {
    return name();
  }
}
