package dev.nimble.op;

import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * Axes in another order: axis i of the result is axis {@code permutation[i]} of the operand.
 *
 * @param permutation each axis once
 */
public record Transpose(ImmutableIntArray permutation) implements Operator {
  @Override
  public String name() {
    return "Transpose";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 1, 1);
    TensorType type = inputs.get(0);
    int rank = type.shape().rank();
    boolean[] seen = new boolean[rank];
    int[] extents = new int[permutation.length()];
    for (int i = 0; i < permutation.length(); i++) {
      int axis = permutation.get(i);
      Checks.that(
          permutation.length() == rank && axis >= 0 && axis < rank && !seen[axis],
          permutation + " is not a permutation of the axes of " + type);
      seen[axis] = true;
      extents[i] = type.shape().extent(axis);
    }
    Checks.that(
        permutation.length() == rank, permutation + " is not a permutation of the axes of " + type);
    return List.of(new TensorType(type.dataType(), Shape.of(extents)));
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor in = inputs.get(0);
    Tensor out = outputs.get(0);
    int[] own = in.type().shape().strides();
    int[] strides = new int[own.length];
    for (int i = 0; i < own.length; i++) {
      strides[i] = own[permutation.get(i)];
    }
    int size = in.type().dataType().sizeBytes();
    return StridedCopy.gather(in, 0, strides, out, size);
  }

  @Override
  public String toString() {
    return name() + permutation;
  }
}
