package dev.nimble.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.nimble.Engine;
import dev.nimble.Nimble;
import dev.nimble.cuda.emulator.Emulator;
import dev.nimble.cuda.emulator.OnEmulator;
import dev.nimble.device.Device;
import dev.nimble.device.Devices;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Tensor;
import dev.nimble.schedule.Policies;
import dev.nimble.testkit.RandomGraphs;
import dev.nimble.testkit.RandomTensors;
import dev.nimble.testkit.ReferenceExecutor;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdevice;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.Test;

/** Two GPUs: each engine's memory, streams and launches are those of its own. */
@OnEmulator
class SeveralGpusTest {
  private static final Graph GRAPH = TestGraphs.libraries();

  private static Engine prepare(Device device) {
    return Nimble.prepare(GRAPH, device, TestGraphs.options(Policies.nimble()));
  }

  private static void step(Engine engine, int seed) {
    List<Tensor> inputs = RandomGraphs.inputs(GRAPH, new Random(seed));
    List<Tensor> expected = ReferenceExecutor.run(GRAPH, inputs);
    Map<String, Tensor> outputs = engine.run(Map.of("x", inputs.get(0)));
    for (int i = 0; i < expected.size(); i++) {
      Tensor actual = outputs.get(GRAPH.outputNames().get(i));
      assertThat(RandomTensors.largestDifference(actual, expected.get(i))).isLessThan(1e-4);
    }
  }

  @Test
  void enginesOfTwoGpusTakeTurnsOnOneThread() {
    Emulator.devices(2);
    try (Device first = Devices.open("cuda:0");
        Device second = Devices.open("cuda:1");
        Engine a = prepare(first);
        Engine b = prepare(second)) {
      assertThat(first.name()).startsWith("cuda:0");
      assertThat(second.name()).startsWith("cuda:1");
      for (int seed = 0; seed < 10; seed++) {
        Emulator.delays(seed, 50);
        step(seed % 3 == 0 ? b : a, seed);
        step(seed % 3 == 0 ? a : b, seed + 100);
      }
    }
  }

  @Test
  void threadsMayUseAnyGpuAtAnyTime() throws Exception {
    Emulator.devices(2);
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try (Device first = Devices.open("cuda:0");
        Device second = Devices.open("cuda:1");
        Engine a = prepare(first);
        Engine b = prepare(second)) {
      List<Callable<Void>> steps = new ArrayList<>();
      for (int seed = 0; seed < 40; seed++) {
        int own = seed;
        steps.add(
            () -> {
              step(own % 2 == 0 ? a : b, own);
              return null;
            });
      }
      for (Future<Void> done : threads.invokeAll(steps)) {
        done.get();
      }
    } finally {
      threads.shutdown();
    }
  }

  /** Other code's context is current again after every call of ours. */
  @Test
  void aForeignContextStaysCurrent() {
    Emulator.devices(2);
    NativeLibraries.get();
    CUdevice other = new CUdevice();
    CUcontext foreign = new CUcontext();
    assertThat(JCudaDriver.cuInit(0)).isZero();
    assertThat(JCudaDriver.cuDeviceGet(other, 1)).isZero();
    assertThat(JCudaDriver.cuDevicePrimaryCtxRetain(foreign, other)).isZero();
    assertThat(JCudaDriver.cuCtxSetCurrent(foreign)).isZero();
    try {
      try (Device device = Devices.open("cuda:0");
          Engine engine = prepare(device)) {
        assertThat(current()).isEqualTo(foreign);
        step(engine, 1);
        assertThat(current()).isEqualTo(foreign);
      }
      assertThat(current()).isEqualTo(foreign);
    } finally {
      assertThat(JCudaDriver.cuCtxSetCurrent(new CUcontext())).isZero();
      assertThat(JCudaDriver.cuDevicePrimaryCtxRelease(other)).isZero();
    }
  }

  private static CUcontext current() {
    CUcontext current = new CUcontext();
    assertThat(JCudaDriver.cuCtxGetCurrent(current)).isZero();
    return current;
  }

  @Test
  void anOrdinalBeyondTheLastIsRefused() {
    Emulator.devices(2);
    assertThatThrownBy(() -> Devices.open("cuda:2"))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessageContaining("this machine has 2 GPUs");
  }
}
