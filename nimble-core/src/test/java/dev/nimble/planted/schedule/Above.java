package dev.nimble.planted.schedule;

import dev.nimble.planted.analysis.Upwards;

/** Imports the room below, as it may; with {@link Upwards} that makes a cycle. */
public final class Above {
  private Above() {}

  /** A value. */
  public static int value() {
    return 1;
  }

  /** Uses the room below. */
  public static int twice() {
    return 2 * Upwards.use();
  }
}
