package dev.nimble.cuda.op;

import dev.nimble.graph.DataType;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.op.Elementwise;
import java.util.ArrayList;
import java.util.List;

/**
 * An operator with contents for its operands.
 *
 * @param operator the operator
 * @param operands what it is given
 */
record OperatorCase(Operator operator, List<Tensor> operands) {
  static OperatorCase of(Operator operator, Tensor... operands) {
    return new OperatorCase(operator, List.of(operands));
  }

  List<TensorType> inputTypes() {
    return operands.stream().map(Tensor::type).toList();
  }

  List<TensorType> outputTypes() {
    return operator.infer(inputTypes());
  }

  /** What the reference kernel gives: the outputs, then the operands that it changed. */
  List<Tensor> reference() {
    List<Tensor> inputs = operands.stream().map(Tensor::copy).toList();
    List<Tensor> outputs = new ArrayList<>();
    outputTypes().forEach(type -> outputs.add(Tensor.zeros(type)));
    operator.bind(inputs, outputs).run();
    operator.mutatedInputs().forEach(k -> outputs.add(inputs.get(k)));
    return outputs;
  }

  /**
   * Whether a result is as good as the reference's: integers and bools are equal; floating elements
   * are near, as a part of the element or, where it is a sum of larger ones, of 1.
   */
  boolean agrees(Tensor actual, Tensor expected) {
    DataType type = expected.type().dataType();
    if (!type.isFloating()) {
      return actual.bitwiseEquals(expected);
    }
    boolean sums = !(operator instanceof Elementwise);
    for (int i = 0; i < expected.type().elements(); i++) {
      double x = actual.getDouble(i);
      double y = expected.getDouble(i);
      double least = sums ? 1 : 1e-4;
      boolean same = x == y || (Double.isNaN(x) && Double.isNaN(y));
      if (!same && !(Math.abs(x - y) <= tolerance(type) * Math.max(least, Math.abs(y)))) {
        return false;
      }
    }
    return actual.type().equals(expected.type());
  }

  /** How far an element may be from the reference. */
  private static double tolerance(DataType type) {
    switch (type) {
      case F32:
        return 1e-4;
      case F64:
        return 1e-9;
      case F16:
        return 8 * 0x1p-11; // a few roundings to 11 bits
      case BF16:
        return 8 * 0x1p-8;
      default:
        throw new IllegalArgumentException(type.toString());
    }
  }

  @Override
  public String toString() {
    return operator + " of " + inputTypes();
  }
}
