package dev.nimble.device.cpu;

import dev.nimble.graph.Shape;

/** Strides of operands along the axes of a result. */
final class Strides {
  private Strides() {}

  /**
   * Elements between neighbours of {@code operand} along each axis of {@code result}: 0 if
   * broadcast.
   */
  static int[] broadcast(Shape operand, Shape result) {
    int[] own = operand.strides();
    int shift = result.rank() - operand.rank();
    int[] strides = new int[result.rank()];
    for (int axis = 0; axis < operand.rank(); axis++) {
      strides[axis + shift] = operand.extent(axis) == 1 ? 0 : own[axis];
    }
    return strides;
  }
}
