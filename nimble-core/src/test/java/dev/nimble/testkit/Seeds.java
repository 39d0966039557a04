package dev.nimble.testkit;

import java.util.Random;

/**
 * Seeds of property tests: fixed by default, or one given by {@code -Dnimble.seed=N} to run it
 * again.
 */
public final class Seeds {
  private Seeds() {}

  /** A check of one seed. */
  @FunctionalInterface
  public interface Check {
    /** Runs the check on randomness that depends only on the seed. */
    void accept(Random random, long seed) throws Exception;
  }

  /** Runs {@code check} for {@code count} seeds; a failure names its seed. */
  public static void forEach(int count, Check check) {
    Long only = Long.getLong("nimble.seed");
    for (long seed = only == null ? 0 : only; seed < (only == null ? count : only + 1); seed++) {
      try {
        check.accept(new Random(seed * 0x9E3779B97F4A7C15L), seed);
      } catch (Throwable failure) {
        throw new AssertionError(
            "run again with -Dnimble.seed=" + seed + ": " + failure.getMessage(), failure);
      }
    }
  }
}
