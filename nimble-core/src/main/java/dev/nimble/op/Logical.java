package dev.nimble.op;

import dev.nimble.graph.DataType;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * A connective of two bool operands, element by element with broadcasting.
 *
 * @param connective which
 */
public record Logical(Connective connective) implements Elementwise {
  /** The connectives. */
  public enum Connective {
    AND("And"),
    OR("Or"),
    XOR("Xor");

    private final String onnxName;

    Connective(String onnxName) {
      this.onnxName = onnxName;
    }

    boolean apply(boolean a, boolean b) {
      return this == AND ? a && b : this == OR ? a || b : a ^ b;
    }
  }

  @Override
  public String name() {
    return connective.onnxName;
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 2, 2);
    inputs.forEach(Checks::bool);
    return List.of(
        new TensorType(
            DataType.BOOL, Shape.broadcast(inputs.get(0).shape(), inputs.get(1).shape())));
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor a = inputs.get(0);
    Tensor b = inputs.get(1);
    Tensor out = outputs.get(0);
    int n = out.type().elements();
    Odometer at = Odometer.broadcasting(out.type().shape(), a.type().shape(), b.type().shape());
    return () -> {
      at.reset();
      for (int i = 0; i < n; i++, at.next()) {
        boolean p = a.bytes().get(at.offset(0)) != 0;
        boolean q = b.bytes().get(at.offset(1)) != 0;
        out.bytes().put(i, (byte) (connective.apply(p, q) ? 1 : 0));
      }
    };
  }

  @Override
  public String toString() {
    return name();
  }
}
