package dev.nimble.cuda;

import dev.nimble.cuda.kernel.DiskCache;
import dev.nimble.cuda.library.Libraries;
import dev.nimble.cuda.record.CudaRecording;
import dev.nimble.device.Device;

/** CUDA devices with settings of the test's choice. */
public final class TestDevice {
  private TestDevice() {}

  /** The first GPU with all libraries and the tests' kernel cache. */
  public static Device of(CudaRecording.Mode mode) {
    return open(0, mode, Libraries.ALL, DiskCache.ofUser());
  }

  /** The same on kernels of our own only. */
  public static Device withoutLibraries(CudaRecording.Mode mode) {
    return open(0, mode, Libraries.NONE, DiskCache.ofUser());
  }

  static CudaDevice open(
      int ordinal, CudaRecording.Mode mode, Libraries libraries, DiskCache cache) {
    NativeLibraries.get(); // without which JCuda throws its own exceptions
    return new CudaDevice(ordinal, new CudaOptions(mode, libraries, false, false, cache));
  }
}
