package dev.nimble.cuda.op;

import dev.nimble.cuda.kernel.KernelSource;
import java.util.concurrent.ConcurrentHashMap;

/** The CUDA C of this package: resources beside it. */
final class Sources {
  private static final ConcurrentHashMap<String, KernelSource> RESOURCES =
      new ConcurrentHashMap<>();
  private static final String ELEMENTWISE_PRELUDE =
      KernelSource.read(Sources.class, "prelude.cuh")
          + KernelSource.read(Sources.class, "functions.cuh");

  private Sources() {}

  /** The kernels of a resource. */
  static KernelSource resource(String file) {
    return RESOURCES.computeIfAbsent(
        file, name -> KernelSource.ofResource(Sources.class, "prelude.cuh", name));
  }

  /** A generated elementwise kernel. */
  static KernelSource elementwise(String label, String text) {
    return KernelSource.generated(ELEMENTWISE_PRELUDE, label, text);
  }
}
