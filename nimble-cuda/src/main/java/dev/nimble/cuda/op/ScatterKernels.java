package dev.nimble.cuda.op;

import dev.nimble.cuda.driver.DeviceAddress;
import dev.nimble.cuda.driver.LaunchDimensions;
import dev.nimble.cuda.kernel.KernelArguments;
import dev.nimble.graph.Operator;
import dev.nimble.graph.TensorType;
import dev.nimble.op.KernelChoice;
import dev.nimble.op.Scatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Scatter: scatter.cu. The same result every time, also where a row is named more than once. */
final class ScatterKernels {
  private static final String SCATTER = "scatter.cu";

  private final Toolbox toolbox;
  private final List<TensorType> inputs;
  private final Scatter.Reduction reduction;
  private final long extent;
  private final long count;
  private final long elements;

  private ScatterKernels(Toolbox toolbox, List<TensorType> inputs, Scatter.Reduction reduction) {
    this.toolbox = toolbox;
    this.inputs = inputs;
    this.reduction = reduction;
    this.extent = inputs.get(0).shape().extent(0);
    this.count = inputs.get(1).elements();
    this.elements = inputs.get(0).elements();
  }

  /** The kernel, or null if the operator is of another family. */
  static @Nullable CudaKernel of(
      Toolbox toolbox, Operator operator, List<TensorType> inputs, List<TensorType> outputs) {
    return operator instanceof Scatter
        ? new ScatterKernels(toolbox, inputs, ((Scatter) operator).reduction()).kernel()
        : null;
  }

  private boolean replaces() {
    return reduction == Scatter.Reduction.NONE;
  }

  private CudaKernel kernel() {
    long operations = replaces() ? 0 : inputs.get(2).elements();
    KernelChoice choice =
        KernelChoice.of(
                replaces() ? "scatter last" : "scatter in order",
                Demands.of(operations, inputs, List.of(inputs.get(0))))
            .inPlaceOver(List.of(0));
    long entries = Math.max(1, extent + (replaces() ? 0 : count));
    return new PlainKernel(choice.withWorkspace(Integer.BYTES * entries), this::launches);
  }

  private List<Launch> launches(Operands operands) {
    DeviceAddress heads = Objects.requireNonNull(operands.workspace());
    DeviceAddress next = replaces() ? null : heads.plus(Integer.BYTES * extent);
    List<Launch> launches = new ArrayList<>();
    if (extent > 0) {
      add(launches, "clear", extent, new KernelArguments().longInteger(extent).address(heads));
    }
    if (count > 0) { // even without rows, since then every update is out of range
      KernelArguments arguments =
          new KernelArguments()
              .longInteger(count)
              .longInteger(extent)
              .address(operands.in(1))
              .address(heads);
      if (next != null) {
        arguments.address(next);
      }
      arguments.integer(operands.node()).address(operands.report());
      add(launches, replaces() ? "last" : "link", count, arguments);
    }
    if (elements > 0) {
      long inner = elements / extent;
      KernelArguments arguments = new KernelArguments().longInteger(elements).longInteger(inner);
      if (next == null) {
        arguments.address(heads);
      } else {
        KernelArguments lists = new KernelArguments().longInteger(extent);
        add(launches, "sort", extent, lists.address(heads).address(next));
        arguments.integer(reduction.ordinal()).address(heads).address(next);
      }
      arguments.address(operands.in(0)).address(operands.in(2)).address(operands.out());
      add(launches, apply(), elements, arguments);
    }
    return launches;
  }

  private String apply() {
    return replaces()
        ? "replace_" + inputs.get(0).dataType().sizeBytes()
        : "combine_" + CType.suffix(inputs.get(0).dataType());
  }

  private void add(List<Launch> launches, String name, long threads, KernelArguments arguments) {
    launches.add(
        Launches.kernel(
            toolbox.function(SCATTER, "scatter_" + name),
            LaunchDimensions.forElements(threads),
            arguments));
  }
}
