package dev.nimble.cuda.driver;

import jcuda.Pointer;
import jcuda.driver.CUfunction;
import jcuda.driver.JCudaDriver;

/** A kernel. */
public final class CudaFunction {
  private final CudaContext context;
  private final String name;
  private final CUfunction handle;

  CudaFunction(CudaContext context, String name, CUfunction handle) {
    this.context = context;
    this.name = name;
    this.handle = handle;
  }

  /** The kernel's name. */
  public String name() {
    return name;
  }

  /**
   * Enqueues a launch.
   *
   * @param arguments points to one pointer an argument; read before this returns
   */
  public void launch(CudaStream stream, LaunchDimensions size, Pointer arguments) {
    int code =
        JCudaDriver.cuLaunchKernel(
            handle,
            size.gridX(),
            size.gridY(),
            size.gridZ(),
            size.blockX(),
            size.blockY(),
            1,
            size.sharedMemoryBytes(),
            stream.handle(),
            arguments,
            null);
    if (code != 0) {
      throw context.failure("cuLaunchKernel", code, "kernel " + name);
    }
  }
}
