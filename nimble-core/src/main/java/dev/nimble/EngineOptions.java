package dev.nimble;

import com.google.common.collect.ImmutableSet;
import dev.nimble.schedule.Policies;
import dev.nimble.schedule.SchedulingPolicy;
import dev.nimble.transform.Transforms;

/**
 * How a graph is prepared. Immutable; starts from {@link #defaults()}.
 *
 * @param device which device to open, as {@link dev.nimble.device.Devices#open} takes it: {@code
 *     auto}, {@code cpu}, {@code cuda:1}
 * @param policy how nodes are placed on streams
 * @param transforms which rewrites are made first
 * @param resident names of inputs and outputs that stay in the device's memory: no step copies
 *     them, and {@link Engine#resident} is their buffer
 */
public record EngineOptions(
    String device, SchedulingPolicy policy, Transforms transforms, ImmutableSet<String> resident) {
  /** The best device of this machine, the Nimble policy, all transforms. */
  public static EngineOptions defaults() {
    return new EngineOptions("auto", Policies.nimble(), Transforms.all(), ImmutableSet.of());
  }

  /** These options, on another device. */
  public EngineOptions withDevice(String newDevice) {
    return new EngineOptions(newDevice, policy, transforms, resident);
  }

  /** These options, with another policy. */
  public EngineOptions withPolicy(SchedulingPolicy newPolicy) {
    return new EngineOptions(device, newPolicy, transforms, resident);
  }

  /** These options, with other rewrites. */
  public EngineOptions withTransforms(Transforms newTransforms) {
    return new EngineOptions(device, policy, newTransforms, resident);
  }

  /** These options, with these inputs and outputs resident. */
  public EngineOptions withResident(String... names) {
    return new EngineOptions(device, policy, transforms, ImmutableSet.copyOf(names));
  }
}
