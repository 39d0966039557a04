package dev.nimble.cuda.op;

import dev.nimble.graph.TensorType;
import dev.nimble.op.ResourceDemand;
import java.util.List;

/** What kernels ask of the device. */
final class Demands {
  private Demands() {}

  /** A demand with the operands' bytes. */
  static ResourceDemand of(long operations, List<TensorType> inputs, List<TensorType> outputs) {
    long bytes = 0;
    for (TensorType type : inputs) {
      bytes += type.sizeBytes();
    }
    for (TensorType type : outputs) {
      bytes += type.sizeBytes();
    }
    return new ResourceDemand(operations, bytes, 0);
  }
}
