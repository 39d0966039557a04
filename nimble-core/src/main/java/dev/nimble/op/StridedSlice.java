package dev.nimble.op;

import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * Some elements along each axis (ONNX Slice, resolved): element i along an axis is element {@code
 * starts + i * steps} of the operand. One entry an axis in each list.
 *
 * @param starts the first element
 * @param extents how many elements
 * @param steps the distance between elements; may be negative, not 0
 */
public record StridedSlice(
    ImmutableIntArray starts, ImmutableIntArray extents, ImmutableIntArray steps)
    implements Operator {
  @Override
  public String name() {
    return "Slice";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 1, 1);
    TensorType type = inputs.get(0);
    int rank = type.shape().rank();
    Checks.that(
        starts.length() == rank && extents.length() == rank && steps.length() == rank,
        "needs a start, an extent and a step for each axis of " + type);
    for (int axis = 0; axis < rank; axis++) {
      int extent = extents.get(axis);
      long last = starts.get(axis) + (long) (extent - 1) * steps.get(axis);
      int size = type.shape().extent(axis);
      Checks.that(
          steps.get(axis) != 0
              && extent >= 0
              && (extent == 0
                  || (starts.get(axis) >= 0
                      && starts.get(axis) < size
                      && last >= 0
                      && last < size)),
          "slice starts=" + starts + " extents=" + extents + " steps=" + steps + " leaves " + type);
    }
    return List.of(new TensorType(type.dataType(), Shape.of(extents.toArray())));
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor in = inputs.get(0);
    int[] own = in.type().shape().strides();
    int[] strides = new int[own.length];
    int start = 0;
    for (int axis = 0; axis < own.length; axis++) {
      strides[axis] = own[axis] * steps.get(axis);
      start += own[axis] * starts.get(axis);
    }
    return StridedCopy.gather(in, start, strides, outputs.get(0), in.type().dataType().sizeBytes());
  }

  @Override
  public String toString() {
    return name() + "(starts=" + starts + ", extents=" + extents + ", steps=" + steps + ")";
  }
}
