package dev.nimble.planted.analysis;

import dev.nimble.planted.schedule.Above;

/** Imports a room above its own. */
public final class Upwards {
  private Upwards() {}

  /** Uses it. */
  public static int use() {
    return Above.value() + 1;
  }
}
