package dev.nimble.cuda.driver;

import jcuda.driver.CUdeviceptr;

/** An address in a GPU's memory; also as the number that kernel arguments hold. */
public final class DeviceAddress extends CUdeviceptr {
  DeviceAddress() {}

  private DeviceAddress(DeviceAddress base, long offset) {
    super(base, offset);
  }

  /** This address plus {@code bytes}. */
  public DeviceAddress plus(long bytes) {
    return new DeviceAddress(this, bytes);
  }

  /** The address as a number. */
  public long value() {
    return getNativePointer() + getByteOffset();
  }
}
