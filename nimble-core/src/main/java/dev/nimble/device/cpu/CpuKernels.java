package dev.nimble.device.cpu;

import dev.nimble.graph.Operator;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * Chooses the kernel for an operator and its types: a fast one if there is one, else the reference.
 */
final class CpuKernels {
  private CpuKernels() {}

  static CpuKernel of(Operator operator, List<TensorType> inputs, List<TensorType> outputs) {
    return new ReferenceKernel(operator, inputs, outputs);
  }
}
