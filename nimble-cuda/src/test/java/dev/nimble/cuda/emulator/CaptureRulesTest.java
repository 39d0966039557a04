package dev.nimble.cuda.emulator;

import static dev.nimble.cuda.emulator.EmulatedGpu.check;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.IntSupplier;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUevent;
import jcuda.driver.CUgraph;
import jcuda.driver.CUgraphExec;
import jcuda.driver.CUresult;
import jcuda.driver.CUstream;
import jcuda.driver.CUstreamCaptureMode;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Stream capture, rule by rule, each with the status that the driver API documents. */
@Tag("emulator")
class CaptureRulesTest {
  private static final int GLOBAL = CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL;
  private static final int THREAD_LOCAL = CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
  private static final int RELAXED = CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED;

  private EmulatedGpu gpu;
  private TestModule module;
  private CUdeviceptr x;
  private final List<CUstream> streams = new ArrayList<>();
  private final List<CUevent> events = new ArrayList<>();
  private CUstream a;
  private CUstream b;

  @BeforeEach
  void open() {
    gpu = new EmulatedGpu();
    module = new TestModule(TestModule.SCALE);
    x = gpu.upload(new float[4]);
    gpu.synchronize();
    a = stream(1);
    b = stream(1);
  }

  @AfterEach
  void close() {
    streams.forEach(stream -> check(JCudaDriver.cuStreamDestroy(stream)));
    events.forEach(event -> check(JCudaDriver.cuEventDestroy(event)));
    module.close();
    gpu.close();
    assertThat(Emulator.unknownCalls()).isEmpty();
  }

  private CUstream stream(int flags) {
    CUstream stream = new CUstream();
    check(JCudaDriver.cuStreamCreate(stream, flags));
    streams.add(stream);
    return stream;
  }

  private CUevent event() {
    CUevent event = new CUevent();
    check(JCudaDriver.cuEventCreate(event, 2));
    events.add(event);
    return event;
  }

  private CUevent recorded(CUstream stream) {
    CUevent event = event();
    check(JCudaDriver.cuEventRecord(event, stream));
    return event;
  }

  private static void begin(CUstream stream, int mode) {
    check(JCudaDriver.cuStreamBeginCapture(stream, mode));
  }

  private static int end(CUstream stream) {
    CUgraph graph = new CUgraph();
    int status = JCudaDriver.cuStreamEndCapture(stream, graph);
    if (status == CUresult.CUDA_SUCCESS) {
      check(JCudaDriver.cuGraphDestroy(graph));
    } else {
      assertThat(graph).isEqualTo(new CUgraph());
    }
    return status;
  }

  private void work(CUstream stream) {
    check(module.scale(stream, x, 1, 1, 4));
  }

  private static int wait(CUstream stream, CUevent event) {
    return JCudaDriver.cuStreamWaitEvent(stream, event, 0);
  }

  private static int elsewhere(IntSupplier call) {
    try {
      CompletableFuture<Integer> result = new CompletableFuture<>();
      Thread thread = new Thread(() -> result.complete(call.getAsInt()));
      thread.start();
      return result.get();
    } catch (InterruptedException | ExecutionException e) {
      throw new AssertionError(e);
    }
  }

  /** Within a capture, {@code call} must give {@code status}, and invalidate it. */
  private void refused(int status, IntSupplier call) {
    begin(a, THREAD_LOCAL);
    work(a);
    assertThat(call.getAsInt()).isEqualTo(status);
    int[] state = new int[1];
    check(JCudaDriver.cuStreamIsCapturing(a, state));
    assertThat(state[0]).as("capture invalidated").isEqualTo(2);
    assertThat(module.scale(a, x, 1, 1, 4))
        .isEqualTo(CUresult.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assertThat(end(a)).isEqualTo(CUresult.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    work(a); // the stream is as before
    check(JCudaDriver.cuStreamSynchronize(a));
  }

  @Test
  void unsafeCallsAreUnsupported() {
    int unsupported = CUresult.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    refused(unsupported, () -> JCudaDriver.cuMemAlloc(new CUdeviceptr(), 4));
    refused(unsupported, () -> JCudaDriver.cuMemFree(x));
    refused(unsupported, () -> JCudaDriver.cuStreamSynchronize(a));
    refused(unsupported, () -> JCudaDriver.cuStreamQuery(a));
    refused(unsupported, JCudaDriver::cuCtxSynchronize);
    refused(unsupported, () -> JCudaDriver.cuMemcpyHtoD(x, TestModule.number(1f), 4));
    refused(unsupported, () -> JCudaDriver.cuMemcpyDtoH(TestModule.number(1f), x, 4));
    refused(unsupported, () -> JCudaDriver.cuMemcpyHtoDAsync(x, TestModule.number(1f), 4, a));
    refused(unsupported, () -> JCudaDriver.cuModuleUnload(module.handle()));
    refused(unsupported, () -> JCudaDriver.cuStreamDestroy(a));
  }

  @Test
  void aWaitForWorkOutsideTheCaptureBreaksIsolation() {
    work(b);
    CUevent before = recorded(b);
    refused(CUresult.CUDA_ERROR_STREAM_CAPTURE_ISOLATION, () -> wait(a, before));
  }

  @Test
  void aCapturedEventCanBeNeitherAskedNorWaitedFor() {
    CUevent event = event();
    for (boolean ask : new boolean[] {true, false}) {
      refused(
          CUresult.CUDA_ERROR_CAPTURED_EVENT,
          () -> {
            check(JCudaDriver.cuEventRecord(event, a));
            return ask ? JCudaDriver.cuEventQuery(event) : JCudaDriver.cuEventSynchronize(event);
          });
    }
    assertThat(wait(b, event)).isEqualTo(CUresult.CUDA_ERROR_CAPTURED_EVENT);
    check(JCudaDriver.cuEventRecord(event, b));
    check(wait(a, event));
  }

  @Test
  void theLegacyStreamWouldWaitForABlockingCapture() {
    CUstream blocking = stream(0);
    begin(blocking, RELAXED);
    assertThat(module.scale(new CUstream(), x, 1, 1, 4))
        .isEqualTo(CUresult.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    assertThat(end(blocking)).isEqualTo(CUresult.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(a, RELAXED); // not a blocking stream
    check(module.scale(new CUstream(), x, 1, 1, 4));
    check(end(a));
    assertThat(JCudaDriver.cuStreamBeginCapture(new CUstream(), RELAXED))
        .isEqualTo(CUresult.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  }

  @Test
  void twoCapturesDoNotMerge() {
    begin(a, THREAD_LOCAL);
    begin(b, THREAD_LOCAL);
    assertThat(wait(b, recorded(a))).isEqualTo(CUresult.CUDA_ERROR_STREAM_CAPTURE_MERGE);
    assertThat(end(a)).isEqualTo(CUresult.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assertThat(end(b)).isEqualTo(CUresult.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  }

  @Test
  void aForkMustJoin() {
    begin(a, THREAD_LOCAL);
    work(a);
    check(wait(b, recorded(a)));
    work(b);
    assertThat(end(a)).isEqualTo(CUresult.CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    work(b); // left with the capture
    check(JCudaDriver.cuStreamSynchronize(b));
    begin(a, THREAD_LOCAL);
    work(a);
    check(wait(b, recorded(a)));
    work(b);
    check(wait(a, recorded(b)));
    check(end(a));
  }

  @Test
  void aCaptureEndsWhereItBegan() {
    begin(a, THREAD_LOCAL);
    check(wait(b, recorded(a)));
    assertThat(end(b)).isEqualTo(CUresult.CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    assertThat(end(a)).isEqualTo(CUresult.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assertThat(end(a)).isEqualTo(CUresult.CUDA_ERROR_ILLEGAL_STATE);
    begin(a, THREAD_LOCAL);
    assertThat(JCudaDriver.cuStreamBeginCapture(a, THREAD_LOCAL))
        .isEqualTo(CUresult.CUDA_ERROR_ILLEGAL_STATE);
    check(end(a));
  }

  @Test
  void onlyARelaxedCaptureEndsOnAnotherThread() {
    for (int mode : new int[] {GLOBAL, THREAD_LOCAL}) {
      begin(a, mode);
      assertThat(elsewhere(() -> end(a)))
          .isEqualTo(CUresult.CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
      check(end(a));
    }
    begin(a, RELAXED);
    check(elsewhere(() -> end(a)));
  }

  @Test
  void modesSayWhoseUnsafeCallsCount() {
    CUevent event = event(); // never recorded: complete
    IntSupplier unsafe = () -> JCudaDriver.cuEventQuery(event);
    begin(a, GLOBAL);
    assertThat(elsewhere(unsafe)).isEqualTo(CUresult.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assertThat(end(a)).isEqualTo(CUresult.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(a, GLOBAL);
    int exchanged =
        elsewhere(
            () -> {
              check(JCudaDriver.cuThreadExchangeStreamCaptureMode(new int[] {THREAD_LOCAL}));
              return unsafe.getAsInt();
            });
    check(exchanged);
    check(end(a));
    begin(a, THREAD_LOCAL);
    check(elsewhere(unsafe));
    check(end(a));
    begin(a, RELAXED);
    check(unsafe.getAsInt());
    check(end(a));
    int[] mode = {RELAXED};
    check(JCudaDriver.cuThreadExchangeStreamCaptureMode(mode));
    begin(a, GLOBAL);
    check(unsafe.getAsInt());
    check(JCudaDriver.cuThreadExchangeStreamCaptureMode(mode));
    check(end(a));
  }

  @Test
  void aNodeDependsOnAllThatItsStreamHolds() {
    begin(a, THREAD_LOCAL);
    work(a); // 0
    check(wait(b, recorded(a)));
    work(b); // 1
    CUevent first = recorded(b);
    check(JCudaDriver.cuMemsetD32Async(x, 0, 4, b)); // 2
    check(wait(a, first));
    work(a); // 3, after its own last and what it waited for: both, though 0 is implied
    check(wait(a, event())); // never recorded: nothing
    check(wait(a, recorded(b)));
    CUgraph graph = new CUgraph();
    work(a); // 4
    check(JCudaDriver.cuStreamEndCapture(a, graph));
    assertThat(Emulator.nodes(graph))
        .containsExactly(
            "0 kernel scale",
            "1 kernel scale 0",
            "2 memset memset 1",
            "3 kernel scale 0 1",
            "4 kernel scale 2 3");
    long[] count = new long[1];
    check(JCudaDriver.cuGraphGetEdges(graph, null, null, count));
    assertThat(count[0]).isEqualTo(6);
    check(JCudaDriver.cuGraphDestroy(graph));
  }

  @Test
  void aGraphHasItsOwnArgumentsAndRunsAsOftenAsLaunched() {
    begin(a, THREAD_LOCAL);
    check(module.scale(a, x, 2, 1, 4));
    check(module.scale(a, x, 1, 1, 4));
    CUgraph graph = new CUgraph();
    check(JCudaDriver.cuStreamEndCapture(a, graph));
    gpu.store(x, 1, 2, 3, 4);
    assertThat(gpu.floats(x, 4)).as("capture runs nothing").containsExactly(1, 2, 3, 4);
    CUgraphExec exec = new CUgraphExec();
    check(JCudaDriver.cuGraphInstantiate(exec, graph, 0));
    check(JCudaDriver.cuGraphDestroy(graph));
    check(JCudaDriver.cuGraphUpload(exec, a));
    Emulator.delays(7, 500);
    for (int i = 0; i < 3; i++) { // on two streams, and still one after the other
      check(JCudaDriver.cuGraphLaunch(exec, i % 2 == 0 ? a : b));
    }
    check(JCudaDriver.cuStreamSynchronize(a));
    check(JCudaDriver.cuStreamSynchronize(b));
    assertThat(gpu.floats(x, 4)).containsExactly(22, 30, 38, 46);
    check(JCudaDriver.cuGraphExecDestroy(exec));
    assertThat(JCudaDriver.cuGraphLaunch(exec, a)).isEqualTo(CUresult.CUDA_ERROR_INVALID_HANDLE);
  }
}
