package dev.nimble.cuda.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import jcuda.Pointer;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUgraph;
import jcuda.driver.CUgraphExec;
import jcuda.driver.CUstream;
import jcuda.driver.CUstreamCaptureMode;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;
import jcuda.runtime.cudaStream_t;

/** A context, a stream and some memory of the emulated driver, for the tests of the libraries. */
final class EmulatedGpu implements AutoCloseable {
  private final CUdevice device = new CUdevice();
  private final CUcontext context = new CUcontext();
  private final CUstream stream = new CUstream();
  private final List<CUdeviceptr> memory = new ArrayList<>();
  private final Map<String, Long> before;

  EmulatedGpu() {
    assumeTrue(Emulator.obstacle().isEmpty(), Emulator::obstacle);
    Emulator.install();
    Emulator.reset();
    before = Emulator.open();
    check(JCudaDriver.cuInit(0));
    check(JCudaDriver.cuDeviceGet(device, 0));
    check(JCudaDriver.cuDevicePrimaryCtxRetain(context, device));
    check(JCudaDriver.cuCtxSetCurrent(context));
    // A blocking stream: its work follows the copies of upload(), which run on the legacy stream.
    check(JCudaDriver.cuStreamCreate(stream, CUstream_flags.CU_STREAM_DEFAULT));
  }

  CUstream stream() {
    return stream;
  }

  /** The stream, as cuBLAS and cuDNN take it. */
  cudaStream_t runtimeStream() {
    return new cudaStream_t(stream);
  }

  /** Memory of {@code bytes} bytes, freed with this. */
  CUdeviceptr allocate(long bytes) {
    CUdeviceptr pointer = new CUdeviceptr();
    check(JCudaDriver.cuMemAlloc(pointer, Math.max(bytes, 1)));
    memory.add(pointer);
    return pointer;
  }

  void free(CUdeviceptr pointer) {
    memory.remove(pointer);
    check(JCudaDriver.cuMemFree(pointer));
  }

  CUdeviceptr upload(float... values) {
    CUdeviceptr pointer = allocate(4L * values.length);
    if (values.length > 0) {
      check(JCudaDriver.cuMemcpyHtoD(pointer, Pointer.to(values), 4L * values.length));
    }
    return pointer;
  }

  CUdeviceptr upload(double... values) {
    CUdeviceptr pointer = allocate(8L * values.length);
    if (values.length > 0) {
      check(JCudaDriver.cuMemcpyHtoD(pointer, Pointer.to(values), 8L * values.length));
    }
    return pointer;
  }

  CUdeviceptr upload(short... values) {
    CUdeviceptr pointer = allocate(2L * values.length);
    check(JCudaDriver.cuMemcpyHtoD(pointer, Pointer.to(values), 2L * values.length));
    return pointer;
  }

  /** The addresses of {@code pointers}, in device memory. */
  CUdeviceptr uploadAddresses(Pointer... pointers) {
    CUdeviceptr pointer = allocate(8L * pointers.length);
    check(JCudaDriver.cuMemcpyHtoD(pointer, Pointer.to(pointers), 8L * pointers.length));
    return pointer;
  }

  void store(CUdeviceptr pointer, float... values) {
    check(JCudaDriver.cuMemcpyHtoD(pointer, Pointer.to(values), 4L * values.length));
  }

  float[] floats(CUdeviceptr pointer, int count) {
    synchronize();
    float[] values = new float[count];
    if (count > 0) {
      check(JCudaDriver.cuMemcpyDtoH(Pointer.to(values), pointer, 4L * count));
    }
    return values;
  }

  double[] doubles(CUdeviceptr pointer, int count) {
    synchronize();
    double[] values = new double[count];
    if (count > 0) {
      check(JCudaDriver.cuMemcpyDtoH(Pointer.to(values), pointer, 8L * count));
    }
    return values;
  }

  short[] shorts(CUdeviceptr pointer, int count) {
    synchronize();
    short[] values = new short[count];
    check(JCudaDriver.cuMemcpyDtoH(Pointer.to(values), pointer, 2L * count));
    return values;
  }

  int[] ints(CUdeviceptr pointer, int count) {
    synchronize();
    int[] values = new int[count];
    check(JCudaDriver.cuMemcpyDtoH(Pointer.to(values), pointer, 4L * count));
    return values;
  }

  void synchronize() {
    check(JCudaDriver.cuStreamSynchronize(stream));
  }

  /** Captures what {@code work} queues on the stream, thread-local mode, and instantiates it. */
  CUgraphExec capture(int nodes, Runnable work) {
    beginCapture();
    work.run();
    CUgraph graph = new CUgraph();
    check(JCudaDriver.cuStreamEndCapture(stream, graph));
    long[] count = new long[1];
    check(JCudaDriver.cuGraphGetNodes(graph, null, count));
    assertThat(count[0]).as("nodes captured").isEqualTo(nodes);
    CUgraphExec exec = new CUgraphExec();
    check(JCudaDriver.cuGraphInstantiate(exec, graph, 0));
    check(JCudaDriver.cuGraphDestroy(graph));
    return exec;
  }

  void beginCapture() {
    check(
        JCudaDriver.cuStreamBeginCapture(
            stream, CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  }

  /** Ends a capture that a call must have invalidated. */
  void endInvalidatedCapture() {
    CUgraph graph = new CUgraph();
    assertThat(JCudaDriver.cuStreamEndCapture(stream, graph))
        .as("CUDA_ERROR_STREAM_CAPTURE_INVALIDATED")
        .isEqualTo(901);
  }

  void launch(CUgraphExec exec) {
    check(JCudaDriver.cuGraphLaunch(exec, stream));
    synchronize();
  }

  void destroy(CUgraphExec exec) {
    check(JCudaDriver.cuGraphExecDestroy(exec));
  }

  /**
   * Demands that the work queued so far made an illegal access, and makes the device usable again.
   */
  void assertIllegalAccess() {
    assertThat(JCudaDriver.cuStreamSynchronize(stream))
        .as("CUDA_ERROR_ILLEGAL_ADDRESS")
        .isEqualTo(700);
    Emulator.forgive();
  }

  /** Fails unless a driver call succeeded. */
  static void check(int result) {
    assertThat(result).as("CUresult").isZero();
  }

  /** Frees everything, and demands that nothing else was left open since this was made. */
  @Override
  public void close() {
    synchronize();
    for (CUdeviceptr pointer : memory) {
      check(JCudaDriver.cuMemFree(pointer));
    }
    check(JCudaDriver.cuStreamDestroy(stream));
    check(JCudaDriver.cuCtxSetCurrent(new CUcontext()));
    check(JCudaDriver.cuDevicePrimaryCtxRelease(device));
    assertThat(Emulator.open()).as("open handles and allocations").isEqualTo(before);
  }
}
