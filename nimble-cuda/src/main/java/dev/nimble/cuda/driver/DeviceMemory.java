package dev.nimble.cuda.driver;

import java.nio.ByteBuffer;
import jcuda.Pointer;
import jcuda.driver.JCudaDriver;

/** A range of a GPU's memory. Not thread-safe. */
public final class DeviceMemory implements AutoCloseable {
  private final CudaContext context;
  private final DeviceAddress address = new DeviceAddress();
  private final long sizeBytes;
  private boolean closed;

  /**
   * Allocates; contents are undefined. The context must be current.
   *
   * @param sizeBytes at least 1
   * @throws dev.nimble.error.DeviceException if there is too little memory
   */
  public DeviceMemory(CudaContext context, long sizeBytes) {
    this.context = context;
    this.sizeBytes = sizeBytes;
    int code = JCudaDriver.cuMemAlloc(address, sizeBytes);
    if (code != 0) {
      throw context.failure("cuMemAlloc", code, sizeBytes + " bytes");
    }
    context.opened();
  }

  /** The address of byte {@code offset}. */
  public DeviceAddress at(long offset) {
    return address.plus(offset);
  }

  /** The size in bytes. */
  public long sizeBytes() {
    return sizeBytes;
  }

  /** Copies all of {@code source} to byte {@code offset}, and waits. */
  public void write(long offset, ByteBuffer source) {
    if (source.capacity() > 0) {
      context.check(
          "cuMemcpyHtoD",
          JCudaDriver.cuMemcpyHtoD(at(offset), Pointer.to(whole(source)), source.capacity()));
      context.settle();
    }
  }

  /** Fills all of {@code destination} from byte {@code offset}, and waits. */
  public void read(long offset, ByteBuffer destination) {
    if (destination.capacity() > 0) {
      context.check(
          "cuMemcpyDtoH",
          JCudaDriver.cuMemcpyDtoH(
              Pointer.to(whole(destination)), at(offset), destination.capacity()));
    }
  }

  /**
   * Copies {@code count} bytes from {@code source} on the same GPU to {@code offset}, and waits.
   */
  public void copy(DeviceAddress source, long offset, long count) {
    if (count > 0) {
      context.check("cuMemcpyDtoD", JCudaDriver.cuMemcpyDtoD(at(offset), source, count));
      context.settle();
    }
  }

  private static ByteBuffer whole(ByteBuffer bytes) {
    return bytes.duplicate().clear();
  }

  /** Sets {@code count} bytes from {@code offset} to zero, and waits. */
  public void clear(long offset, long count) {
    if (count > 0) {
      context.check("cuMemsetD8", JCudaDriver.cuMemsetD8(at(offset), (byte) 0, count));
      context.settle();
    }
  }

  /** Frees the memory. Idempotent. */
  @Override
  public void close() {
    if (!closed) {
      closed = true;
      context.closed("cuMemFree", JCudaDriver.cuMemFree(address));
    }
  }
}
