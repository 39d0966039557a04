package dev.nimble.cuda.driver;

import jcuda.driver.CUevent;
import jcuda.driver.CUevent_flags;
import jcuda.driver.JCudaDriver;

/** A CUDA event. */
public final class CudaEvent implements AutoCloseable {
  private final CudaContext context;
  private final CUevent handle = new CUevent();
  private final float[] millis = new float[1];
  private boolean closed;

  /** An event; without {@code timed} it is cheaper and only orders. */
  public CudaEvent(CudaContext context, boolean timed) {
    this.context = context;
    context.check(
        "cuEventCreate",
        JCudaDriver.cuEventCreate(
            handle,
            timed ? CUevent_flags.CU_EVENT_DEFAULT : CUevent_flags.CU_EVENT_DISABLE_TIMING));
    context.opened();
  }

  CUevent handle() {
    return handle;
  }

  /** Fires once all work now in {@code stream} is done. */
  public void record(CudaStream stream) {
    context.check("cuEventRecord", JCudaDriver.cuEventRecord(handle, stream.handle()));
  }

  /** Nanoseconds of GPU time from {@code start} to this event; both timed, and both done. */
  public long nanosSince(CudaEvent start) {
    context.check(
        "cuEventElapsedTime", JCudaDriver.cuEventElapsedTime(millis, start.handle, handle));
    return Math.round(millis[0] * 1e6);
  }

  /** Destroys the event. Idempotent. */
  @Override
  public void close() {
    if (!closed) {
      closed = true;
      context.closed("cuEventDestroy", JCudaDriver.cuEventDestroy(handle));
    }
  }
}
