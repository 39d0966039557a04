package dev.nimble.error;

/**
 * The error of a native library behind a {@link DeviceException}.
 *
 * @param library which library: {@code CUDA driver}, {@code NVRTC}, {@code cuBLAS}, {@code cuDNN}
 * @param call the function that failed, as the library spells it
 * @param code the status that it returned
 * @param name the status's name, as the library spells it
 */
public record LibraryError(String library, String call, int code, String name) {
  /** For example {@code cuMemAlloc failed with CUDA_ERROR_OUT_OF_MEMORY (2, CUDA driver)}. */
  @Override
  public String toString() {
    return call + " failed with " + name + " (" + code + ", " + library + ")";
  }
}
