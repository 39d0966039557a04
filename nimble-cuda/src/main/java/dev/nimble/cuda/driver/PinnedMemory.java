package dev.nimble.cuda.driver;

import dev.nimble.error.DeviceException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import jcuda.Pointer;
import jcuda.driver.JCudaDriver;

/**
 * Page-locked host memory: the GPU copies from and to it without the host's help, and kernels may
 * address it. Not thread-safe.
 */
public final class PinnedMemory implements AutoCloseable {
  private final CudaContext context;
  private final Pointer pointer = new Pointer();
  private final DeviceAddress deviceAddress = new DeviceAddress();
  private final ByteBuffer bytes;
  private boolean closed;

  /**
   * Allocates zeros. The context must be current.
   *
   * @param sizeBytes at least 1, at most 2 GiB
   */
  public PinnedMemory(CudaContext context, int sizeBytes) {
    this.context = context;
    int code =
        JCudaDriver.cuMemHostAlloc(
            pointer,
            sizeBytes,
            JCudaDriver.CU_MEMHOSTALLOC_PORTABLE | JCudaDriver.CU_MEMHOSTALLOC_DEVICEMAP);
    if (code != 0) {
      throw context.failure("cuMemHostAlloc", code, sizeBytes + " bytes");
    }
    context.opened();
    try {
      context.check(
          "cuMemHostGetDevicePointer",
          JCudaDriver.cuMemHostGetDevicePointer(deviceAddress, pointer, 0));
    } catch (DeviceException failure) {
      Resources.of(this).closeAfter(failure);
      throw failure;
    }
    bytes = pointer.getByteBuffer(0, sizeBytes).order(ByteOrder.nativeOrder());
    for (int i = 0; i < sizeBytes; i++) {
      bytes.put(i, (byte) 0);
    }
  }

  /** The memory, for the host; invalid after close. */
  public ByteBuffer bytes() {
    return bytes;
  }

  /** Byte {@code offset} of the memory, for the host side of an asynchronous copy. */
  public Pointer pointer(long offset) {
    return pointer.withByteOffset(offset);
  }

  /** The memory's first byte, as kernels address it. */
  public DeviceAddress deviceAddress() {
    return deviceAddress;
  }

  /** Frees the memory. Idempotent. */
  @Override
  public void close() {
    if (!closed) {
      closed = true;
      context.closed("cuMemFreeHost", JCudaDriver.cuMemFreeHost(pointer));
    }
  }
}
