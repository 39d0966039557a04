package dev.nimble.device.cpu;

import dev.nimble.device.DeviceBuffer;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;

/** A resident buffer of the host, whose memory is the device's. */
final class HostBuffer implements DeviceBuffer {
  private final Tensor contents;
  private final Runnable checkOpen;

  /**
   * A view of {@code contents}.
   *
   * @param checkOpen fails once the recording is closed
   */
  HostBuffer(Tensor contents, Runnable checkOpen) {
    this.contents = contents;
    this.checkOpen = checkOpen;
  }

  @Override
  public TensorType type() {
    return contents.type();
  }

  @Override
  public void write(Tensor source) {
    checkOpen.run();
    contents.copyFrom(source);
  }

  @Override
  public void read(Tensor destination) {
    checkOpen.run();
    destination.copyFrom(contents);
  }

  @Override
  public void copyFrom(DeviceBuffer source) {
    checkOpen.run();
    source.read(contents);
  }
}
