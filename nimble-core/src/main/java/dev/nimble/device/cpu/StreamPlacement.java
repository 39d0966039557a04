package dev.nimble.device.cpu;

import dev.nimble.plan.ExecutionPlan;

/** Decides which worker issues the commands of which stream. Any answer is right; some are fast. */
@FunctionalInterface
interface StreamPlacement {
  /**
   * Returns the worker of each stream, in {@code [0, workers)}. May run kernels; the caller resets
   * memory afterwards.
   */
  int[] place(ExecutionPlan plan, BoundStep step, int workers);
}
