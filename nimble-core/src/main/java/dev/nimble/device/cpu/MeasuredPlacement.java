package dev.nimble.device.cpu;

import dev.nimble.plan.ExecutionPlan;
import java.util.Arrays;

/**
 * The prerun: runs every kernel before the step is recorded, so that lazy work is done and run
 * times are known; then searches for the placement of the least simulated makespan. The simulation
 * knows nothing of what threads cost each other (handovers, caches, memory, shared cores); so
 * unless a step is long, the placement must also win against a single worker by the clock.
 */
final class MeasuredPlacement implements StreamPlacement {
  private static final int FEWEST_PASSES = 3;
  private static final int MOST_PASSES = 3_000;

  /** Time for short kernels to be compiled, too: a cold one would seem worth a thread. */
  private static final long PRERUN_NANOS = 150_000_000;

  private static final long CHECKED_STEP_NANOS = 100_000_000;
  private static final int ROUNDS = 3;
  private static final long ROUND_NANOS = 10_000_000;

  @Override
  public int[] place(ExecutionPlan plan, BoundStep step, int workers) {
    long[] nanos = measure(step.launches());
    int[] single = new int[plan.streams()];
    int[] found = PlacementSearch.of(plan.commands(), nanos, plan.streams(), workers);
    return Arrays.equals(found, single)
            || Arrays.stream(nanos).sum() > CHECKED_STEP_NANOS
            || wins(plan, step, found, single)
        ? found
        : single;
  }

  /** The least time that each launch took, in nanoseconds, over some passes in issue order. */
  static long[] measure(BoundStep.Launch[] launches) {
    long[] least = new long[launches.length];
    Arrays.fill(least, Long.MAX_VALUE);
    long begin = System.nanoTime();
    for (int pass = 0; pass < MOST_PASSES; pass++) {
      for (int i = 0; i < launches.length; i++) {
        long start = System.nanoTime();
        try {
          launches[i].kernel().run();
        } catch (RuntimeException e) {
          // Inputs are zeros here; what a kernel thinks of its operands matters in a real step.
        }
        least[i] = Math.min(least[i], System.nanoTime() - start);
      }
      long spent = System.nanoTime() - begin;
      if (spent > (pass < FEWEST_PASSES - 1 ? 2 * PRERUN_NANOS : PRERUN_NANOS)) {
        break;
      }
    }
    return least;
  }

  /** Whether replays by {@code found} take at most 95% of the time of those by {@code single}. */
  private static boolean wins(ExecutionPlan plan, BoundStep step, int[] found, int[] single) {
    double foundNanos = Double.MAX_VALUE;
    double singleNanos = Double.MAX_VALUE;
    try (Workers many = new Workers(plan, step.launches(), found);
        Workers one = new Workers(plan, step.launches(), single)) {
      for (int round = 0; round < ROUNDS; round++) {
        foundNanos = Math.min(foundNanos, meanNanos(many));
        singleNanos = Math.min(singleNanos, meanNanos(one));
      }
    }
    return foundNanos <= 0.95 * singleNanos;
  }

  /** The mean time of a replay; short if kernels fail, which is found again in a real step. */
  private static double meanNanos(Workers workers) {
    long begin = System.nanoTime();
    long spent = 0;
    int replays = 0;
    while (spent < ROUND_NANOS && (workers.run() || replays == 0)) {
      replays++;
      spent = System.nanoTime() - begin;
    }
    return (double) spent / replays;
  }
}
