package dev.nimble.device;

import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;

/**
 * An input or output of a recorded step in the memory of its device, which no step copies. Fixed
 * for the recording's life. Like any bound buffer it must not be touched while a step runs, and
 * after the recording is closed every call but {@link #type} fails with {@link
 * dev.nimble.error.InvalidArgumentException}.
 */
public interface DeviceBuffer {
  /** The type of the contents, which lie as in a {@link Tensor}: row-major, without gaps. */
  TensorType type();

  /** Overwrites the contents with those of {@code source}, of the same type, and waits. */
  void write(Tensor source);

  /** Copies the contents to {@code destination}, of the same type, and waits. */
  void read(Tensor destination);

  /**
   * Overwrites the contents with those of {@code source}, of the same type, and waits; within one
   * device, without a copy through the host.
   */
  void copyFrom(DeviceBuffer source);
}
