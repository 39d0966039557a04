package dev.nimble.cuda.kernel;

import dev.nimble.cuda.driver.Resources;
import dev.nimble.error.DeviceException;
import dev.nimble.error.LibraryError;
import java.util.Arrays;
import jcuda.nvrtc.JNvrtc;
import jcuda.nvrtc.nvrtcProgram;
import jcuda.nvrtc.nvrtcResult;

/** NVRTC: CUDA C to PTX. */
final class Compiler {
  private static final int LOG_SHOWN = 2000;

  private final String[] options;
  private final String identity;

  /** A compiler for GPUs of {@code computeCapability} (90 for sm_90) or the newest it knows. */
  Compiler(int computeCapability) {
    int[] major = new int[1];
    int[] minor = new int[1];
    check("nvrtcVersion", JNvrtc.nvrtcVersion(major, minor));
    this.options =
        new String[] {
          "--gpu-architecture=compute_" + architecture(computeCapability), "--std=c++17"
        };
    this.identity = "nvrtc " + major[0] + "." + minor[0] + " " + String.join(" ", options);
  }

  private static int architecture(int computeCapability) {
    int[] count = new int[1];
    check("nvrtcGetNumSupportedArchs", JNvrtc.nvrtcGetNumSupportedArchs(count));
    int[] known = new int[count[0]];
    check("nvrtcGetSupportedArchs", JNvrtc.nvrtcGetSupportedArchs(known));
    return Arrays.stream(known)
        .filter(a -> a <= computeCapability)
        .max()
        .orElseThrow(
            () ->
                new DeviceException(
                    "NVRTC compiles for GPUs of compute capability "
                        + Arrays.toString(known)
                        + " (times 10), and this one has "
                        + computeCapability
                        + "; install an older NVRTC"));
  }

  /** Version and options: two compilers of one identity make equal code. */
  String identity() {
    return identity;
  }

  /**
   * Compiles.
   *
   * @param contracts whether a product and a sum may become one operation
   * @throws DeviceException if it fails, with the head of the compiler's log
   */
  String ptx(String name, String source, boolean contracts) {
    nvrtcProgram program = new nvrtcProgram();
    check(
        "nvrtcCreateProgram",
        JNvrtc.nvrtcCreateProgram(program, source, name, 0, new String[0], new String[0]));
    try (Resources made = new Resources()) {
      made.own(() -> check("nvrtcDestroyProgram", JNvrtc.nvrtcDestroyProgram(program)));
      String[] all = Arrays.copyOf(options, options.length + 1);
      all[options.length] = "--fmad=" + contracts;
      int code = JNvrtc.nvrtcCompileProgram(program, all.length, all);
      if (code != nvrtcResult.NVRTC_SUCCESS) {
        throw failure("nvrtcCompileProgram", code, (name + "\n" + log(program)).trim());
      }
      String[] ptx = new String[1];
      check("nvrtcGetPTX", JNvrtc.nvrtcGetPTX(program, ptx));
      return ptx[0];
    }
  }

  private static String log(nvrtcProgram program) {
    String[] log = new String[1];
    if (JNvrtc.nvrtcGetProgramLog(program, log) != nvrtcResult.NVRTC_SUCCESS || log[0] == null) {
      return "";
    }
    String text = log[0].trim();
    return text.length() > LOG_SHOWN ? text.substring(0, LOG_SHOWN) + "..." : text;
  }

  private static void check(String call, int code) {
    if (code != nvrtcResult.NVRTC_SUCCESS) {
      throw failure(call, code, "");
    }
  }

  private static DeviceException failure(String call, int code, String about) {
    return new DeviceException(
        new LibraryError("NVRTC", call, code, nvrtcResult.stringFor(code)), about);
  }
}
