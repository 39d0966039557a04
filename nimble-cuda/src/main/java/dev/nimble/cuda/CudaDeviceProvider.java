package dev.nimble.cuda;

import dev.nimble.cuda.driver.CudaContext;
import dev.nimble.cuda.driver.CudaDriver;
import dev.nimble.device.Device;
import dev.nimble.device.DeviceProvider;
import dev.nimble.error.DeviceException;
import java.util.List;
import java.util.stream.Collectors;

/** Opens NVIDIA GPUs; found by {@link java.util.ServiceLoader}. */
public final class CudaDeviceProvider implements DeviceProvider {
  private static final int LEAST_DRIVER = 12000; // the natives are built against CUDA 12

  /** Made by {@link java.util.ServiceLoader}. */
  public CudaDeviceProvider() {}

  @Override
  public String name() {
    return "cuda";
  }

  @Override
  public int preference() {
    return 100;
  }

  @Override
  public Availability availability() {
    NativeLibraries libraries = NativeLibraries.get();
    List<NativeLibraries.Needed> missing = libraries.missing();
    if (!missing.isEmpty()) {
      return new Availability(
          false, missing.stream().map(libraries::advice).collect(Collectors.joining("; and ")));
    }
    try {
      int gpus = CudaContext.deviceCount();
      int version = CudaDriver.version();
      if (gpus == 0) {
        return new Availability(false, "the driver shows no GPU");
      }
      if (version < LEAST_DRIVER) {
        return new Availability(
            false,
            "the driver supports CUDA "
                + text(version)
                + " and JCuda needs "
                + text(LEAST_DRIVER)
                + "; install a newer driver");
      }
      return new Availability(
          true, gpus + (gpus == 1 ? " GPU" : " GPUs") + ", CUDA " + text(version));
    } catch (DeviceException e) {
      return new Availability(false, e.what());
    }
  }

  /** For example 12.6. */
  static String text(int version) {
    return version / 1000 + "." + version % 1000 / 10;
  }

  @Override
  public Device open(int ordinal) {
    Availability availability = availability();
    if (!availability.available()) {
      throw new DeviceException("cuda is not available: " + availability.description());
    }
    return new CudaDevice(ordinal, CudaOptions.ofProperties(NativeLibraries.get().usable()));
  }
}
