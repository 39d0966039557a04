package dev.nimble.device;

/** A kind of device, found by {@link java.util.ServiceLoader}. */
public interface DeviceProvider {
  /** The kind's name, as on the command line: {@code cpu}, {@code cuda}. */
  String name();

  /** How {@code auto} ranks the kinds that are available: the highest wins. */
  int preference();

  /** Whether {@link #open} can work on this machine, and if not, why and what to install. */
  Availability availability();

  /**
   * Opens the device.
   *
   * @param ordinal which device of this kind, from 0
   * @throws dev.nimble.error.DeviceException if it cannot be opened
   * @throws dev.nimble.error.InvalidArgumentException if there is no device of that ordinal
   */
  Device open(int ordinal);

  /**
   * Whether a kind of device can be used here.
   *
   * @param available whether it can
   * @param description one line: what was found, or what is missing and how to get it
   */
  record Availability(boolean available, String description) {}
}
