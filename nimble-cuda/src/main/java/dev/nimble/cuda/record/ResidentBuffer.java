package dev.nimble.cuda.record;

import dev.nimble.cuda.driver.CudaContext;
import dev.nimble.cuda.driver.DeviceAddress;
import dev.nimble.cuda.driver.DeviceMemory;
import dev.nimble.device.DeviceBuffer;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;

/** A range of a recording's memory on the GPU, for the caller. */
public final class ResidentBuffer implements DeviceBuffer {
  private final CudaContext context;
  private final DeviceMemory memory;
  private final long offset;
  private final TensorType type;
  private final Runnable checkOpen;

  /**
   * The elements at byte {@code offset}.
   *
   * @param checkOpen fails once the recording is closed
   */
  ResidentBuffer(
      CudaContext context, DeviceMemory memory, long offset, TensorType type, Runnable checkOpen) {
    this.context = context;
    this.memory = memory;
    this.offset = offset;
    this.type = type;
    this.checkOpen = checkOpen;
  }

  @Override
  public TensorType type() {
    return type;
  }

  /** Where it lies. */
  public DeviceAddress address() {
    checkOpen.run();
    return memory.at(offset);
  }

  @Override
  public void write(Tensor source) {
    check(source.type());
    onDevice(() -> memory.write(offset, source.bytes()));
  }

  @Override
  public void read(Tensor destination) {
    check(destination.type());
    onDevice(() -> memory.read(offset, destination.bytes()));
  }

  @Override
  public void copyFrom(DeviceBuffer source) {
    check(source.type());
    if (source instanceof ResidentBuffer && ((ResidentBuffer) source).context == context) {
      DeviceAddress from = ((ResidentBuffer) source).address();
      onDevice(() -> memory.copy(from, offset, type.sizeBytes()));
    } else {
      Tensor copy = Tensor.zeros(type);
      source.read(copy);
      write(copy);
    }
  }

  private void onDevice(Runnable copy) {
    context.within(
        () -> {
          copy.run();
          return this;
        });
  }

  private void check(TensorType other) {
    checkOpen.run();
    if (!other.equals(type)) {
      throw new InvalidArgumentException("cannot copy between " + type + " and " + other);
    }
  }
}
