package dev.nimble.cuda.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.nimble.cuda.driver.CudaContext;
import dev.nimble.cuda.driver.CudaFunction;
import dev.nimble.cuda.driver.CudaStream;
import dev.nimble.cuda.driver.DeviceMemory;
import dev.nimble.cuda.driver.LaunchDimensions;
import dev.nimble.cuda.driver.Resources;
import dev.nimble.cuda.emulator.Emulator;
import dev.nimble.cuda.emulator.OnEmulator;
import dev.nimble.error.DeviceException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** Arguments lie as the kernel's parameters do: too small a one would be read past its end. */
@OnEmulator
class KernelArgumentsTest {
  private static final KernelSource SOURCE =
      KernelSource.generated(
          "",
          "store",
          "extern \"C\" __global__ void NAME(int few, long long many, float third, double* out) {\n"
              + "  out[0] = few;\n  out[1] = many;\n  out[2] = third;\n}\n");

  /** What the kernel stores, given the arguments before the last. */
  private static double[] stored(Consumer<KernelArguments> given) {
    double[] numbers = new double[3];
    try (Resources owned = new Resources()) {
      CudaContext context = owned.own(new CudaContext(0));
      context.within(
          () -> {
            try (Kernels kernels = new Kernels(context, DiskCache.ofUser());
                DeviceMemory memory = new DeviceMemory(context, 3 * Double.BYTES);
                CudaStream stream = new CudaStream(context, 0)) {
              CudaFunction store = kernels.function(SOURCE, SOURCE.name());
              KernelArguments arguments = new KernelArguments();
              given.accept(arguments);
              arguments.address(memory.at(0));
              store.launch(stream, LaunchDimensions.of(1, 1), arguments.asParameters());
              stream.synchronize();
              ByteBuffer bytes =
                  ByteBuffer.allocateDirect(3 * Double.BYTES).order(ByteOrder.nativeOrder());
              memory.read(0, bytes);
              bytes.asDoubleBuffer().get(numbers);
            }
            return numbers;
          });
    }
    return numbers;
  }

  @Test
  void argumentsLieAsTheParametersDo() {
    Emulator.packedArguments(true);
    assertThat(stored(all -> all.integer(-7).longInteger(1L << 40).number(0.5f)))
        .containsExactly(-7, 1L << 40, 0.5);
  }

  @Test
  void anArgumentThatIsTooSmallIsNoticed() {
    Emulator.packedArguments(true);
    assertThatThrownBy(() -> stored(all -> all.integer(-7).integer(5).number(0.5f)))
        .isInstanceOf(DeviceException.class)
        .hasMessageContaining("cuLaunchKernel");
  }
}
