package dev.nimble.cuda.emulator;

import static dev.nimble.cuda.emulator.EmulatedGpu.check;
import static dev.nimble.cuda.emulator.TestModule.number;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import jcuda.Pointer;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.CUdevice_attribute;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUevent;
import jcuda.driver.CUfunction;
import jcuda.driver.CUfunction_attribute;
import jcuda.driver.CUmodule;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The emulated driver outside capture: order, memory, contexts, faults, counts. */
@Tag("emulator")
class DriverTest {
  private static final int N = 4;
  private static final int SEEDS = 50;

  private EmulatedGpu gpu;
  private TestModule module;
  private CUdeviceptr x;
  private final List<CUstream> streams = new ArrayList<>();

  @BeforeEach
  void open() {
    gpu = new EmulatedGpu();
    module = new TestModule(TestModule.SCALE);
    module.function("scale"); // later calls may be made in contexts that refuse to look it up
    x = gpu.upload(new float[N]);
    gpu.synchronize();
  }

  @AfterEach
  void close() {
    Emulator.forgive();
    streams.forEach(stream -> check(JCudaDriver.cuStreamDestroy(stream)));
    module.close();
    gpu.close();
  }

  private CUstream stream(int flags) {
    CUstream stream = new CUstream();
    check(JCudaDriver.cuStreamCreate(stream, flags));
    streams.add(stream);
    return stream;
  }

  /** x = (x + 1) * 2 across two streams, with or without a wait: how often it came out wrong. */
  private int wrong(CUstream first, CUstream second, boolean waits) {
    CUevent event = new CUevent();
    check(JCudaDriver.cuEventCreate(event, 2));
    int wrong = 0;
    for (int seed = 0; seed < SEEDS; seed++) {
      gpu.store(x, 1, 1, 1, 1);
      check(JCudaDriver.cuCtxSynchronize());
      Emulator.delays(seed, 300);
      check(module.scale(first, x, 1, 1, N));
      if (waits) {
        check(JCudaDriver.cuEventRecord(event, first));
        check(JCudaDriver.cuStreamWaitEvent(second, event, 0));
      }
      check(module.scale(second, x, 2, 0, N));
      check(JCudaDriver.cuCtxSynchronize());
      wrong += gpu.floats(x, N)[0] == 4 ? 0 : 1;
    }
    check(JCudaDriver.cuEventDestroy(event));
    return wrong;
  }

  @Test
  void aMissingWaitShows() {
    CUstream a = stream(1);
    CUstream b = stream(1);
    assertThat(wrong(a, b, true)).isZero();
    assertThat(wrong(a, b, false)).isGreaterThan(5);
    assertThat(wrong(a, a, false)).as("one stream").isZero();
  }

  @Test
  void theLegacyStreamOrdersBlockingStreamsOnly() {
    CUstream blocking = stream(0);
    CUstream free = stream(1);
    CUstream legacy = new CUstream();
    assertThat(wrong(blocking, legacy, false)).isZero();
    assertThat(wrong(legacy, blocking, false)).isZero();
    assertThat(wrong(legacy, free, false)).isGreaterThan(5);
  }

  @Test
  void eventsTellWhatIsDone() {
    CUstream a = stream(1);
    CUevent from = new CUevent();
    CUevent to = new CUevent();
    check(JCudaDriver.cuEventCreate(from, 0));
    check(JCudaDriver.cuEventCreate(to, 0));
    check(JCudaDriver.cuEventQuery(from)); // never recorded: done
    Object gate = new Object();
    AtomicInteger runs = new AtomicInteger();
    check(JCudaDriver.cuEventRecord(from, a));
    synchronized (gate) { // the host function, and what follows it, cannot finish
      check(
          JCudaDriver.cuLaunchHostFunc(
              a,
              data -> {
                synchronized (gate) {
                  runs.incrementAndGet();
                }
              },
              null));
      check(JCudaDriver.cuEventRecord(to, a));
      assertThat(JCudaDriver.cuEventQuery(to)).isEqualTo(CUresult.CUDA_ERROR_NOT_READY);
      assertThat(JCudaDriver.cuStreamQuery(a)).isEqualTo(CUresult.CUDA_ERROR_NOT_READY);
      assertThat(JCudaDriver.cuEventElapsedTime(new float[1], from, to))
          .isEqualTo(CUresult.CUDA_ERROR_NOT_READY);
    }
    check(JCudaDriver.cuEventSynchronize(to));
    assertThat(runs).hasValue(1);
    float[] millis = {-1};
    check(JCudaDriver.cuEventElapsedTime(millis, from, to));
    assertThat(millis[0]).isNotNegative();
    check(JCudaDriver.cuEventDestroy(from));
    check(JCudaDriver.cuEventDestroy(to));
    assertThat(JCudaDriver.cuEventQuery(to)).isEqualTo(CUresult.CUDA_ERROR_INVALID_HANDLE);
  }

  @Test
  void copiesAndFillsStayInBounds() {
    int invalid = CUresult.CUDA_ERROR_INVALID_VALUE;
    CUstream a = stream(1);
    assertThat(JCudaDriver.cuMemsetD8(x, (byte) 0, 4 * N + 1)).isEqualTo(invalid);
    assertThat(JCudaDriver.cuMemcpyHtoD(x, Pointer.to(new float[N + 1]), 4 * N + 4))
        .isEqualTo(invalid);
    assertThat(JCudaDriver.cuMemcpyDtoDAsync(x.withByteOffset(4), x, 4 * N, a)).isEqualTo(invalid);
    check(JCudaDriver.cuMemsetD16(x, (short) 0x4000, 2 * N));
    assertThat(gpu.floats(x, 1)[0]).isEqualTo(Float.intBitsToFloat(0x40004000));
    check(JCudaDriver.cuMemsetD32Async(x, Float.floatToIntBits(3), N, a));
    check(JCudaDriver.cuStreamSynchronize(a));
    assertThat(gpu.floats(x, N)).containsOnly(3);
    CUdeviceptr freed = new CUdeviceptr();
    check(JCudaDriver.cuMemAlloc(freed, 16));
    check(JCudaDriver.cuMemFree(freed));
    assertThat(JCudaDriver.cuMemcpyDtoD(x, freed, 16)).isEqualTo(invalid);
    assertThat(JCudaDriver.cuMemFree(freed)).isEqualTo(invalid);
  }

  @Test
  void memoryIsPoisonedWhenFreshAndWhenFreed() {
    CUdeviceptr fresh = gpu.allocate(4);
    assertThat(Float.floatToIntBits(gpu.floats(fresh, 1)[0])).isEqualTo(0xCBCBCBCB);
    Pointer pinned = new Pointer();
    check(JCudaDriver.cuMemHostAlloc(pinned, 4, 0));
    pinned.getByteBuffer(0, 4).putFloat(0, 1);
    ByteBuffer view = pinned.getByteBuffer(0, 4);
    check(JCudaDriver.cuMemFreeHost(pinned));
    assertThat(view.getInt(0)).isEqualTo(0xDDDDDDDD);
  }

  private void poisons(int status, String reason) {
    assertThat(JCudaDriver.cuStreamSynchronize(gpu.stream())).isEqualTo(status);
    assertThat(Emulator.reasons()).last().asString().contains(reason);
    // Sticky: whatever comes next says the same.
    assertThat(module.scale(gpu.stream(), x, 1, 1, N)).isEqualTo(status);
    assertThat(JCudaDriver.cuMemAlloc(new CUdeviceptr(), 4)).isEqualTo(status);
    assertThat(JCudaDriver.cuCtxSynchronize()).isEqualTo(status);
    Emulator.forgive();
  }

  @Test
  void aKernelThatWritesBeyondItsMemoryIsFound() {
    check(module.scale(gpu.stream(), x, 0, 7, N + 1));
    poisons(CUresult.CUDA_ERROR_ILLEGAL_ADDRESS, "wrote outside an allocation of 16 bytes");
  }

  @Test
  void aKernelThatIsGivenFreedMemoryIsFound() {
    CUdeviceptr freed = new CUdeviceptr();
    check(JCudaDriver.cuMemAlloc(freed, 16));
    check(JCudaDriver.cuMemFree(freed));
    check(module.scale(gpu.stream(), freed, 1, 1, N));
    poisons(CUresult.CUDA_ERROR_ILLEGAL_ADDRESS, "in memory that was freed");
  }

  @Test
  void aKernelThatFaultsEndsAloneNotTheProcess() {
    check(module.scale(gpu.stream(), new CUdeviceptr(), 1, 1, N));
    poisons(CUresult.CUDA_ERROR_ILLEGAL_ADDRESS, "touched an unmapped address");
    gpu.store(x, 1, 1, 1, 1);
    check(module.scale(gpu.stream(), x, 2, 0, N));
    assertThat(gpu.floats(x, N)).containsOnly(2);
  }

  @Test
  void faultsComeWhereTheyAreAskedFor() {
    Emulator.failKernel(2);
    check(module.scale(gpu.stream(), x, 1, 1, N));
    gpu.synchronize();
    check(module.scale(gpu.stream(), x, 1, 1, N));
    poisons(CUresult.CUDA_ERROR_LAUNCH_FAILED, "injected failure of kernel scale");
    Emulator.failAccess(1);
    check(module.scale(gpu.stream(), x, 1, 1, N));
    poisons(CUresult.CUDA_ERROR_ILLEGAL_ADDRESS, "injected failure of kernel scale");
    Emulator.failAllocation(2);
    gpu.allocate(4);
    assertThat(JCudaDriver.cuMemAlloc(new CUdeviceptr(), 4))
        .isEqualTo(CUresult.CUDA_ERROR_OUT_OF_MEMORY);
    gpu.allocate(4);
    Emulator.fail("cuStreamQuery", 2, CUresult.CUDA_ERROR_UNKNOWN);
    check(JCudaDriver.cuStreamQuery(gpu.stream()));
    assertThat(JCudaDriver.cuStreamQuery(gpu.stream())).isEqualTo(CUresult.CUDA_ERROR_UNKNOWN);
    check(JCudaDriver.cuStreamQuery(gpu.stream()));
    Emulator.memory(1000);
    assertThat(JCudaDriver.cuMemAlloc(new CUdeviceptr(), 1001))
        .isEqualTo(CUresult.CUDA_ERROR_OUT_OF_MEMORY);
    Emulator.reset();
  }

  @Test
  void launchesKeepToTheLimits() {
    CUfunction scale = module.function("scale");
    Pointer arguments = Pointer.to(Pointer.to(x), number(1f), number(1f), number(N));
    int[][] sizes = {
      {0, 1, 1, 1, 1, 1, 0},
      {1, 65536, 1, 1, 1, 1, 0},
      {1, 1, 1, 1025, 1, 1, 0},
      {1, 1, 1, 32, 33, 1, 0},
      {1, 1, 1, 1, 1, 65, 0},
      {1, 1, 1, 1, 1, 1, 49153}
    };
    for (int[] s : sizes) {
      assertThat(
              JCudaDriver.cuLaunchKernel(
                  scale, s[0], s[1], s[2], s[3], s[4], s[5], s[6], gpu.stream(), arguments, null))
          .isEqualTo(CUresult.CUDA_ERROR_INVALID_VALUE);
    }
    int dynamic = CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    assertThat(JCudaDriver.cuFuncSetAttribute(scale, dynamic, 232449))
        .isEqualTo(CUresult.CUDA_ERROR_INVALID_VALUE);
    check(JCudaDriver.cuFuncSetAttribute(scale, dynamic, 100000));
    check(
        JCudaDriver.cuLaunchKernel(scale, 1, 1, 1, 1, 1, 1, 100000, gpu.stream(), arguments, null));
    gpu.synchronize();
  }

  @Test
  void handlesAreCheckedByKind() {
    CUstream a = stream(1);
    check(JCudaDriver.cuStreamDestroy(a));
    streams.clear();
    assertThat(JCudaDriver.cuStreamSynchronize(a)).isEqualTo(CUresult.CUDA_ERROR_INVALID_HANDLE);
    assertThat(module.scale(a, x, 1, 1, N)).isEqualTo(CUresult.CUDA_ERROR_INVALID_HANDLE);
    CUmodule none = new CUmodule();
    assertThat(JCudaDriver.cuModuleGetFunction(new CUfunction(), none, "scale"))
        .isEqualTo(CUresult.CUDA_ERROR_INVALID_HANDLE);
    assertThat(JCudaDriver.cuModuleGetFunction(new CUfunction(), module.handle(), "none"))
        .isEqualTo(CUresult.CUDA_ERROR_NOT_FOUND);
    assertThat(JCudaDriver.cuModuleLoadData(none, "no module"))
        .isEqualTo(CUresult.CUDA_ERROR_INVALID_PTX);
  }

  @Test
  void twoDevicesAreApart() {
    Emulator.devices(2);
    CUdevice second = new CUdevice();
    CUcontext context = new CUcontext();
    check(JCudaDriver.cuDeviceGet(second, 1));
    assertThat(JCudaDriver.cuDeviceGet(new CUdevice(), 2))
        .isEqualTo(CUresult.CUDA_ERROR_INVALID_DEVICE);
    check(JCudaDriver.cuDevicePrimaryCtxRetain(context, second));
    check(JCudaDriver.cuCtxPushCurrent(context));
    assertThat(module.scale(gpu.stream(), x, 1, 1, N))
        .isEqualTo(CUresult.CUDA_ERROR_INVALID_CONTEXT);
    CUdeviceptr there = new CUdeviceptr();
    check(JCudaDriver.cuMemAlloc(there, 16));
    check(JCudaDriver.cuCtxPopCurrent(new CUcontext()));
    check(module.scale(gpu.stream(), there, 1, 1, N)); // no peer access
    poisons(CUresult.CUDA_ERROR_ILLEGAL_ADDRESS, "memory of another context");
    check(JCudaDriver.cuMemFree(there));
    check(JCudaDriver.cuDevicePrimaryCtxRelease(second));
    assertThat(JCudaDriver.cuCtxPushCurrent(context))
        .isEqualTo(CUresult.CUDA_ERROR_CONTEXT_IS_DESTROYED);
  }

  @Test
  void aContextIsCurrentPerThreadAndWhatItLeavesIsALeak() throws InterruptedException {
    CUcontext own = new CUcontext();
    CUdevice device = new CUdevice();
    check(JCudaDriver.cuDeviceGet(device, 0));
    int[] elsewhere = new int[1];
    Thread thread = new Thread(() -> elsewhere[0] = JCudaDriver.cuCtxSynchronize());
    thread.start();
    thread.join();
    assertThat(elsewhere[0]).isEqualTo(CUresult.CUDA_ERROR_INVALID_CONTEXT);
    final Map<String, Long> before = Emulator.open();
    check(JCudaDriver.cuCtxCreate(own, 0, device));
    CUstream left = new CUstream();
    check(JCudaDriver.cuStreamCreate(left, 1));
    check(JCudaDriver.cuMemAlloc(new CUdeviceptr(), 4));
    check(JCudaDriver.cuCtxDestroy(own));
    assertThat(JCudaDriver.cuStreamQuery(left)).isEqualTo(CUresult.CUDA_ERROR_INVALID_HANDLE);
    Map<String, Long> after = Emulator.open();
    assertThat(after.get("stream")).isEqualTo(before.getOrDefault("stream", 0L) + 1);
    assertThat(after.get("allocation")).isEqualTo(before.getOrDefault("allocation", 0L) + 1);
    Emulator.reset();
    assertThat(Emulator.open()).isEqualTo(before);
  }

  @Test
  void callsAreCountedByNameAndThread() throws InterruptedException {
    Emulator.forgetCalls();
    check(module.scale(gpu.stream(), x, 1, 1, N));
    Thread thread = new Thread(() -> JCudaDriver.cuStreamQuery(gpu.stream()));
    thread.start();
    thread.join();
    assertThat(Emulator.calls())
        .containsOnly(Map.entry("cuLaunchKernel", 1L), Map.entry("cuStreamQuery", 1L));
    assertThat(Emulator.callsOfThisThread()).containsOnly(Map.entry("cuLaunchKernel", 1L));
    assertThat(Emulator.unknownCalls()).isEmpty();
  }

  @Test
  void emptyKernelsDoNothing() {
    gpu.store(x, 1, 1, 1, 1);
    gpu.synchronize();
    Emulator.emptyKernels(true);
    check(module.scale(gpu.stream(), x, 5, 5, N));
    gpu.synchronize();
    Emulator.emptyKernels(false);
    assertThat(gpu.floats(x, N)).containsOnly(1);
  }

  @Test
  void whatIsNotEmulatedIsSaid() {
    assertThat(JCudaDriver.cuMemAllocManaged(new CUdeviceptr(), 4, 1))
        .isEqualTo(CUresult.CUDA_ERROR_NOT_SUPPORTED);
    assertThat(Emulator.unknownCalls()).containsExactly("cuMemAllocManaged");
    Emulator.reset();
    int[] value = new int[1];
    CUdevice device = new CUdevice();
    check(JCudaDriver.cuDeviceGet(device, 0));
    int warp = CUdevice_attribute.CU_DEVICE_ATTRIBUTE_WARP_SIZE;
    check(JCudaDriver.cuDeviceGetAttribute(value, warp, device));
    assertThat(value[0]).isEqualTo(32);
  }
}
