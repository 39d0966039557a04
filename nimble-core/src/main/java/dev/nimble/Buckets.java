package dev.nimble;

import com.google.common.collect.ImmutableSortedMap;
import com.google.common.collect.ImmutableSortedSet;
import dev.nimble.error.InvalidArgumentException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * The extents of one dimension for which engines are prepared; others are padded to the next.
 *
 * @param dimension the dimension's name, as the model's graph takes it
 * @param extents at least one; positive
 */
public record Buckets(String dimension, ImmutableSortedSet<Integer> extents) {
  /** Checks the extents. */
  public Buckets {
    if (extents.isEmpty() || extents.first() < 1) {
      throw new InvalidArgumentException(
          "buckets of '" + dimension + "' must be positive extents, not " + extents);
    }
  }

  /** Buckets of these extents, in any order. */
  public static Buckets of(String dimension, Integer... extents) {
    return new Buckets(dimension, ImmutableSortedSet.copyOf(Arrays.asList(extents)));
  }

  /**
   * These dimensions with the next larger bucket.
   *
   * @throws InvalidArgumentException if there is none, or the dimension is missing
   */
  ImmutableSortedMap<String, Integer> pad(Map<String, Integer> dimensions) {
    Integer extent = dimensions.get(dimension);
    Integer bucket = extent == null ? null : extents.ceiling(extent);
    if (bucket == null) {
      throw new InvalidArgumentException(
          "dimension '"
              + dimension
              + "' is "
              + (extent == null ? "missing" : extent.toString())
              + ", which fits none of the buckets "
              + extents);
    }
    Map<String, Integer> padded = new HashMap<>(dimensions);
    padded.put(dimension, bucket);
    return ImmutableSortedMap.copyOf(padded);
  }
}
