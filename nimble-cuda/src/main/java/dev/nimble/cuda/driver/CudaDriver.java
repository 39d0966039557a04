package dev.nimble.cuda.driver;

import java.nio.charset.StandardCharsets;
import jcuda.driver.JCudaDriver;

/** The driver as a whole. */
public final class CudaDriver {
  /** What to do when an allocation fails. */
  public static final String TOO_LITTLE_MEMORY =
      "the GPU has too little free memory; close engines, or prepare a smaller shape";

  private CudaDriver() {}

  /**
   * Loads and initialises the driver. Cheap after the first call.
   *
   * @throws dev.nimble.error.DeviceException if the driver has no GPU or fails
   * @throws LinkageError if JCuda's natives or {@code libcuda.so.1} cannot be loaded
   */
  public static void initialize() {
    Status.check("cuInit", JCudaDriver.cuInit(0));
  }

  /** The CUDA version that the driver supports: 1000 times the major plus 10 times the minor. */
  public static int version() {
    int[] version = new int[1];
    Status.check("cuDriverGetVersion", JCudaDriver.cuDriverGetVersion(version));
    return version[0];
  }

  static String text(byte[] bytes) {
    int end = 0;
    while (end < bytes.length && bytes[end] != 0) {
      end++;
    }
    return new String(bytes, 0, end, StandardCharsets.UTF_8).trim();
  }
}
