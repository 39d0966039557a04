package dev.nimble.device.cpu;

import dev.nimble.error.DeviceException;
import dev.nimble.error.Location;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Direct memory, aligned for vector loads. It is freed by the garbage collector once nobody can
 * reach it: freeing it by hand could pull it from under a tensor that a user still holds.
 */
final class HostMemory {
  private static final int ALIGNMENT = 256;

  private HostMemory() {}

  /**
   * Allocates zeroed memory.
   *
   * @param what what it is for, in errors
   * @throws DeviceException if it exceeds 2 GiB or the JVM's limit on direct memory
   */
  static ByteBuffer allocate(long sizeBytes, String what) {
    if (sizeBytes > Integer.MAX_VALUE - ALIGNMENT) {
      throw new DeviceException(
          what
              + " needs "
              + sizeBytes
              + " bytes in one piece; the CPU device has at most 2 GiB."
              + " Use smaller shapes or a smaller batch");
    }
    try {
      ByteBuffer memory = ByteBuffer.allocateDirect((int) sizeBytes + ALIGNMENT);
      int misaligned = memory.alignmentOffset(0, ALIGNMENT);
      int start = misaligned == 0 ? 0 : ALIGNMENT - misaligned;
      return memory.slice(start, (int) sizeBytes).order(ByteOrder.nativeOrder());
    } catch (OutOfMemoryError e) {
      throw new DeviceException(
          what
              + " needs "
              + sizeBytes
              + " bytes of direct memory, and the JVM's limit on that is reached;"
              + " raise -XX:MaxDirectMemorySize or close other recordings",
          Location.NOWHERE,
          e);
    }
  }
}
