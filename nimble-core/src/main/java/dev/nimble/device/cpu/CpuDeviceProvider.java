package dev.nimble.device.cpu;

import dev.nimble.device.Device;
import dev.nimble.device.DeviceProvider;
import dev.nimble.error.InvalidArgumentException;

/**
 * Opens the CPU device; found by {@link java.util.ServiceLoader}, or made directly to choose
 * workers.
 */
public final class CpuDeviceProvider implements DeviceProvider {
  static final String NAME = "cpu";

  private final int workers;

  /** As many workers as the JVM has processors. */
  public CpuDeviceProvider() {
    this(Runtime.getRuntime().availableProcessors());
  }

  /** A device whose recordings use up to {@code workers} threads, the caller's included. */
  public CpuDeviceProvider(int workers) {
    if (workers < 1) {
      throw new InvalidArgumentException("the CPU device needs at least 1 worker, not " + workers);
    }
    this.workers = workers;
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public int preference() {
    return 0;
  }

  @Override
  public Availability availability() {
    return new Availability(true, "the host, " + workers + " threads");
  }

  @Override
  public Device open(int ordinal) {
    if (ordinal != 0) {
      throw new InvalidArgumentException("there is one CPU device, cpu:0, and no cpu:" + ordinal);
    }
    return new CpuDevice(workers, new MeasuredPlacement());
  }
}
