package dev.nimble.op;

import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * A function of one operand, element by element.
 *
 * @param function which
 * @param alpha the operator's first attribute (for Clip its lower limit); 0 where it has none
 * @param beta the second (for Clip its upper limit); 0 where it has none
 */
public record Unary(UnaryFunction function, float alpha, float beta) implements Elementwise {
  /** A function without attributes. */
  public static Unary of(UnaryFunction function) {
    return new Unary(function, 0, 0);
  }

  @Override
  public String name() {
    return function.onnxName();
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 1, 1);
    TensorType type = inputs.get(0);
    if (!type.dataType().isFloating()
        && !(function.takesIntegers()
            && type.dataType().isInteger()
            && type.dataType() != DataType.U64)) {
      throw new InvalidModelException("is not defined for elements of type " + type.dataType());
    }
    return List.of(type);
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor in = inputs.get(0);
    Tensor out = outputs.get(0);
    int n = out.type().elements();
    switch (in.type().dataType()) {
      case F32:
        return () -> {
          for (int i = 0; i < n; i++) {
            out.floats().put(i, function.apply(in.floats().get(i), alpha, beta));
          }
        };
      case F16:
      case BF16:
        return () -> {
          for (int i = 0; i < n; i++) {
            out.setDouble(i, function.apply((float) in.getDouble(i), alpha, beta));
          }
        };
      case F64:
        return () -> {
          for (int i = 0; i < n; i++) {
            out.doubles()
                .put(i, function.apply(in.doubles().get(i), (double) alpha, (double) beta));
          }
        };
      default:
        return () -> {
          for (int i = 0; i < n; i++) {
            out.setLong(i, function.apply(in.getLong(i), alpha, beta));
          }
        };
    }
  }

  @Override
  public String toString() {
    return alpha == 0 && beta == 0 ? name() : name() + "(" + alpha + ", " + beta + ")";
  }
}
