package dev.nimble.cuda.op;

import com.google.common.collect.ImmutableList;
import dev.nimble.cuda.driver.CudaContext;
import dev.nimble.cuda.kernel.DiskCache;
import dev.nimble.cuda.kernel.Kernels;
import dev.nimble.cuda.library.Libraries;
import dev.nimble.error.DeviceException;
import dev.nimble.error.InvalidModelException;
import dev.nimble.error.NimbleException;
import dev.nimble.graph.Node;
import dev.nimble.graph.Operand;
import dev.nimble.graph.Operator;
import dev.nimble.graph.TensorType;
import dev.nimble.plan.Tuning;
import java.util.Collection;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Chooses the kernel for an operator and its types. Belongs to a device, whose context must be
 * current; nothing may be capturing, since a choice may measure. Thread-safe.
 */
public final class CudaKernels {
  private static final List<Family> FAMILIES =
      List.of(
          ElementwiseKernel::of,
          ProductKernels::of,
          WindowKernels::of,
          RowKernels::of,
          ScanKernels::of,
          ScatterKernels::of,
          MoveKernels::of);

  private final Kernels kernels;
  private final Toolbox toolbox;

  /** Kernels of one kind. */
  private interface Family {
    /** The kernel, or null if the operator is of another kind. */
    @Nullable CudaKernel of(
        Toolbox toolbox, Operator operator, List<TensorType> inputs, List<TensorType> outputs);
  }

  /**
   * Kernels of one device.
   *
   * @param kernels where CUDA C is compiled and loaded
   * @param cache where measured choices are kept
   * @param libraries which libraries may be called; own kernels stand in for the others
   * @param tensorFloat whether products and convolutions in f32 may round their factors to TF32 (10
   *     bits of fraction), which is faster
   */
  public CudaKernels(
      CudaContext context,
      Kernels kernels,
      DiskCache cache,
      Libraries libraries,
      boolean tensorFloat) {
    this.kernels = kernels;
    this.toolbox = new Toolbox(context, kernels, cache, libraries, tensorFloat);
  }

  private CudaKernels(Kernels kernels, Toolbox toolbox) {
    this.kernels = kernels;
    this.toolbox = toolbox;
  }

  /** The same, but of what {@code tuning} knows nothing is measured again. */
  public CudaKernels tuned(Tuning tuning) {
    return tuning.entries().isEmpty() ? this : new CudaKernels(kernels, toolbox.tuned(tuning));
  }

  /**
   * The kernel for {@code node}.
   *
   * @throws InvalidModelException if there is none; names the node
   */
  public CudaKernel of(Node node) {
    try {
      return of(
          node.operator(),
          node.inputs().stream().map(Operand::type).toList(),
          node.outputs().stream().map(Operand::type).toList());
    } catch (InvalidModelException e) {
      throw new InvalidModelException(e.what(), node.location(), e);
    } catch (DeviceException e) {
      throw e.at(node.location());
    }
  }

  /**
   * The kernel for an operator on operands of these types.
   *
   * @throws InvalidModelException if there is none
   * @throws NimbleException if measuring a choice fails
   */
  public CudaKernel of(Operator operator, List<TensorType> inputs, List<TensorType> outputs) {
    for (Family family : FAMILIES) {
      CudaKernel kernel = family.of(toolbox, operator, inputs, outputs);
      if (kernel != null) {
        return kernel;
      }
    }
    throw new InvalidModelException(
        "the CUDA device has no kernel for " + operator.name() + " of " + inputs);
  }

  /** Compiles the generated kernels of {@code chosen} that are new, together. */
  public void compile(Collection<CudaKernel> chosen) {
    kernels.load(
        chosen.stream()
            .flatMap(kernel -> kernel.generated().stream())
            .collect(ImmutableList.toImmutableList()));
  }
}
