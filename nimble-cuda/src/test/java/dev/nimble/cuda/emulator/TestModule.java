package dev.nimble.cuda.emulator;

import static dev.nimble.cuda.emulator.EmulatedGpu.check;

import java.util.HashMap;
import java.util.Map;
import jcuda.NativePointerObject;
import jcuda.Pointer;
import jcuda.driver.CUfunction;
import jcuda.driver.CUmodule;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;
import jcuda.nvrtc.JNvrtc;
import jcuda.nvrtc.nvrtcProgram;

/** A module made of CUDA C by NVRTC, and launches of its kernels. */
final class TestModule implements AutoCloseable {
  /** x[i] = x[i] * factor + term, for i below n. */
  static final String SCALE =
      "extern \"C\" __global__ void scale(float* x, float factor, float term, int n) {\n"
          + "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
          + "  if (i < n) x[i] = x[i] * factor + term;\n"
          + "}\n";

  private final CUmodule module = new CUmodule();
  private final Map<String, CUfunction> functions = new HashMap<>();

  TestModule(String source) {
    check(JCudaDriver.cuModuleLoadData(module, ptx(source)));
  }

  static String ptx(String source, String... options) {
    nvrtcProgram program = new nvrtcProgram();
    check(JNvrtc.nvrtcCreateProgram(program, source, "test.cu", 0, new String[0], new String[0]));
    check(JNvrtc.nvrtcCompileProgram(program, options.length, options));
    String[] ptx = new String[1];
    check(JNvrtc.nvrtcGetPTX(program, ptx));
    check(JNvrtc.nvrtcDestroyProgram(program));
    return ptx[0];
  }

  CUmodule handle() {
    return module;
  }

  CUfunction function(String name) {
    return functions.computeIfAbsent(
        name,
        unknown -> {
          CUfunction function = new CUfunction();
          check(JCudaDriver.cuModuleGetFunction(function, module, unknown));
          return function;
        });
  }

  /** Launches one row of blocks. */
  int launch(
      String name, int blocks, int threads, int shared, CUstream stream, NativePointerObject... p) {
    return JCudaDriver.cuLaunchKernel(
        function(name), blocks, 1, 1, threads, 1, 1, shared, stream, Pointer.to(p), null);
  }

  /** Launches {@link #SCALE} on one block. */
  int scale(CUstream stream, NativePointerObject x, float factor, float term, int n) {
    return launch("scale", 1, n, 0, stream, Pointer.to(x), number(factor), number(term), number(n));
  }

  static Pointer number(float value) {
    return Pointer.to(new float[] {value});
  }

  static Pointer number(int value) {
    return Pointer.to(new int[] {value});
  }

  @Override
  public void close() {
    check(JCudaDriver.cuModuleUnload(module));
  }
}
