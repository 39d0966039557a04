package dev.nimble.device.cpu;

/**
 * Runs every kernel before the step is recorded, so that lazy work is done and run times are known.
 */
final class Prerun {
  private static final int MOST_PASSES = 4;
  private static final long ENOUGH_NANOS = 300_000_000;

  private Prerun() {}

  /** The least time that each launch took, in nanoseconds, over a few passes in issue order. */
  static long[] measure(CpuRecording.Launch[] launches) {
    long[] least = new long[launches.length];
    java.util.Arrays.fill(least, Long.MAX_VALUE);
    long begin = System.nanoTime();
    for (int pass = 0; pass < MOST_PASSES; pass++) {
      for (int i = 0; i < launches.length; i++) {
        long start = System.nanoTime();
        try {
          launches[i].kernel().run();
        } catch (dev.nimble.error.InvalidArgumentException e) {
          // Inputs are zeros here; what a kernel thinks of them matters only in a real step.
        }
        least[i] = Math.min(least[i], System.nanoTime() - start);
      }
      if (System.nanoTime() - begin > ENOUGH_NANOS) {
        break;
      }
    }
    return least;
  }
}
