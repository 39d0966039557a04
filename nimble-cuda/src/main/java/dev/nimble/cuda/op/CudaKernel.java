package dev.nimble.cuda.op;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import dev.nimble.cuda.kernel.KernelSource;
import dev.nimble.op.KernelChoice;

/** How one operator runs on operands of given types. */
public interface CudaKernel {
  /** What planning needs to know. */
  KernelChoice choice();

  /** Generated kernels that it launches, so that those of a whole graph are compiled together. */
  default ImmutableList<KernelSource> generated() {
    return ImmutableList.of();
  }

  /** What was measured to choose it, as {@link dev.nimble.plan.Tuning} entries. */
  default ImmutableMap<String, String> tuning() {
    return ImmutableMap.of();
  }

  /** The launches, in order, each after the one before. Nothing may be capturing. */
  ImmutableList<Launch> bind(Operands operands);
}
