package dev.nimble.cuda;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.nimble.cuda.emulator.Emulator;
import dev.nimble.device.Device;
import dev.nimble.device.DeviceContract;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;

/** What every device must do, on the emulated GPU. */
@Tag("emulator")
class CudaDeviceTest extends DeviceContract {
  @BeforeAll
  static void install() {
    assumeTrue(Emulator.obstacle().isEmpty(), Emulator::obstacle);
    Emulator.install();
    Emulator.reset();
  }

  @Override
  protected Device open() {
    return new CudaDeviceProvider().open(0);
  }

  @Override
  protected int randomGraphs() {
    return 2;
  }
}
