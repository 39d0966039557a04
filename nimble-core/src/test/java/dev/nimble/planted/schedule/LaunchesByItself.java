package dev.nimble.planted.schedule;

/** Uses CUDA where only devices may be known. */
public final class LaunchesByItself {
  private LaunchesByItself() {}

  /** Uses it. */
  public static int launch() {
    return CudaHandle.value();
  }
}
