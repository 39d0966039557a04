package dev.nimble.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.nimble.Engine;
import dev.nimble.EngineOptions;
import dev.nimble.Nimble;
import dev.nimble.cuda.emulator.Emulator;
import dev.nimble.cuda.emulator.OnEmulator;
import dev.nimble.cuda.record.CudaRecording;
import dev.nimble.device.Device;
import dev.nimble.device.Devices;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import dev.nimble.schedule.Policies;
import dev.nimble.testkit.RandomGraphs;
import dev.nimble.testkit.RandomTensors;
import dev.nimble.testkit.ReferenceExecutor;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import jcuda.Pointer;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.JCudaDriver;
import org.junit.jupiter.api.Test;

/** Inputs and outputs on the GPU: no copy through the host, and other code's work on them. */
@OnEmulator
class ResidentBufferTest {
  private static final Graph GRAPH = TestGraphs.libraries();
  private static final EngineOptions OPTIONS = TestGraphs.options(Policies.nimble());

  private static EngineOptions allResident() {
    return OPTIONS.withResident(
        Stream.concat(GRAPH.inputs().stream().map(Value::name), GRAPH.outputNames().stream())
            .toArray(String[]::new));
  }

  private static void assertResult(Engine engine, List<Tensor> inputs) {
    List<Tensor> expected = ReferenceExecutor.run(GRAPH, inputs);
    for (int i = 0; i < expected.size(); i++) {
      Tensor actual = Tensor.zeros(expected.get(i).type());
      engine.residentOutput(GRAPH.outputNames().get(i)).read(actual);
      assertThat(RandomTensors.largestDifference(actual, expected.get(i))).isLessThan(1e-4);
    }
  }

  /** As other code would: by the address, with the driver's own calls. */
  @Test
  void otherCodeWritesTheInputByItsAddress() {
    for (CudaRecording.Mode mode : CudaRecording.Mode.values()) {
      try (Device device = TestDevice.of(mode);
          Engine engine = Nimble.prepare(GRAPH, device, allResident())) {
        CUdeviceptr address = CudaAddress.of(engine.residentInput("x"));
        for (int seed = 0; seed < 10; seed++) {
          Emulator.delays(seed, 50);
          List<Tensor> inputs = RandomGraphs.inputs(GRAPH, new Random(seed));
          Tensor x = inputs.get(0);
          ((CudaDevice) device)
              .context()
              .within(
                  () -> {
                    int bytes = x.bytes().capacity();
                    assertThat(JCudaDriver.cuMemcpyHtoD(address, Pointer.to(x.bytes()), bytes))
                        .isZero();
                    return JCudaDriver.cuStreamSynchronize(null);
                  });
          engine.replay();
          assertResult(engine, inputs);
        }
      }
    }
  }

  /** What is resident costs no copy; the one each way that is left carries the report. */
  @Test
  void aStepOfResidentBuffersCopiesTheReportAlone() {
    try (Device device = TestDevice.of(CudaRecording.Mode.STREAMS);
        Engine copied = Nimble.prepare(GRAPH, device, OPTIONS);
        Engine resident = Nimble.prepare(GRAPH, device, allResident())) {
      long ofCopied = copiedBytes(copied);
      long ofResident = copiedBytes(resident);
      assertThat(ofResident).isEqualTo(2 * 256);
      assertThat(ofCopied)
          .isGreaterThanOrEqualTo(ofResident + GRAPH.inputs().get(0).type().sizeBytes());
    }
  }

  private static long copiedBytes(Engine engine) {
    engine.replay();
    Emulator.forgetCalls();
    engine.replay();
    assertThat(Emulator.calls())
        .containsEntry("cuMemcpyHtoDAsync", 1L)
        .containsEntry("cuMemcpyDtoHAsync", 1L);
    return Emulator.hostBytes();
  }

  @Test
  void buffersOfTwoGpusAndOfTheHostAreCopiedThroughTheHost() {
    Emulator.devices(2);
    try (Device first = Devices.open("cuda:0");
        Device second = Devices.open("cuda:1");
        Device host = Devices.open("cpu");
        Engine a = Nimble.prepare(GRAPH, first, allResident());
        Engine b = Nimble.prepare(GRAPH, second, allResident());
        Engine c = Nimble.prepare(GRAPH, host, allResident())) {
      List<Tensor> inputs = RandomGraphs.inputs(GRAPH, new Random(3));
      a.residentInput("x").write(inputs.get(0));
      b.residentInput("x").copyFrom(a.residentInput("x"));
      c.residentInput("x").copyFrom(b.residentInput("x"));
      a.residentInput("x").copyFrom(c.residentInput("x"));
      for (Engine engine : List.of(a, b, c)) {
        engine.replay();
        assertResult(engine, inputs);
      }
      assertThatThrownBy(() -> CudaAddress.of(c.residentInput("x")))
          .isInstanceOf(InvalidArgumentException.class)
          .hasMessageContaining("not on a GPU");
    }
  }
}
