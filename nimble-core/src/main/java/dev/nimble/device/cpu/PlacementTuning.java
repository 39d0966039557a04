package dev.nimble.device.cpu;

import com.google.common.collect.ImmutableSortedMap;
import dev.nimble.error.InvalidPlanException;
import dev.nimble.plan.Tuning;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A measured placement of streams on workers, as tuning. */
final class PlacementTuning {
  private static final String WORKERS = "cpu.workers";
  private static final String PLACEMENT = "cpu.placement";

  private PlacementTuning() {}

  /** The tuning that says so, where {@code workers} might have been used. */
  static Tuning of(int[] workerOf, int workers) {
    String placement =
        Arrays.stream(workerOf).mapToObj(Integer::toString).collect(Collectors.joining(" "));
    return new Tuning(
        ImmutableSortedMap.of(WORKERS, Integer.toString(workers), PLACEMENT, placement));
  }

  /**
   * The worker of each stream; null if {@code tuning} has none, or it was measured for another
   * number of workers.
   *
   * @throws InvalidPlanException if it is no placement of that many streams
   */
  static int @Nullable [] read(Tuning tuning, int streams, int workers) {
    String placement = tuning.entries().getOrDefault(PLACEMENT, "");
    String measuredFor = tuning.entries().getOrDefault(WORKERS, "");
    if (!measuredFor.equals(Integer.toString(workers))) {
      return null;
    }
    String[] words = placement.isEmpty() ? new String[0] : placement.split(" ", -1);
    boolean right = words.length == streams;
    int[] workerOf = new int[words.length];
    for (int i = 0; i < words.length; i++) {
      workerOf[i] = words[i].matches("\\d{1,6}") ? Integer.parseInt(words[i]) : workers;
      right &= workerOf[i] < workers;
    }
    if (!right) {
      throw new InvalidPlanException(
          "has a tuning entry "
              + PLACEMENT
              + " that does not place its "
              + streams
              + " streams on "
              + workers
              + " workers");
    }
    return workerOf;
  }
}
