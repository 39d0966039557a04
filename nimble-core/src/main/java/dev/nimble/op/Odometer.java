package dev.nimble.op;

import dev.nimble.graph.Shape;

/**
 * Walks the positions of a shape in row-major order and keeps, for several strided operands, the
 * offset of the element at the present position.
 */
final class Odometer {
  private final int[] extents;
  private final int[] position;
  private final int[][] strides;
  private final int[] offsets;

  /** Operand {@code k} moves by {@code strides[k][axis]} elements along each axis. */
  Odometer(Shape shape, int[]... strides) {
    this.extents = shape.toArray();
    this.position = new int[extents.length];
    this.strides = strides;
    this.offsets = new int[strides.length];
  }

  /** Operands of these shapes, each broadcast to {@code shape}. */
  static Odometer broadcasting(Shape shape, Shape... operands) {
    int[][] strides = new int[operands.length][];
    for (int k = 0; k < operands.length; k++) {
      strides[k] = operands[k].broadcastStrides(shape);
    }
    return new Odometer(shape, strides);
  }

  /** Back to the first position. */
  void reset() {
    java.util.Arrays.fill(position, 0);
    java.util.Arrays.fill(offsets, 0);
  }

  /** Offset of operand {@code k} at the present position, in elements. */
  int offset(int k) {
    return offsets[k];
  }

  /** On to the next position; from the last back to the first. */
  void next() {
    for (int axis = extents.length - 1; axis >= 0; axis--) {
      boolean carry = ++position[axis] == extents[axis];
      int steps = carry ? 1 - extents[axis] : 1;
      for (int k = 0; k < offsets.length; k++) {
        offsets[k] += steps * strides[k][axis];
      }
      if (!carry) {
        return;
      }
      position[axis] = 0;
    }
  }
}
