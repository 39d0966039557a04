package dev.nimble.op;

import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * Its operand repeated along each axis.
 *
 * @param repeats how often, one entry an axis
 */
public record Tile(ImmutableIntArray repeats) implements Operator {
  @Override
  public String name() {
    return "Tile";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 1, 1);
    TensorType type = inputs.get(0);
    Checks.that(
        repeats.length() == type.shape().rank(), "repeats " + repeats + " do not fit " + type);
    long[] extents = new long[repeats.length()];
    for (int axis = 0; axis < extents.length; axis++) {
      Checks.that(repeats.get(axis) >= 0, "repeats must not be negative: " + repeats);
      extents[axis] = (long) type.shape().extent(axis) * repeats.get(axis);
    }
    return List.of(new TensorType(type.dataType(), Shape.ofLongs(extents)));
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor in = inputs.get(0);
    Tensor out = outputs.get(0);
    // Each axis as two: the repeats, which do not move in the operand, and the extent, which does.
    int rank = repeats.length();
    int[] extents = new int[2 * rank];
    int[] strides = new int[2 * rank];
    for (int axis = 0; axis < rank; axis++) {
      extents[2 * axis] = repeats.get(axis);
      extents[2 * axis + 1] = in.type().shape().extent(axis);
      strides[2 * axis + 1] = in.type().shape().strides()[axis];
    }
    Tensor split = out.reshaped(Shape.of(extents));
    return StridedCopy.gather(in, 0, strides, split, in.type().dataType().sizeBytes());
  }

  @Override
  public String toString() {
    return name() + repeats;
  }
}
