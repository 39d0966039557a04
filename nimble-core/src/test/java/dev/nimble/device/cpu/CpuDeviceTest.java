package dev.nimble.device.cpu;

import dev.nimble.device.Device;
import dev.nimble.device.DeviceContract;

/** The CPU device as it is opened by name. */
class CpuDeviceTest extends DeviceContract {
  @Override
  protected Device open() {
    return new CpuDeviceProvider(2).open(0);
  }
}
