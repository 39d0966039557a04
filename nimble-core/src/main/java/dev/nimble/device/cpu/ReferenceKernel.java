package dev.nimble.device.cpu;

import dev.nimble.graph.Operator;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.op.Elementwise;
import dev.nimble.op.FusedElementwise;
import dev.nimble.op.Identity;
import dev.nimble.op.KernelChoice;
import dev.nimble.op.Reshape;
import dev.nimble.op.ResourceDemand;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The operator's own reference kernel. */
record ReferenceKernel(Operator operator, List<TensorType> inputs, List<TensorType> outputs)
    implements CpuKernel {
  @Override
  public KernelChoice choice() {
    KernelChoice choice =
        KernelChoice.of("reference " + operator.name(), demandOf(0, inputs, outputs));
    if (operator instanceof Reshape || operator instanceof Identity) {
      return choice.asView();
    }
    return operator instanceof Elementwise || operator instanceof FusedElementwise
        ? choice.inPlaceOver(sameAsOutput(inputs, outputs))
        : choice;
  }

  /** Operands of the output's very type: an elementwise kernel may write over one of them. */
  static List<Integer> sameAsOutput(List<TensorType> inputs, List<TensorType> outputs) {
    List<Integer> same = new ArrayList<>();
    for (int i = 0; i < inputs.size(); i++) {
      if (inputs.get(i).equals(outputs.get(0))) {
        same.add(i);
      }
    }
    return same;
  }

  /** A demand with the operands' bytes. */
  static ResourceDemand demandOf(
      long floatingPointOperations, List<TensorType> inputs, List<TensorType> outputs) {
    long bytes = 0;
    for (TensorType type : inputs) {
      bytes += type.sizeBytes();
    }
    for (TensorType type : outputs) {
      bytes += type.sizeBytes();
    }
    return new ResourceDemand(floatingPointOperations, bytes, 0);
  }

  @Override
  public Runnable bind(List<Tensor> in, List<Tensor> out, @Nullable Tensor workspace) {
    return operator.bind(in, out);
  }
}
