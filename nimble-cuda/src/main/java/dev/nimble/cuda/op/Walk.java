package dev.nimble.cuda.op;

import dev.nimble.cuda.kernel.KernelArguments;
import dev.nimble.error.InvalidModelException;
import java.util.ArrayList;
import java.util.List;

/**
 * The positions of a shape in row-major order and the strides of some operands along them, with
 * neighbouring axes merged wherever every operand allows it.
 *
 * @param extents of the merged axes
 * @param strides of each operand, in elements
 */
record Walk(int[] extents, int[][] strides) {
  /** The most axes that kernels take (AXES in prelude.cuh). */
  static final int MOST_AXES = 8;

  /**
   * Merges axes.
   *
   * @throws InvalidModelException if more than eight are left
   */
  static Walk of(int[] extents, int[]... strides) {
    List<Integer> kept = new ArrayList<>(); // extents
    List<int[]> steps = new ArrayList<>(); // one stride an operand
    for (int axis = 0; axis < extents.length; axis++) {
      if (extents[axis] == 1) {
        continue;
      }
      int[] step = new int[strides.length];
      for (int k = 0; k < strides.length; k++) {
        step[k] = strides[k][axis];
      }
      int last = kept.size() - 1;
      if (last >= 0 && merges(steps.get(last), step, extents[axis])) {
        kept.set(last, kept.get(last) * extents[axis]);
        steps.set(last, step);
      } else {
        kept.add(extents[axis]);
        steps.add(step);
      }
    }
    if (kept.size() > MOST_AXES) {
      throw new InvalidModelException(
          "moves along "
              + kept.size()
              + " axes that cannot be merged; the CUDA device has kernels for "
              + MOST_AXES);
    }
    int[][] merged = new int[strides.length][kept.size()];
    for (int k = 0; k < strides.length; k++) {
      for (int axis = 0; axis < kept.size(); axis++) {
        merged[k][axis] = steps.get(axis)[k];
      }
    }
    return new Walk(kept.stream().mapToInt(Integer::intValue).toArray(), merged);
  }

  private static boolean merges(int[] outer, int[] inner, int extent) {
    for (int k = 0; k < outer.length; k++) {
      if (outer[k] != inner[k] * extent) {
        return false;
      }
    }
    return true;
  }

  int rank() {
    return extents.length;
  }

  /** Adds rank and extents to the arguments. */
  KernelArguments addExtents(KernelArguments arguments) {
    return arguments.integer(rank()).integers(extents, MOST_AXES);
  }

  /** Adds the strides of operand {@code k} to the arguments. */
  KernelArguments addStrides(KernelArguments arguments, int k) {
    return arguments.integers(strides[k], MOST_AXES);
  }
}
