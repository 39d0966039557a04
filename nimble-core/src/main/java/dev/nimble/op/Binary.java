package dev.nimble.op;

import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * A function of two operands, element by element, with ONNX's multidirectional broadcasting. The
 * result has the first operand's element type; only the exponent of Pow may have another.
 *
 * @param function which
 */
public record Binary(BinaryFunction function) implements Elementwise {
  @Override
  public String name() {
    return function.onnxName();
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 2, 2);
    TensorType a = inputs.get(0);
    TensorType b = inputs.get(1);
    Checks.numeric(a);
    Checks.numeric(b);
    if (a.dataType() != b.dataType() && function != BinaryFunction.POW) {
      throw new InvalidModelException("operands differ in element type: " + a + " and " + b);
    }
    return List.of(new TensorType(a.dataType(), Shape.broadcast(a.shape(), b.shape())));
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor a = inputs.get(0);
    Tensor b = inputs.get(1);
    Tensor out = outputs.get(0);
    int n = out.type().elements();
    Odometer at = Odometer.broadcasting(out.type().shape(), a.type().shape(), b.type().shape());
    DataType type = a.type().dataType();
    if (type == DataType.F64 || (type.isFloating() && b.type().dataType() == DataType.F64)) {
      return () -> {
        at.reset();
        for (int i = 0; i < n; i++, at.next()) {
          out.setDouble(i, function.apply(a.getDouble(at.offset(0)), b.getDouble(at.offset(1))));
        }
      };
    }
    if (type.isFloating()) {
      return () -> {
        at.reset();
        for (int i = 0; i < n; i++, at.next()) {
          out.setDouble(
              i,
              function.apply((float) a.getDouble(at.offset(0)), (float) b.getDouble(at.offset(1))));
        }
      };
    }
    if (b.type().dataType().isFloating()) { // an integer to a floating power
      return () -> {
        at.reset();
        for (int i = 0; i < n; i++, at.next()) {
          out.setLong(
              i, (long) function.apply(a.getDouble(at.offset(0)), b.getDouble(at.offset(1))));
        }
      };
    }
    if (type == DataType.U64) {
      return () -> {
        at.reset();
        for (int i = 0; i < n; i++, at.next()) {
          out.setLong(i, function.applyUnsigned(a.getLong(at.offset(0)), b.getLong(at.offset(1))));
        }
      };
    }
    return () -> {
      at.reset();
      for (int i = 0; i < n; i++, at.next()) {
        out.setLong(i, function.apply(a.getLong(at.offset(0)), b.getLong(at.offset(1))));
      }
    };
  }

  @Override
  public String toString() {
    return function == BinaryFunction.FMOD ? "Mod(fmod)" : name();
  }
}
