package dev.nimble.op;

import dev.nimble.graph.DataType;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * Conversion to another element type: floating to integer truncates toward zero, integers keep
 * their low bits, anything but zero is true.
 *
 * @param to the new element type
 */
public record Cast(DataType to) implements Elementwise {
  @Override
  public String name() {
    return "Cast";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 1, 1);
    return List.of(new TensorType(to, inputs.get(0).shape()));
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor in = inputs.get(0);
    Tensor out = outputs.get(0);
    int n = out.type().elements();
    boolean unsignedToFloating = in.type().dataType() == DataType.U64 && to.isFloating();
    if (in.type().dataType().isFloating() || unsignedToFloating) {
      return () -> {
        for (int i = 0; i < n; i++) {
          out.setDouble(i, in.getDouble(i));
        }
      };
    }
    return () -> {
      for (int i = 0; i < n; i++) {
        out.setLong(i, in.getLong(i));
      }
    };
  }

  @Override
  public String toString() {
    return "Cast(" + to + ")";
  }
}
