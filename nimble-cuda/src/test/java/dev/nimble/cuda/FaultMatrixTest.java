package dev.nimble.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.nimble.EagerGraph;
import dev.nimble.Engine;
import dev.nimble.Nimble;
import dev.nimble.cuda.emulator.Emulator;
import dev.nimble.cuda.emulator.OnEmulator;
import dev.nimble.cuda.kernel.DiskCache;
import dev.nimble.cuda.library.Libraries;
import dev.nimble.cuda.record.CudaRecording;
import dev.nimble.device.Device;
import dev.nimble.error.DeviceException;
import dev.nimble.error.LibraryError;
import dev.nimble.error.Location;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Tensor;
import dev.nimble.schedule.Policies;
import dev.nimble.testkit.RandomGraphs;
import dev.nimble.testkit.RandomTensors;
import dev.nimble.testkit.ReferenceExecutor;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import jcuda.driver.CUdevice;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Library by call by error: every call that a device makes in its life is made to fail, the first
 * time and the last. Each failure must surface as one exception that says which library, call and
 * status, and where; everything must be freed; and the process must be able to go on.
 */
@OnEmulator
class FaultMatrixTest {
  /** cuDNN says by a status that an algorithm does not apply; that is no failure. */
  private static final Set<String> QUESTIONS =
      Set.of(
          "cudnnGetConvolutionForwardWorkspaceSize",
          "cudnnGetConvolutionBackwardDataWorkspaceSize");

  /** Calls that belong to a node whenever they are made. */
  private static final Set<String> OF_A_NODE =
      Set.of(
          "cuLaunchKernel",
          "cublasSetMathMode",
          "cublasSgemm",
          "cudnnConvolutionBiasActivationForward",
          "cudnnConvolutionBackwardData",
          "cudnnPoolingForward",
          "cudnnBatchNormalizationForwardInference",
          "cudnnSoftmaxForward");

  /** Calls that cuBLAS and cuDNN make too, and then say so by a status of their own. */
  private static final Set<String> BY_LIBRARIES = Set.of("cuMemAlloc", "cuMemFree");

  private static final Graph GRAPH = TestGraphs.libraries();
  private static final Map<String, Tensor> INPUTS =
      Map.of("x", RandomGraphs.inputs(GRAPH, new Random(5)).get(0));
  private static final List<Tensor> EXPECTED =
      ReferenceExecutor.run(GRAPH, List.copyOf(INPUTS.values()));

  @TempDir private Path folder;
  private int caches;

  private enum Life {
    GRAPH,
    STREAMS,
    EAGER
  }

  /** From when on calls fail. */
  private enum Phase {
    OPEN,
    STEP
  }

  static Stream<Arguments> lives() {
    return Stream.of(Life.values())
        .flatMap(life -> Stream.of(Phase.values()).map(phase -> Arguments.of(life, phase)));
  }

  @AfterEach
  void disown() {
    Emulator.disown(); // what calls that were made to fail did not free
  }

  @ParameterizedTest
  @MethodSource("lives")
  void everyFailureIsOneExceptionAndLeavesNothing(Life life, Phase phase) {
    live(life, phase, cold(), Emulator::forgetCalls);
    Map<String, Long> calls = new TreeMap<>(Emulator.calls());
    calls.keySet().removeAll(QUESTIONS);
    assertThat(calls).as("calls of %s from %s", life, phase).hasSizeGreaterThan(5);
    calls.forEach(
        (call, count) -> {
          List<Integer> statuses = statuses(call);
          if (phase == Phase.STEP) { // the others have had their turn
            statuses = statuses.subList(0, 1);
          }
          for (int status : statuses) {
            fail(life, phase, call, 1, status);
          }
          if (count > 1) {
            fail(life, phase, call, Math.toIntExact(count), statuses.get(0));
          }
        });
  }

  private void fail(Life life, Phase phase, String call, int nth, int status) {
    String cell = life + " from " + phase + ", call " + nth + " of " + call + " gives " + status;
    Emulator.reset();
    Map<String, Long> before = Emulator.open();
    DiskCache cache = phase == Phase.OPEN ? cold() : warm();
    Throwable thrown =
        catchThrowable(() -> live(life, phase, cache, () -> Emulator.fail(call, nth, status)));
    assertThat(thrown).as(cell).isInstanceOf(DeviceException.class);
    assertThat(thrown.getSuppressed()).as(cell).isEmpty();
    DeviceException failure = (DeviceException) thrown;
    LibraryError error =
        failure.libraryError().orElseThrow(() -> new AssertionError(cell, failure));
    boolean within = BY_LIBRARIES.contains(call) && !error.library().equals(library(call));
    if (!within) {
      assertThat(error.library()).as(cell).isEqualTo(library(call));
      assertThat(error.call())
          .as(cell)
          .isEqualTo(call.equals("nvrtcGetPTXSize") ? "nvrtcGetPTX" : call);
      assertThat(error.code()).as(cell).isEqualTo(status);
    }
    assertThat(error.name()).as(cell).isNotEmpty();
    assertThat(failure.getMessage()).as(cell).contains(error.call(), error.name());
    if (OF_A_NODE.contains(call)) {
      assertThat(failure.location().node()).as(cell).isNotNull();
    } else if (call.equals("cuGraphLaunch")) {
      assertThat(failure.location()).as(cell).isNotEqualTo(Location.NOWHERE);
    }
    assertThat(left(before).values().stream().mapToLong(Long::longValue).sum())
        .as("%s: left open %s", cell, left(before))
        .isLessThanOrEqualTo(frees(call));
    if (call.equals("cuDevicePrimaryCtxRelease")) {
      JCudaDriver.cuDevicePrimaryCtxRelease(new CUdevice());
    }
    Emulator.disown();
    Emulator.reset();
    live(life, phase, warm(), () -> {});
  }

  /** How many things the call frees, which it does not when made to fail. */
  private static long frees(String call) {
    if (call.equals("cublasDestroy") || call.equals("cudnnDestroy")) {
      return 2; // the handle and its memory
    }
    boolean one =
        call.contains("Destroy")
            || call.contains("Free")
            || call.contains("Unload")
            || call.equals("cuDevicePrimaryCtxRelease");
    return one ? 1 : 0;
  }

  private static Map<String, Long> left(Map<String, Long> before) {
    Map<String, Long> now = new TreeMap<>(Emulator.open());
    before.forEach((kind, count) -> now.merge(kind, -count, Long::sum));
    now.values().removeIf(count -> count == 0);
    return now;
  }

  private static String library(String call) {
    return call.startsWith("cublas")
        ? "cuBLAS"
        : call.startsWith("cudnn") ? "cuDNN" : call.startsWith("nvrtc") ? "NVRTC" : "CUDA driver";
  }

  /** One that means nothing more, then those that mean trouble for all later calls. */
  private static List<Integer> statuses(String call) {
    switch (library(call)) {
      case "cuBLAS":
        return List.of(13, 3); // CUBLAS_STATUS_EXECUTION_FAILED, _ALLOC_FAILED
      case "cuDNN":
        return List.of(5000, 4000); // CUDNN_STATUS_EXECUTION_FAILED, _INTERNAL_ERROR
      case "NVRTC":
        return List.of(11, 1); // NVRTC_ERROR_INTERNAL_ERROR, _OUT_OF_MEMORY
      default:
        return List.of(2, 700, 999); // CUDA_ERROR_OUT_OF_MEMORY, _ILLEGAL_ADDRESS, _UNKNOWN
    }
  }

  private DiskCache cold() {
    return new DiskCache(folder.resolve("cold" + caches++));
  }

  private DiskCache warm() {
    return new DiskCache(folder.resolve("warm"));
  }

  /** Opens a device, prepares, takes a step, and closes; {@code arm} is called at the phase. */
  private static void live(Life life, Phase phase, DiskCache cache, Runnable arm) {
    if (phase == Phase.OPEN) {
      arm.run();
    }
    CudaRecording.Mode mode =
        life == Life.STREAMS ? CudaRecording.Mode.STREAMS : CudaRecording.Mode.GRAPH;
    try (Device device = TestDevice.open(0, mode, Libraries.ALL, cache)) {
      if (life == Life.EAGER) {
        try (EagerGraph graph = new EagerGraph(GRAPH, device)) {
          step(phase, arm, () -> graph.run(INPUTS));
        }
      } else {
        try (Engine engine = Nimble.prepare(GRAPH, device, TestGraphs.options(Policies.nimble()))) {
          step(phase, arm, () -> engine.run(INPUTS));
        }
      }
    }
  }

  private interface Step {
    Map<String, Tensor> run();
  }

  private static void step(Phase phase, Runnable arm, Step step) {
    if (phase == Phase.STEP) {
      check(step.run());
      arm.run();
    }
    check(step.run());
  }

  private static void check(Map<String, Tensor> outputs) {
    for (int i = 0; i < EXPECTED.size(); i++) {
      Tensor output = outputs.get(GRAPH.outputNames().get(i));
      assertThat(RandomTensors.largestDifference(output, EXPECTED.get(i))).isLessThan(1e-4);
    }
  }

  /** A step that failed without harm to the context is over: the next one is right. */
  @Test
  void afterAFailedStepTheNextIsRight() {
    for (CudaRecording.Mode mode : CudaRecording.Mode.values()) {
      String call = mode == CudaRecording.Mode.GRAPH ? "cuGraphLaunch" : "cuLaunchKernel";
      try (Device device = TestDevice.of(mode);
          Engine engine = Nimble.prepare(GRAPH, device, TestGraphs.options(Policies.nimble()))) {
        for (int seed = 0; seed < 20; seed++) {
          Emulator.reset();
          Emulator.delays(seed, 100);
          Emulator.fail(call, 1, 2);
          assertThat(catchThrowable(() -> engine.run(INPUTS))).isInstanceOf(DeviceException.class);
          check(engine.run(INPUTS));
        }
      }
    }
  }

  /** An error on the GPU itself: every later call says why it is refused, until all is closed. */
  @Test
  void aKernelThatFailsPoisonsTheEngineWithOneClearMessage() {
    for (CudaRecording.Mode mode : CudaRecording.Mode.values()) {
      for (boolean access : new boolean[] {false, true}) {
        String name = access ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_LAUNCH_FAILED";
        Map<String, Long> before = Emulator.open();
        try (Device device = TestDevice.of(mode);
            Engine engine = Nimble.prepare(GRAPH, device, TestGraphs.options(Policies.nimble()))) {
          if (access) {
            Emulator.failAccess(3);
          } else {
            Emulator.failKernel(3);
          }
          assertThat(catchThrowable(() -> engine.run(INPUTS)))
              .isInstanceOf(DeviceException.class)
              .hasMessageContainingAll(name, "sticky", GRAPH.name());
          Emulator.forgetCalls();
          for (int again = 0; again < 3; again++) {
            assertThat(catchThrowable(() -> engine.run(INPUTS)))
                .isInstanceOf(DeviceException.class)
                .hasMessageContainingAll("cannot be used after an earlier error", name);
          }
          assertThat(catchThrowable(() -> device.select(GRAPH)))
              .hasMessageContaining("cannot be used after an earlier error");
          assertThat(Emulator.calls()).as("calls of a poisoned engine").isEmpty();
        }
        assertThat(Emulator.open()).isEqualTo(before);
        live(Life.GRAPH, Phase.OPEN, DiskCache.ofUser(), Emulator::reset);
      }
    }
  }

  /** The same while preparing, at each kernel that runs then. */
  @Test
  void aKernelThatFailsDuringPrepareNamesItsNode() {
    Map<String, Long> before = Emulator.open();
    for (int nth = 1; nth <= 6; nth++) {
      Emulator.reset();
      Emulator.failKernel(nth);
      Throwable thrown =
          catchThrowable(() -> live(Life.GRAPH, Phase.OPEN, DiskCache.ofUser(), () -> {}));
      assertThat(thrown)
          .isInstanceOf(DeviceException.class)
          .hasMessageContaining("CUDA_ERROR_LAUNCH_FAILED");
      assertThat(((DeviceException) thrown).location().node()).isNotNull();
      assertThat(Emulator.open()).isEqualTo(before);
    }
  }

  /** Memory runs out at each allocation in turn. */
  @Test
  void memoryThatRunsOutAtAnyAllocationLeaksNothing() {
    Map<String, Long> before = Emulator.open();
    int failed = 0;
    for (int nth = 1; nth < 100; nth++) {
      Emulator.reset();
      Emulator.failAllocation(nth);
      Throwable thrown = catchThrowable(() -> live(Life.GRAPH, Phase.OPEN, cold(), () -> {}));
      if (thrown == null) {
        break;
      }
      failed++;
      assertThat(thrown)
          .isInstanceOf(DeviceException.class)
          .hasMessageContaining("the GPU has too little free memory");
      assertThat(Emulator.open()).as("after allocation %d failed", nth).isEqualTo(before);
    }
    assertThat(failed).isBetween(5, 98);
  }
}
