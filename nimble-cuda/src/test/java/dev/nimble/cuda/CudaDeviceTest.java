package dev.nimble.cuda;

import dev.nimble.cuda.emulator.OnEmulator;
import dev.nimble.device.Device;
import dev.nimble.device.DeviceContract;

/** What every device must do, on the emulated GPU. */
@OnEmulator
class CudaDeviceTest extends DeviceContract {
  @Override
  protected Device open() {
    return new CudaDeviceProvider().open(0);
  }

  @Override
  protected int randomGraphs() {
    return 2;
  }
}
