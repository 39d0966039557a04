package dev.nimble.op;

import dev.nimble.graph.DataType;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * A comparison, element by element with broadcasting; the result is bool.
 *
 * @param relation which
 */
public record Compare(Relation relation) implements Elementwise {
  /** The comparisons. */
  public enum Relation {
    EQUAL("Equal"),
    LESS("Less"),
    LESS_OR_EQUAL("LessOrEqual"),
    GREATER("Greater"),
    GREATER_OR_EQUAL("GreaterOrEqual");

    private final String onnxName;

    Relation(String onnxName) {
      this.onnxName = onnxName;
    }

    /** Whether it holds; false for a NaN. */
    public boolean holds(double a, double b) {
      switch (this) {
        case EQUAL:
          return a == b;
        case LESS:
          return a < b;
        case LESS_OR_EQUAL:
          return a <= b;
        case GREATER:
          return a > b;
        default:
          return a >= b;
      }
    }

    /** Whether it holds. */
    public boolean holds(long a, long b) {
      int order = Long.compare(a, b);
      return holds((double) order, 0.0);
    }
  }

  @Override
  public String name() {
    return relation.onnxName;
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 2, 2);
    Checks.sameDataType(inputs);
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
    boolean floating = a.type().dataType().isFloating();
    // flipping the sign bit of both turns the unsigned order into the signed one
    long flip = a.type().dataType() == DataType.U64 ? Long.MIN_VALUE : 0;
    Odometer at = Odometer.broadcasting(out.type().shape(), a.type().shape(), b.type().shape());
    return () -> {
      at.reset();
      for (int i = 0; i < n; i++, at.next()) {
        boolean holds =
            floating
                ? relation.holds(a.getDouble(at.offset(0)), b.getDouble(at.offset(1)))
                : relation.holds(a.getLong(at.offset(0)) ^ flip, b.getLong(at.offset(1)) ^ flip);
        out.bytes().put(i, (byte) (holds ? 1 : 0));
      }
    };
  }

  @Override
  public String toString() {
    return name();
  }
}
