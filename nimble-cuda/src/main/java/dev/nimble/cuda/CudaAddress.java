package dev.nimble.cuda;

import dev.nimble.cuda.record.ResidentBuffer;
import dev.nimble.device.DeviceBuffer;
import dev.nimble.error.InvalidArgumentException;
import jcuda.driver.CUdeviceptr;

/** Where resident buffers lie on a GPU, for work of other libraries on them. */
public final class CudaAddress {
  private CudaAddress() {}

  /**
   * The address of {@code buffer} in the primary context of its GPU. Work on it must be complete
   * before a step starts and may start when the step has returned: a step waits for no stream but
   * its own. Valid until the engine is closed.
   *
   * @throws InvalidArgumentException if the buffer is not on a GPU, or its engine is closed
   */
  public static CUdeviceptr of(DeviceBuffer buffer) {
    if (!(buffer instanceof ResidentBuffer)) {
      throw new InvalidArgumentException("the buffer is not on a GPU: " + buffer.type());
    }
    return ((ResidentBuffer) buffer).address();
  }
}
