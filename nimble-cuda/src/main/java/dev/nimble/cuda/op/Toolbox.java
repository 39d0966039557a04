package dev.nimble.cuda.op;

import dev.nimble.cuda.driver.CudaContext;
import dev.nimble.cuda.driver.CudaFunction;
import dev.nimble.cuda.kernel.DiskCache;
import dev.nimble.cuda.kernel.KernelSource;
import dev.nimble.cuda.kernel.Kernels;
import dev.nimble.cuda.library.DnnConvolution;
import dev.nimble.cuda.library.Libraries;
import dev.nimble.graph.DataType;
import dev.nimble.plan.Tuning;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/** What kernels are chosen and bound with: the device's context, kernels and measured choices. */
final class Toolbox {
  private static final long MOST_WORKSPACE_BYTES = 1L << 30;

  private final CudaContext context;
  private final Kernels kernels;
  private final DiskCache cache;
  private final Libraries libraries;
  private final boolean tensorFloat;
  private final Map<String, Optional<DnnConvolution.Algorithm>> algorithms = new HashMap<>();

  /** The same, with what {@code tuning} knows of algorithms; what makes no sense is left out. */
  Toolbox tuned(Tuning tuning) {
    Toolbox tuned = new Toolbox(context, kernels, cache, libraries, tensorFloat);
    tuning
        .entries()
        .forEach(
            (convolution, text) -> {
              DnnConvolution.Algorithm algorithm = DnnConvolution.Algorithm.ofText(text);
              if (algorithm != null) {
                tuned.algorithms.put(convolution, Optional.of(algorithm));
              }
            });
    return tuned;
  }

  Toolbox(
      CudaContext context,
      Kernels kernels,
      DiskCache cache,
      Libraries libraries,
      boolean tensorFloat) {
    this.context = context;
    this.kernels = kernels;
    this.cache = cache;
    this.libraries = libraries;
    this.tensorFloat = tensorFloat;
  }

  CudaContext context() {
    return context;
  }

  /** Whether cuBLAS takes this type. */
  boolean blasTakes(DataType type) {
    return libraries.blas() && (type == DataType.F32 || type == DataType.F64);
  }

  /** Whether cuDNN takes this type. */
  boolean dnnTakes(DataType type) {
    return libraries.dnn() && (type == DataType.F32 || type == DataType.F64);
  }

  boolean tensorFloat() {
    return tensorFloat;
  }

  /** Kernel {@code name} of resource {@code file}. */
  CudaFunction function(String file, String name) {
    return kernels.function(Sources.resource(file), name);
  }

  CudaFunction function(KernelSource generated) {
    return kernels.function(generated, generated.name());
  }

  /**
   * The best algorithm for a convolution: known, or on disk, or measured now. Empty if cuDNN has
   * none.
   */
  synchronized Optional<DnnConvolution.Algorithm> algorithm(DnnConvolution convolution) {
    String description = convolution.description();
    Optional<DnnConvolution.Algorithm> known = algorithms.get(description);
    if (known == null) {
      String key = convolution.key(context);
      known = cache.read(key).map(DnnConvolution.Algorithm::ofText);
      if (known.isEmpty()) {
        long most = Math.min(MOST_WORKSPACE_BYTES, context.memory()[0] / 4);
        known = Optional.ofNullable(convolution.measure(context, most));
        known.ifPresent(algorithm -> cache.write(key, algorithm.asText()));
      }
      algorithms.put(description, known);
    }
    return known;
  }
}
