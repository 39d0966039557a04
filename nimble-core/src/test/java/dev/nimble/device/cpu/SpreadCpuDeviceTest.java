package dev.nimble.device.cpu;

import dev.nimble.device.Device;
import dev.nimble.device.DeviceContract;

/**
 * The CPU device with streams dealt out to more workers than there are cores, whatever it costs.
 */
class SpreadCpuDeviceTest extends DeviceContract {
  @Override
  protected Device open() {
    return new CpuDevice(4, Placements.roundRobin());
  }
}
