package dev.nimble.device.cpu;

import dev.nimble.graph.Node;
import dev.nimble.graph.Operand;
import dev.nimble.graph.Operator;
import dev.nimble.graph.TensorType;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Chooses the kernel for an operator and its types: a fast one if there is one, else the reference.
 */
final class CpuKernels {
  private static final List<Family> FAMILIES =
      List.of(
          ElementwiseKernel::of, MatrixKernel::of, ConvKernel::of, RowKernel::of, MoveKernel::of);

  private CpuKernels() {}

  /** Fast kernels of one kind. */
  private interface Family {
    /** The kernel, or null if the operator or its types are not for it. */
    @Nullable CpuKernel of(Operator operator, List<TensorType> inputs, List<TensorType> outputs);
  }

  static CpuKernel of(Node node) {
    return of(
        node.operator(),
        node.inputs().stream().map(Operand::type).toList(),
        node.outputs().stream().map(Operand::type).toList());
  }

  static CpuKernel of(Operator operator, List<TensorType> inputs, List<TensorType> outputs) {
    for (Family family : FAMILIES) {
      CpuKernel kernel = family.of(operator, inputs, outputs);
      if (kernel != null) {
        return kernel;
      }
    }
    return new ReferenceKernel(operator, inputs, outputs);
  }
}
