package dev.nimble.op;

import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Shape;
import dev.nimble.graph.TensorType;
import java.util.List;

/** Conditions that several shape rules share; each throws {@link InvalidModelException}. */
final class Checks {
  private Checks() {}

  static void count(List<TensorType> inputs, int least, int most) {
    if (inputs.size() < least || inputs.size() > most) {
      String wanted = least == most ? Integer.toString(least) : least + " to " + most;
      throw new InvalidModelException("takes " + wanted + " operands, not " + inputs.size());
    }
  }

  static void sameDataType(List<TensorType> inputs) {
    for (TensorType type : inputs) {
      if (type.dataType() != inputs.get(0).dataType()) {
        throw new InvalidModelException(
            "operands must have one element type, not " + inputs.get(0) + " and " + type);
      }
    }
  }

  static void floating(TensorType type) {
    if (!type.dataType().isFloating()) {
      throw new InvalidModelException("needs a floating-point operand, not " + type);
    }
  }

  static void numeric(TensorType type) {
    if (type.dataType() == DataType.BOOL) {
      throw new InvalidModelException("needs a numeric operand, not " + type);
    }
  }

  static void notUnsignedLong(TensorType type) {
    if (type.dataType() == DataType.U64) {
      throw new InvalidModelException("is not defined for " + type);
    }
  }

  static void bool(TensorType type) {
    if (type.dataType() != DataType.BOOL) {
      throw new InvalidModelException("needs a bool operand, not " + type);
    }
  }

  static void rankAtLeast(TensorType type, int rank) {
    if (type.shape().rank() < rank) {
      throw new InvalidModelException("needs an operand of rank " + rank + " or more, not " + type);
    }
  }

  /** Whether an operand of this shape broadcasts to another, which stays as it is. */
  static boolean broadcasts(Shape operand, Shape target) {
    boolean broadcasts = operand.rank() <= target.rank();
    for (int axis = 1; broadcasts && axis <= operand.rank(); axis++) {
      broadcasts = operand.extent(-axis) == 1 || operand.extent(-axis) == target.extent(-axis);
    }
    return broadcasts;
  }

  /** {@code axis}, in {@code [-rank, rank)}, counted from the front. */
  static int axis(int axis, int rank) {
    if (axis < -rank || axis >= Math.max(rank, 1)) {
      throw new InvalidModelException("axis " + axis + " is outside rank " + rank);
    }
    return axis < 0 ? axis + rank : axis;
  }

  static void that(boolean holds, String otherwise) {
    if (!holds) {
      throw new InvalidModelException(otherwise);
    }
  }
}
