package dev.nimble.cuda.emulator;

import static dev.nimble.cuda.emulator.EmulatedGpu.check;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.IntStream;
import jcuda.Pointer;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUfunction;
import jcuda.driver.CUmodule;
import jcuda.driver.CUresult;
import jcuda.driver.JCudaDriver;
import jcuda.nvrtc.JNvrtc;
import jcuda.nvrtc.nvrtcProgram;
import jcuda.nvrtc.nvrtcResult;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** CUDA C through the emulated NVRTC: barriers, warps, shared memory, atomics, half precision. */
@Tag("emulator")
class DeviceCodeTest {
  private EmulatedGpu gpu;

  @BeforeEach
  void open() {
    gpu = new EmulatedGpu();
  }

  @AfterEach
  void close() {
    Emulator.forgive();
    gpu.close();
  }

  /** Runs {@code kernel(float* x)} on one block; what x holds then. */
  private float[] run(String source, int blocks, int threads, int shared, float... x) {
    CUdeviceptr memory = gpu.upload(x);
    gpu.synchronize();
    try (TestModule module = new TestModule(source)) {
      check(module.launch("kernel", blocks, threads, shared, gpu.stream(), Pointer.to(memory)));
      return gpu.floats(memory, x.length);
    }
  }

  private static float[] oneTo(int n) {
    float[] x = new float[n];
    IntStream.range(0, n).forEach(i -> x[i] = i + 1);
    return x;
  }

  @Test
  void barriersAndDynamicSharedMemorySumABlock() {
    String sum =
        "extern \"C\" __global__ void kernel(float* x) {\n"
            + "  extern __shared__ float part[];\n"
            + "  int i = threadIdx.x;\n"
            + "  part[i] = x[blockIdx.x * blockDim.x + i];\n"
            + "  for (int half = blockDim.x / 2; half > 0; half /= 2) {\n"
            + "    __syncthreads();\n"
            + "    if (i < half) part[i] += part[i + half];\n"
            + "  }\n"
            + "  if (i == 0) x[blockIdx.x * blockDim.x] = part[0];\n"
            + "}\n";
    float[] x = run(sum, 2, 64, 256, oneTo(128));
    assertThat(x[0]).isEqualTo(2080);
    assertThat(x[64]).isEqualTo(6176);
  }

  @Test
  void warpsShuffleWhileOtherWarpsWaitAtABarrier() {
    String sum =
        "extern \"C\" __global__ void kernel(float* x) {\n"
            + "  __shared__ float part[32];\n"
            + "  float v = x[threadIdx.x];\n"
            + "  for (int by = 16; by > 0; by /= 2) v += __shfl_down_sync(0xffffffffu, v, by);\n"
            + "  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;\n"
            + "  __syncthreads();\n"
            + "  if (threadIdx.x < 32) {\n"
            + "    v = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0.0f;\n"
            + "    for (int by = 16; by > 0; by /= 2) v += __shfl_xor_sync(0xffffffffu, v, by);\n"
            + "    part[threadIdx.x] = v;\n"
            + "  }\n"
            + "  __syncthreads();\n"
            + "  x[threadIdx.x] = part[threadIdx.x % 32];\n"
            + "}\n";
    assertThat(run(sum, 1, 128, 0, oneTo(128))).containsOnly(8256);
  }

  @Test
  void votesCountLanes() {
    String vote =
        "extern \"C\" __global__ void kernel(float* x) {\n"
            + "  int i = threadIdx.x;\n"
            + "  unsigned int odd = __ballot_sync(0xffffffffu, i & 1);\n"
            + "  int low = __shfl_up_sync(0xffffffffu, i, 1);\n"
            + "  int all = __all_sync(0xffffffffu, i < 40), any = __any_sync(0xffffffffu, i == 35);\n"
            + "  int first = __shfl_sync(0xffffffffu, i, 0, 8);\n"
            + "  int count = __syncthreads_count(i < 5);\n"
            + "  x[i] = __popc(odd) + 100 * low + 10000 * (all + 2 * any) + 0.125f * first\n"
            + "      + 100000 * count;\n"
            + "}\n";
    float[] x = run(vote, 1, 40, 0, new float[40]);
    assertThat(x[0]).isEqualTo(16 + 10000 + 500000);
    assertThat(x[9]).isEqualTo(16 + 800 + 10000 + 1 + 500000);
    assertThat(x[39]).isEqualTo(4 + 3800 + 30000 + 4 + 500000);
  }

  @Test
  void aBarrierThatSomeNeverReachFails() {
    String broken =
        "extern \"C\" __global__ void kernel(float* x) {\n"
            + "  if (threadIdx.x == 0) __syncwarp(); else __syncthreads();\n"
            + "}\n";
    CUdeviceptr x = gpu.upload(1f);
    try (TestModule module = new TestModule(broken)) {
      check(module.launch("kernel", 1, 2, 0, gpu.stream(), Pointer.to(x)));
      assertThat(JCudaDriver.cuStreamSynchronize(gpu.stream()))
          .isEqualTo(CUresult.CUDA_ERROR_LAUNCH_FAILED);
      assertThat(Emulator.reasons()).last().asString().contains("same barrier");
      Emulator.forgive();
    }
  }

  @Test
  void writesBeyondSharedMemoryAreFound() {
    String broken =
        "extern \"C\" __global__ void kernel(float* x) {\n"
            + "  extern __shared__ double part[];\n"
            + "  part[threadIdx.x] = x[0];\n"
            + "}\n";
    CUdeviceptr x = gpu.upload(1f);
    try (TestModule module = new TestModule(broken)) {
      check(module.launch("kernel", 1, 4, 32, gpu.stream(), Pointer.to(x)));
      gpu.synchronize();
      check(module.launch("kernel", 1, 8, 32, gpu.stream(), Pointer.to(x)));
      assertThat(JCudaDriver.cuStreamSynchronize(gpu.stream()))
          .isEqualTo(CUresult.CUDA_ERROR_ILLEGAL_ADDRESS);
      Emulator.forgive();
    }
  }

  @Test
  void atomicsCount() {
    String count =
        "extern \"C\" __global__ void kernel(float* x) {\n"
            + "  atomicAdd(&x[0], 1);\n"
            + "  atomicMax((int*)&x[1], threadIdx.x);\n"
            + "  atomicExch(&x[2], 5.0f);\n"
            + "}\n";
    float[] x = run(count, 8, 32, 0, 0, 0, 0);
    assertThat(x[0]).isEqualTo(256);
    assertThat(Float.floatToIntBits(x[1])).isEqualTo(31);
    assertThat(x[2]).isEqualTo(5);
  }

  @Test
  void halfPrecisionRoundsToNearestEven() {
    String half =
        "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
            + "extern \"C\" __global__ void kernel(float* x) {\n"
            + "  float v = x[threadIdx.x];\n"
            + "  x[threadIdx.x] = __half2float(__float2half(v));\n"
            + "  x[threadIdx.x + 8] = __bfloat162float(__float2bfloat16(v));\n"
            + "}\n";
    float[] in = {
      1.00048828125f, 1.00146484375f, 65519, 65520, 6.0e-8f, 2.9e-8f, -1.5f, 1.00390625f
    };
    CUdeviceptr memory = gpu.upload(new float[16]);
    gpu.store(memory, in);
    CUmodule module = new CUmodule();
    check(JCudaDriver.cuModuleLoadData(module, TestModule.ptx(half, "-I/cuda/include")));
    CUfunction kernel = new CUfunction();
    check(JCudaDriver.cuModuleGetFunction(kernel, module, "kernel"));
    check(
        JCudaDriver.cuLaunchKernel(
            kernel, 1, 1, 1, 8, 1, 1, 0, gpu.stream(), Pointer.to(Pointer.to(memory)), null));
    float[] x = gpu.floats(memory, 16);
    check(JCudaDriver.cuModuleUnload(module));
    assertThat(x)
        .startsWith(1, 1.001953125f, 65504, Float.POSITIVE_INFINITY, 5.9604645e-8f, 0, -1.5f)
        .endsWith(1); // a tie of bfloat16, to even
  }

  @Test
  void errorsComeWithLinesOfTheSource() {
    nvrtcProgram program = new nvrtcProgram();
    String source =
        "extern \"C\" __global__ void kernel(float* x) {\n  x[0] = 1;\n  y[0] = 1;\n}\n";
    check(JNvrtc.nvrtcCreateProgram(program, source, "broken.cu", 0, new String[0], new String[0]));
    assertThat(JNvrtc.nvrtcCompileProgram(program, 0, new String[0]))
        .isEqualTo(nvrtcResult.NVRTC_ERROR_COMPILATION);
    String[] log = new String[1];
    check(JNvrtc.nvrtcGetProgramLog(program, log));
    assertThat(log[0]).contains("broken.cu:3");
    assertThat(JNvrtc.nvrtcCompileProgram(program, 1, new String[] {"--nonsense"}))
        .isEqualTo(nvrtcResult.NVRTC_ERROR_INVALID_OPTION);
    assertThat(JNvrtc.nvrtcCompileProgram(program, 1, new String[] {"-arch=compute_33"}))
        .isEqualTo(nvrtcResult.NVRTC_ERROR_INVALID_OPTION);
    check(JNvrtc.nvrtcDestroyProgram(program));
  }

  @Test
  void templatesAreAskedForByNameExpressionsAndPlainNamesNeedExternC() {
    String source =
        "template <typename T> __global__ void set(float* x) { x[0] = (T)2.75f; }\n"
            + "__global__ void mangled(float* x) { x[0] = 1; }\n"
            + "__constant__ float table[3] = {1, 2, 3};\n"
            + "extern \"C\" __global__ void look(float* x) { x[0] = table[2] * SCALE; }\n";
    nvrtcProgram program = new nvrtcProgram();
    check(JNvrtc.nvrtcCreateProgram(program, source, "t.cu", 0, new String[0], new String[0]));
    check(JNvrtc.nvrtcAddNameExpression(program, "set<int>"));
    check(JNvrtc.nvrtcCompileProgram(program, 1, new String[] {"-DSCALE=4"}));
    String[] lowered = new String[1];
    check(JNvrtc.nvrtcGetLoweredName(program, "set<int>", lowered));
    String[] ptx = new String[1];
    check(JNvrtc.nvrtcGetPTX(program, ptx));
    check(JNvrtc.nvrtcDestroyProgram(program));
    CUmodule module = new CUmodule();
    check(JCudaDriver.cuModuleLoadData(module, ptx[0]));
    CUdeviceptr x = gpu.upload(0f);
    CUfunction function = new CUfunction();
    assertThat(JCudaDriver.cuModuleGetFunction(function, module, "mangled"))
        .isEqualTo(CUresult.CUDA_ERROR_NOT_FOUND);
    Pointer arguments = Pointer.to(Pointer.to(x));
    check(JCudaDriver.cuModuleGetFunction(function, module, lowered[0]));
    check(JCudaDriver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, gpu.stream(), arguments, null));
    assertThat(gpu.floats(x, 1)[0]).isEqualTo(2);
    CUdeviceptr table = new CUdeviceptr();
    long[] bytes = new long[1];
    check(JCudaDriver.cuModuleGetGlobal(table, bytes, module, "table"));
    assertThat(bytes[0]).isEqualTo(12);
    gpu.store(table, 1, 2, 5);
    check(JCudaDriver.cuModuleGetFunction(function, module, "look"));
    check(JCudaDriver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, gpu.stream(), arguments, null));
    assertThat(gpu.floats(x, 1)[0]).isEqualTo(20);
    check(JCudaDriver.cuModuleUnload(module));
  }
}
