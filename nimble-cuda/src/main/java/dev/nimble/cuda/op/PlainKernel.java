package dev.nimble.cuda.op;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import dev.nimble.cuda.kernel.KernelSource;
import dev.nimble.op.KernelChoice;
import java.util.List;
import java.util.function.Function;

/**
 * A kernel put together from its parts.
 *
 * @param choice what planning needs to know
 * @param generated generated kernels that it launches
 * @param tuning what was measured to choose it
 * @param binding makes the launches
 */
record PlainKernel(
    KernelChoice choice,
    ImmutableList<KernelSource> generated,
    ImmutableMap<String, String> tuning,
    Function<Operands, List<Launch>> binding)
    implements CudaKernel {
  PlainKernel(KernelChoice choice, Function<Operands, List<Launch>> binding) {
    this(choice, ImmutableList.of(), binding);
  }

  PlainKernel(
      KernelChoice choice,
      ImmutableList<KernelSource> generated,
      Function<Operands, List<Launch>> binding) {
    this(choice, generated, ImmutableMap.of(), binding);
  }

  @Override
  public ImmutableList<Launch> bind(Operands operands) {
    return ImmutableList.copyOf(binding.apply(operands));
  }
}
