package dev.nimble.plan;

import com.google.common.collect.ImmutableSortedMap;

/**
 * What a device found out by measuring while it recorded a plan: where streams run, which algorithm
 * is fastest. Plain data that only the device understands; a later recording of the same plan takes
 * it instead of measuring again. It may be wrong or for another machine: a device checks it.
 *
 * @param entries by name; small texts
 */
public record Tuning(ImmutableSortedMap<String, String> entries) {
  /** Nothing was measured. */
  public static final Tuning NONE = new Tuning(ImmutableSortedMap.of());
}
