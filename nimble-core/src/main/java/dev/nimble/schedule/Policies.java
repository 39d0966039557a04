package dev.nimble.schedule;

import dev.nimble.error.InvalidArgumentException;
import java.util.List;

/** The policies that there are. */
public final class Policies {
  private Policies() {}

  /** The names that {@link #named} takes. */
  public static List<String> names() {
    return List.of(SingleStream.NAME, NimblePolicy.NAME);
  }

  /** Every node on one stream, in program order: the baseline. */
  public static SchedulingPolicy singleStream() {
    return new SingleStream();
  }

  /**
   * Maximum logical concurrency with the fewest synchronisations, and then the fewest streams
   * [Nimble, Algorithm 1].
   */
  public static SchedulingPolicy nimble() {
    return new NimblePolicy(Integer.MAX_VALUE);
  }

  /**
   * As {@link #nimble()} where the graph's width allows it; otherwise nodes are placed on {@code
   * mostStreams} streams by list scheduling, and only those synchronisations are kept that stream
   * order does not imply.
   *
   * @throws InvalidArgumentException if {@code mostStreams} is not positive
   */
  public static SchedulingPolicy nimble(int mostStreams) {
    if (mostStreams < 1) {
      throw new InvalidArgumentException("a schedule needs at least 1 stream, not " + mostStreams);
    }
    return new NimblePolicy(mostStreams);
  }

  /**
   * The policy of that name.
   *
   * @param mostStreams a bound on the streams, or 0 for none
   * @throws InvalidArgumentException if there is none, or the bound is negative; names those that
   *     there are
   */
  public static SchedulingPolicy named(String name, int mostStreams) {
    switch (name) {
      case SingleStream.NAME:
        return singleStream();
      case NimblePolicy.NAME:
        return mostStreams == 0 ? nimble() : nimble(mostStreams);
      default:
        throw new InvalidArgumentException(
            "there is no policy '" + name + "'; there are " + names());
    }
  }
}
