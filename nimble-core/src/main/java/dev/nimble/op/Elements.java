package dev.nimble.op;

import dev.nimble.graph.Tensor;

/** Moves elements whatever their type. */
final class Elements {
  private Elements() {}

  /** Copies {@code count} neighbouring elements of {@code size} bytes; offsets in elements. */
  static void copy(Tensor from, int fromOffset, Tensor to, int toOffset, int count, int size) {
    to.bytes().put(toOffset * size, from.bytes(), fromOffset * size, count * size);
  }
}
