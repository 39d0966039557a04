package dev.nimble.cuda.driver;

import dev.nimble.error.DeviceException;
import dev.nimble.error.LibraryError;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;

/** The driver's status codes. */
final class Status {
  private static final String LIBRARY = "CUDA driver";

  private Status() {}

  /** Throws if {@code code} is an error. */
  static void check(String call, int code) {
    if (code != CUresult.CUDA_SUCCESS) {
      throw failure(call, code, "");
    }
  }

  /** The failure of {@code call}; {@code about} says on what, or is empty. */
  static DeviceException failure(String call, int code, String about) {
    String[] name = new String[1];
    if (JCudaDriver.cuGetErrorName(code, name) != CUresult.CUDA_SUCCESS || name[0] == null) {
      name[0] = CUresult.stringFor(code);
    }
    String advice = advice(code);
    return new DeviceException(
        new LibraryError(LIBRARY, call, code, name[0]),
        about + (about.isEmpty() || advice.isEmpty() ? "" : "; ") + advice);
  }

  private static String advice(int code) {
    switch (code) {
      case CUresult.CUDA_ERROR_OUT_OF_MEMORY:
        return CudaDriver.TOO_LITTLE_MEMORY;
      case CUresult.CUDA_ERROR_INVALID_PTX:
      case CUresult.CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
        return "the driver is older than the compiler (NVRTC); install a newer driver";
      case CUresult.CUDA_ERROR_NO_BINARY_FOR_GPU:
        return "this GPU is too old for the compiler (NVRTC); install an older NVRTC";
      case CUresult.CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
        return "the kernel module and libcuda.so.1 differ in version; restart the machine";
      default:
        return sticky(code)
            ? "the error is sticky: close this device's engines and open the device again"
            : "";
    }
  }

  /**
   * Whether every later call in the context fails too (CUDA driver API, CUresult: "the process's
   * context is in an inconsistent state").
   */
  static boolean sticky(int code) {
    switch (code) {
      case CUresult.CUDA_ERROR_ECC_UNCORRECTABLE:
      case CUresult.CUDA_ERROR_ILLEGAL_ADDRESS:
      case CUresult.CUDA_ERROR_LAUNCH_TIMEOUT:
      case CUresult.CUDA_ERROR_CONTEXT_IS_DESTROYED:
      case CUresult.CUDA_ERROR_ASSERT:
      case CUresult.CUDA_ERROR_HARDWARE_STACK_ERROR:
      case CUresult.CUDA_ERROR_ILLEGAL_INSTRUCTION:
      case CUresult.CUDA_ERROR_MISALIGNED_ADDRESS:
      case CUresult.CUDA_ERROR_INVALID_ADDRESS_SPACE:
      case CUresult.CUDA_ERROR_INVALID_PC:
      case CUresult.CUDA_ERROR_LAUNCH_FAILED:
        return true;
      default:
        return false;
    }
  }
}
