package dev.nimble.device;

import com.google.common.collect.ImmutableSet;
import dev.nimble.graph.Value;
import dev.nimble.plan.Tuning;

/**
 * What a recording is told beside its plan.
 *
 * @param tuning of an earlier recording; what a device does not know or cannot use is measured
 *     again
 * @param resident inputs and outputs of the graph that stay where the device computes: no step
 *     copies them ({@link Recording#resident})
 */
public record RecordOptions(Tuning tuning, ImmutableSet<Value> resident) {
  /** Measures anew; every input and output is copied by each step. */
  public static final RecordOptions DEFAULTS = new RecordOptions(Tuning.NONE, ImmutableSet.of());
}
