package dev.nimble.cuda;

import dev.nimble.cuda.kernel.DiskCache;
import dev.nimble.cuda.library.Libraries;
import dev.nimble.cuda.record.CudaRecording;
import dev.nimble.error.InvalidArgumentException;
import java.util.Locale;

/**
 * How CUDA devices work.
 *
 * @param mode how steps are replayed
 * @param libraries which of CUDA's libraries are called
 * @param tensorFloat whether f32 products and convolutions may round their factors to TF32
 * @param highPriority whether steps go before those of the GPU's other streams
 * @param cache where compiled kernels and measured choices are kept
 */
record CudaOptions(
    CudaRecording.Mode mode,
    Libraries libraries,
    boolean tensorFloat,
    boolean highPriority,
    DiskCache cache) {
  /**
   * What the system properties say: {@code nimble.cuda.replay} ({@code graph} or {@code streams}),
   * {@code nimble.cuda.tf32} ({@code true} or {@code false}), {@code nimble.cuda.priority} ({@code
   * normal} or {@code high}), {@code nimble.cache}.
   */
  static CudaOptions ofProperties(Libraries found) {
    String replay = System.getProperty("nimble.cuda.replay", "graph");
    CudaRecording.Mode mode;
    try {
      mode = CudaRecording.Mode.valueOf(replay.toUpperCase(Locale.ROOT));
    } catch (IllegalArgumentException e) {
      throw new InvalidArgumentException(
          "nimble.cuda.replay must be graph or streams, not '" + replay + "'");
    }
    String priority = System.getProperty("nimble.cuda.priority", "normal");
    if (!priority.equals("normal") && !priority.equals("high")) {
      throw new InvalidArgumentException(
          "nimble.cuda.priority must be normal or high, not '" + priority + "'");
    }
    return new CudaOptions(
        mode,
        found,
        Boolean.getBoolean("nimble.cuda.tf32"),
        priority.equals("high"),
        DiskCache.ofUser());
  }
}
