package dev.nimble.device.cpu;

import java.util.Arrays;

/** Placements that tests force. */
final class Placements {
  private Placements() {}

  /** Stream s on worker s mod workers; no prerun. */
  static StreamPlacement roundRobin() {
    return (plan, step, workers) -> {
      int[] workerOf = new int[plan.streams()];
      Arrays.setAll(workerOf, s -> s % workers);
      return workerOf;
    };
  }
}
