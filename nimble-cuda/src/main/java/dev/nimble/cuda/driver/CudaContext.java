package dev.nimble.cuda.driver;

import dev.nimble.error.DeviceException;
import dev.nimble.error.InvalidArgumentException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdevice_attribute;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;
import org.jspecify.annotations.Nullable;

/**
 * The primary context of one GPU, retained until {@link #close}, and the count of what it holds.
 *
 * <p>Every call of this package needs the context to be current on its thread: {@link #enter}
 * before, {@link #leave} after. A thread that has no context keeps this one, so that later calls
 * find it; a thread on which other code has made another context current gets that one back.
 */
public final class CudaContext implements AutoCloseable {
  private static final CUcontext NONE = new CUcontext();
  private static final ThreadLocal<PerThread> THREAD = ThreadLocal.withInitial(PerThread::new);

  /** What a thread was left with, and room for a question, so that entering allocates nothing. */
  private static final class PerThread {
    private final CUcontext current = new CUcontext();
    private @Nullable CudaContext kept;
    private CUcontext set = NONE; // what was last made current here, which may be gone by now
  }

  private final int ordinal;
  private final CUdevice device = new CUdevice();
  private final CUcontext context = new CUcontext();
  private final AtomicInteger open = new AtomicInteger();
  private final String name;
  private volatile @Nullable DeviceException poison;
  private boolean closed;

  /**
   * Retains the primary context of GPU {@code ordinal}.
   *
   * @throws InvalidArgumentException if there is no such GPU
   * @throws DeviceException if the driver fails
   */
  public CudaContext(int ordinal) {
    int count = deviceCount();
    if (ordinal < 0 || ordinal >= count) {
      throw new InvalidArgumentException(
          "there is no cuda:" + ordinal + "; this machine has " + count + " GPUs, from cuda:0");
    }
    this.ordinal = ordinal;
    Status.check("cuDeviceGet", JCudaDriver.cuDeviceGet(device, ordinal));
    byte[] bytes = new byte[256];
    Status.check("cuDeviceGetName", JCudaDriver.cuDeviceGetName(bytes, bytes.length, device));
    this.name = CudaDriver.text(bytes);
    Status.check("cuDevicePrimaryCtxRetain", JCudaDriver.cuDevicePrimaryCtxRetain(context, device));
  }

  /** How many GPUs the driver shows. */
  public static int deviceCount() {
    CudaDriver.initialize();
    int[] count = new int[1];
    Status.check("cuDeviceGetCount", JCudaDriver.cuDeviceGetCount(count));
    return count[0];
  }

  /** The GPU's number, from 0. */
  public int ordinal() {
    return ordinal;
  }

  /** The GPU's name, as its maker gives it. */
  public String deviceName() {
    return name;
  }

  /** The GPU's compute capability, major times 10 plus minor: 90 for sm_90. */
  public int computeCapability() {
    return 10 * attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
        + attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  }

  /** The number of multiprocessors. */
  public int multiprocessors() {
    return attribute(CUdevice_attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  }

  private int attribute(int attribute) {
    int[] value = new int[1];
    Status.check(
        "cuDeviceGetAttribute", JCudaDriver.cuDeviceGetAttribute(value, attribute, device));
    return value[0];
  }

  /**
   * Makes the context current on this thread.
   *
   * @return a token for {@link #leave}
   * @throws DeviceException if the context is beyond use after an earlier error
   */
  public boolean enter() {
    checkUsable();
    PerThread thread = THREAD.get();
    CUcontext current = thread.current;
    check("cuCtxGetCurrent", JCudaDriver.cuCtxGetCurrent(current));
    if (thread.kept == this && current.equals(context)) {
      return false;
    }
    if (current.equals(NONE) || current.equals(thread.set)) {
      check("cuCtxSetCurrent", JCudaDriver.cuCtxSetCurrent(context));
      thread.kept = this;
      thread.set = context;
      return false;
    }
    check("cuCtxPushCurrent", JCudaDriver.cuCtxPushCurrent(context));
    return true;
  }

  /** Gives the thread the context back that it had before {@link #enter}, if it was another's. */
  public void leave(boolean token) {
    if (token) {
      check("cuCtxPopCurrent", JCudaDriver.cuCtxPopCurrent(THREAD.get().current));
    }
  }

  /** Runs {@code body} with the context current. */
  public <T> T within(Supplier<T> body) {
    boolean token = enter();
    T result;
    try {
      result = body.get();
    } catch (Throwable failure) {
      Resources.of(() -> leave(token)).closeAfter(failure);
      throw failure;
    }
    leave(token);
    return result;
  }

  /** Runs {@code body}, which closes handles: even if the context cannot be made current. */
  public void closing(Runnable body) {
    boolean token;
    try {
      token = poison == null && enter();
    } catch (DeviceException failure) {
      Resources.of(body::run).closeAfter(failure);
      throw failure;
    }
    Resources.of(() -> leave(token), body::run).close();
  }

  /** Whether this thread was left with this context by {@link #enter}: no driver call. */
  public boolean isKept() {
    return THREAD.get().kept == this;
  }

  /**
   * Does nothing while the context is sound: no driver call.
   *
   * @throws DeviceException if it is beyond use after an earlier error
   */
  public void checkUsable() {
    DeviceException reason = poison;
    if (reason != null) {
      throw new DeviceException(
          "the GPU cannot be used after an earlier error: " + reason.what(),
          reason.location(),
          reason);
    }
  }

  /** Throws if {@code code} is an error; a sticky one makes every later call fail at once. */
  public void check(String call, int code) {
    if (code != CUresult.CUDA_SUCCESS) {
      throw failure(call, code, "");
    }
  }

  DeviceException failure(String call, int code, String about) {
    DeviceException failure = Status.failure(call, code, about);
    if (Status.sticky(code) && poison == null) {
      poison = failure;
    }
    return failure;
  }

  /** Whether a sticky error has made the context useless. */
  public boolean isPoisoned() {
    return poison != null;
  }

  /**
   * Waits for copies and fills of the legacy default stream: they return before they are done, and
   * no other stream of ours waits for them (CUDA driver API, "API synchronization behavior").
   */
  void settle() {
    check("cuStreamSynchronize", JCudaDriver.cuStreamSynchronize(null));
  }

  /** Free and total bytes of the GPU's memory; the context must be current. */
  public long[] memory() {
    long[] free = new long[1];
    long[] total = new long[1];
    check("cuMemGetInfo", JCudaDriver.cuMemGetInfo(free, total));
    return new long[] {free[0], total[0]};
  }

  /** The priorities that streams may have: least and greatest (a smaller number goes first). */
  public int[] streamPriorities() {
    int[] least = new int[1];
    int[] greatest = new int[1];
    check("cuCtxGetStreamPriorityRange", JCudaDriver.cuCtxGetStreamPriorityRange(least, greatest));
    return new int[] {least[0], greatest[0]};
  }

  /** Counts a handle that was made in this context. */
  public void opened() {
    open.incrementAndGet();
  }

  /** Counts a handle as closed; {@code check} looks at its status, if the context is sound. */
  public void closed(Runnable check) {
    open.decrementAndGet();
    if (poison == null) { // else whatever met the sticky error first has reported it
      check.run();
    }
  }

  void closed(String call, int code) {
    closed(() -> check(call, code));
  }

  /** Handles that are not yet closed. */
  public int openHandles() {
    return open.get();
  }

  /**
   * Releases the context. One that is beyond use is reset, so that the process can open the GPU
   * again. Idempotent.
   */
  @Override
  public void close() {
    if (closed) {
      return;
    }
    closed = true;
    Resources.of(this::release, this::forget).close();
  }

  /** Leaves this thread without the context, if it was left with it. */
  private void forget() {
    PerThread thread = THREAD.get();
    if (thread.kept == this) {
      thread.kept = null;
      Status.check("cuCtxGetCurrent", JCudaDriver.cuCtxGetCurrent(thread.current));
      if (thread.current.equals(context)) {
        Status.check("cuCtxSetCurrent", JCudaDriver.cuCtxSetCurrent(NONE));
      }
    }
  }

  private void release() {
    if (poison == null) {
      Status.check("cuDevicePrimaryCtxRelease", JCudaDriver.cuDevicePrimaryCtxRelease(device));
    } else { // whatever these say, the error is known
      JCudaDriver.cuDevicePrimaryCtxReset(device);
      JCudaDriver.cuDevicePrimaryCtxRelease(device);
    }
  }

  @Override
  public String toString() {
    return "cuda:" + ordinal + " " + name;
  }
}
