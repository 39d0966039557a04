package dev.nimble;

import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;

/** Tensors made larger or smaller at the end of their axes. */
final class Padding {
  private Padding() {}

  /** {@code tensor} within zeros of {@code type}; itself if it has that type. */
  static Tensor pad(String name, Tensor tensor, TensorType type) {
    boolean fits =
        tensor.type().dataType() == type.dataType()
            && tensor.type().shape().rank() == type.shape().rank();
    for (int axis = 0; fits && axis < type.shape().rank(); axis++) {
      fits = tensor.type().shape().extent(axis) <= type.shape().extent(axis);
    }
    if (!fits) {
      throw new InvalidArgumentException(
          "input '" + name + "' is " + tensor.type() + ", which cannot be padded to " + type);
    }
    return resized(tensor, type);
  }

  /** The first elements of {@code tensor} along each axis, as {@code type} says. */
  static Tensor cut(Tensor tensor, TensorType type) {
    return resized(tensor, type);
  }

  private static Tensor resized(Tensor from, TensorType type) {
    if (from.type().equals(type)) {
      return from;
    }
    Tensor to = Tensor.zeros(type);
    if (type.elements() > 0 && from.type().elements() > 0) {
      copy(from, to, 0, 0, 0);
    }
    return to;
  }

  /** Copies what both have, from these elements on along this axis and those after it. */
  private static void copy(Tensor from, Tensor to, int axis, int fromElement, int toElement) {
    Shape source = from.type().shape();
    Shape target = to.type().shape();
    int common = Math.min(source.extent(axis), target.extent(axis));
    if (axis == source.rank() - 1) {
      int bytes = from.type().dataType().sizeBytes();
      to.bytes().put(toElement * bytes, from.bytes(), fromElement * bytes, common * bytes);
      return;
    }
    int fromStride = source.strides()[axis];
    int toStride = target.strides()[axis];
    for (int i = 0; i < common; i++) {
      copy(from, to, axis + 1, fromElement + i * fromStride, toElement + i * toStride);
    }
  }
}
