package dev.nimble.op;

import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * Its operand with elements added at both ends of each axis; a negative count removes elements.
 * Operands x, and optionally (constant mode) a scalar to fill with instead of 0.
 *
 * @param mode where added elements come from
 * @param before elements added before, one entry an axis
 * @param after elements added after
 */
public record Pad(Mode mode, ImmutableIntArray before, ImmutableIntArray after)
    implements Operator {
  /** Where added elements come from. */
  public enum Mode {
    /** A constant. */
    CONSTANT,
    /** The operand mirrored at its edge element. */
    REFLECT,
    /** The edge element. */
    EDGE,
    /** The other end of the operand. */
    WRAP
  }

  @Override
  public String name() {
    return "Pad";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 1, mode == Mode.CONSTANT ? 2 : 1);
    Checks.sameDataType(inputs);
    TensorType type = inputs.get(0);
    int rank = type.shape().rank();
    Checks.that(
        before.length() == rank && after.length() == rank,
        "pads " + before + " and " + after + " do not fit " + type);
    if (inputs.size() == 2) {
      Checks.that(
          inputs.get(1).elements() == 1, "the fill must be one element, not " + inputs.get(1));
    }
    long[] extents = new long[rank];
    for (int axis = 0; axis < rank; axis++) {
      int extent = type.shape().extent(axis);
      extents[axis] = (long) extent + before.get(axis) + after.get(axis);
      Checks.that(
          mode == Mode.CONSTANT || extent > 0 || extents[axis] == 0,
          "cannot " + mode + "-pad an empty axis of " + type);
    }
    return List.of(new TensorType(type.dataType(), Shape.ofLongs(extents)));
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor in = inputs.get(0);
    Tensor fill =
        inputs.size() > 1
            ? inputs.get(1)
            : Tensor.zeros(new TensorType(in.type().dataType(), Shape.scalar()));
    Tensor out = outputs.get(0);
    Shape shape = out.type().shape();
    Shape source = in.type().shape();
    int[] strides = source.strides();
    int size = in.type().dataType().sizeBytes();
    int[] position = new int[shape.rank()];
    return () -> {
      java.util.Arrays.fill(position, 0);
      for (int i = 0; i < shape.elements(); i++) {
        int offset = 0;
        boolean inside = true;
        for (int axis = 0; axis < position.length; axis++) {
          int at = mirrored(position[axis] - before.get(axis), source.extent(axis));
          inside &= at >= 0;
          offset += at * strides[axis];
        }
        Elements.copy(inside ? in : fill, inside ? offset : 0, out, i, 1, size);
        for (int axis = position.length - 1;
            axis >= 0 && ++position[axis] == shape.extent(axis);
            axis--) {
          position[axis] = 0;
        }
      }
    };
  }

  /** The operand's element for a position relative to its first, or -1 for the fill. */
  private int mirrored(int at, int extent) {
    if (at >= 0 && at < extent) {
      return at;
    }
    switch (mode) {
      case CONSTANT:
        return -1;
      case EDGE:
        return at < 0 ? 0 : extent - 1;
      case WRAP:
        return Math.floorMod(at, extent);
      default:
        int period = Math.max(1, 2 * (extent - 1));
        int within = Math.floorMod(at, period);
        return within < extent ? within : period - within;
    }
  }

  @Override
  public String toString() {
    return name() + "(" + mode + ", " + before + ", " + after + ")";
  }
}
