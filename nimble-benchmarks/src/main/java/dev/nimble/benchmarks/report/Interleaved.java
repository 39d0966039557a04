package dev.nimble.benchmarks.report;

import java.util.Arrays;
import java.util.List;

/**
 * Times several actions in turn, round after round, so that a disturbance of the machine meets them
 * all, and takes medians. For ratios; JMH is for single figures.
 */
public final class Interleaved {
  private Interleaved() {}

  /**
   * Returns the median time of each action in nanoseconds.
   *
   * @param actions what is timed; each is also run as warm-up
   * @param warmups rounds that do not count
   * @param rounds the most rounds that count
   * @param millis no round starts after so long, warm-up included, once three have been counted
   */
  public static long[] medianNanos(List<Runnable> actions, int warmups, int rounds, long millis) {
    long end = System.nanoTime() + millis * 1_000_000;
    for (int round = 0; round < warmups && System.nanoTime() < end - millis * 500_000; round++) {
      actions.forEach(Runnable::run);
    }
    long[][] times = new long[actions.size()][rounds];
    int counted = 0;
    while (counted < rounds && (counted < 3 || System.nanoTime() < end)) {
      for (int i = 0; i < times.length; i++) {
        long start = System.nanoTime();
        actions.get(i).run();
        times[i][counted] = System.nanoTime() - start;
      }
      counted++;
    }
    long[] medians = new long[times.length];
    for (int i = 0; i < times.length; i++) {
      long[] sorted = Arrays.copyOf(times[i], counted);
      Arrays.sort(sorted);
      medians[i] = sorted[counted / 2];
    }
    return medians;
  }
}
