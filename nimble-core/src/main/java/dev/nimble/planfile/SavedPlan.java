package dev.nimble.planfile;

import dev.nimble.plan.ExecutionPlan;
import dev.nimble.plan.Tuning;

/**
 * What a plan file holds.
 *
 * @param plan the plan; one that was read has passed verification
 * @param target what it was made for, as {@code Device.target()} says; its first word is the kind
 *     of device: {@code cpu}
 * @param tuning what that device measured
 */
public record SavedPlan(ExecutionPlan plan, String target, Tuning tuning) {
  /** The kind of device that the plan was made for: {@code cpu}, {@code cuda}. */
  public String deviceKind() {
    int space = target.indexOf(' ');
    return space < 0 ? target : target.substring(0, space);
  }
}
