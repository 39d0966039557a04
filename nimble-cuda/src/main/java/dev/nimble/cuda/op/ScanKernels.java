package dev.nimble.cuda.op;

import dev.nimble.cuda.driver.LaunchDimensions;
import dev.nimble.cuda.kernel.KernelArguments;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.TensorType;
import dev.nimble.op.CumSum;
import dev.nimble.op.KernelChoice;
import dev.nimble.op.TopK;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Operators that go along one axis in order: scan.cu. */
final class ScanKernels {
  private static final String SCAN = "scan.cu";
  private static final int BLOCK_THREADS = 256; // THREADS of scan.cu

  private ScanKernels() {}

  /** The kernel, or null if the operator is of another family. */
  static @Nullable CudaKernel of(
      Toolbox toolbox, Operator operator, List<TensorType> inputs, List<TensorType> outputs) {
    if (operator instanceof CumSum) {
      return cumSum(toolbox, (CumSum) operator, inputs.get(0));
    }
    if (operator instanceof TopK) {
      return topK(toolbox, (TopK) operator, inputs.get(0), outputs);
    }
    return null;
  }

  private static int axis(int axis, Shape shape) {
    return axis < 0 ? axis + shape.rank() : axis;
  }

  private static CudaKernel cumSum(Toolbox toolbox, CumSum operator, TensorType type) {
    Shape shape = type.shape();
    int along = axis(operator.axis(), shape);
    return new PlainKernel(
        KernelChoice.of("block scan", Demands.of(type.elements(), List.of(type), List.of(type)))
            .inPlaceOver(List.of(0)),
        o ->
            type.elements() == 0
                ? List.of()
                : List.of(
                    Launches.kernel(
                        toolbox.function(SCAN, "cum_sum_" + CType.suffix(type.dataType())),
                        LaunchDimensions.of(type.elements() / shape.extent(along), BLOCK_THREADS),
                        new KernelArguments()
                            .integer(shape.extent(along))
                            .longInteger(shape.strides()[along])
                            .integer(operator.exclusive() ? 1 : 0)
                            .integer(operator.reverse() ? 1 : 0)
                            .address(o.in(0))
                            .address(o.out()))));
  }

  private static CudaKernel topK(
      Toolbox toolbox, TopK operator, TensorType type, List<TensorType> outputs) {
    Shape shape = type.shape();
    int along = axis(operator.axis(), shape);
    return new PlainKernel(
        KernelChoice.of(
            "selection by rank",
            Demands.of((long) operator.k() * type.elements(), List.of(type), outputs)),
        o ->
            outputs.get(0).elements() == 0
                ? List.of()
                : List.of(
                    Launches.kernel(
                        toolbox.function(SCAN, "top_k_" + CType.suffix(type.dataType())),
                        LaunchDimensions.forElements(type.elements()),
                        new KernelArguments()
                            .longInteger(type.elements())
                            .integer(shape.extent(along))
                            .longInteger(shape.strides()[along])
                            .integer(operator.k())
                            .integer(operator.largest() ? 1 : 0)
                            .address(o.in(0))
                            .address(o.outputs().get(0))
                            .address(o.outputs().get(1)))));
  }
}
