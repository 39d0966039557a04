package dev.nimble.cuda.driver;

import jcuda.Pointer;
import jcuda.driver.CUstream;
import jcuda.driver.CUstreamCaptureMode;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;
import jcuda.runtime.cudaStream_t;

/**
 * A CUDA stream, independent of the legacy default stream. Calls only enqueue, except {@link
 * #synchronize}.
 */
public final class CudaStream implements AutoCloseable {
  private final CudaContext context;
  private final CUstream handle = new CUstream();
  private boolean closed;

  /** A stream of the context's default priority; the context must be current. */
  public CudaStream(CudaContext context) {
    this(context, 0);
  }

  /** A stream of a priority within {@link CudaContext#streamPriorities}. */
  public CudaStream(CudaContext context, int priority) {
    this.context = context;
    context.check(
        "cuStreamCreateWithPriority",
        JCudaDriver.cuStreamCreateWithPriority(
            handle, CUstream_flags.CU_STREAM_NON_BLOCKING, priority));
    context.opened();
  }

  CUstream handle() {
    return handle;
  }

  /** The stream's priority: a smaller number goes first. */
  public int priority() {
    int[] priority = new int[1];
    context.check("cuStreamGetPriority", JCudaDriver.cuStreamGetPriority(handle, priority));
    return priority[0];
  }

  /** The context that the stream belongs to. */
  public CudaContext context() {
    return context;
  }

  /** The same stream, as CUDA's libraries take it. */
  public cudaStream_t asRuntimeStream() {
    return new cudaStream_t(handle);
  }

  /** Holds later work of this stream until {@code event}'s last recorded work is done. */
  public void await(CudaEvent event) {
    context.check("cuStreamWaitEvent", JCudaDriver.cuStreamWaitEvent(handle, event.handle(), 0));
  }

  /** Copies within the GPU's memory. */
  public void copy(DeviceAddress from, DeviceAddress to, long bytes) {
    context.check("cuMemcpyDtoDAsync", JCudaDriver.cuMemcpyDtoDAsync(to, from, bytes, handle));
  }

  /** Copies {@code bytes} bytes from pinned host memory to the GPU. */
  public void upload(Pointer from, DeviceAddress to, long bytes) {
    context.check("cuMemcpyHtoDAsync", JCudaDriver.cuMemcpyHtoDAsync(to, from, bytes, handle));
  }

  /** Copies {@code bytes} bytes from the GPU to pinned host memory. */
  public void download(DeviceAddress from, Pointer to, long bytes) {
    context.check("cuMemcpyDtoHAsync", JCudaDriver.cuMemcpyDtoHAsync(to, from, bytes, handle));
  }

  /** Waits until all work of the stream is done. */
  public void synchronize() {
    context.check("cuStreamSynchronize", JCudaDriver.cuStreamSynchronize(handle));
  }

  /**
   * Starts stream capture: what is enqueued here, and on streams that wait for events of captured
   * work, becomes a graph. Only this thread's unsafe calls are forbidden meanwhile (CUDA driver
   * API, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).
   */
  public void beginCapture() {
    context.check(
        "cuStreamBeginCapture",
        JCudaDriver.cuStreamBeginCapture(
            handle, CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  }

  /** Ends stream capture, which must have begun on this stream; every fork must have joined. */
  public CudaGraph endCapture() {
    return new CudaGraph(context, handle);
  }

  /** Ends a capture that failed, and drops what it made. Never throws. */
  public void abandonCapture() {
    CudaGraph.abandon(handle);
  }

  /** Destroys the stream once its work is done. Idempotent. */
  @Override
  public void close() {
    if (!closed) {
      closed = true;
      context.closed("cuStreamDestroy", JCudaDriver.cuStreamDestroy(handle));
    }
  }
}
