package dev.nimble.planted.schedule;

/** Stands for a class of JCuda. */
public final class CudaHandle {
  private CudaHandle() {}

  /** A value. */
  public static int value() {
    return 2;
  }
}
