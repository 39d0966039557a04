package dev.nimble.device.cpu;

import dev.nimble.graph.Tensor;
import dev.nimble.op.KernelChoice;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A kernel of the CPU device for one operator and its types, chosen ahead of time. */
interface CpuKernel {
  /** What planning needs to know of it. */
  KernelChoice choice();

  /**
   * Fixes the operands. Running the result allocates nothing; it is run by one thread at a time.
   *
   * @param workspace bytes (U8) as asked for by the choice, or null if none were
   */
  Runnable bind(List<Tensor> inputs, List<Tensor> outputs, @Nullable Tensor workspace);
}
