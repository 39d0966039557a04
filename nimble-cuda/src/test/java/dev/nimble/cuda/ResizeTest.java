package dev.nimble.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.common.primitives.ImmutableDoubleArray;
import dev.nimble.cuda.emulator.OnEmulator;
import dev.nimble.device.Device;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.op.OperatorExecutor;
import dev.nimble.op.Resize;
import dev.nimble.testkit.RandomTensors;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Every form of Resize on the emulated GPU, against the reference kernel. */
@OnEmulator
class ResizeTest {
  @Test
  void everyModeTransformAndRoundingEqualsTheReference() {
    Tensor x = RandomTensors.of(TensorType.f32(1, 2, 5, 4), new Random(3));
    Shape target = Shape.of(1, 2, 7, 9);
    ImmutableDoubleArray scales = ImmutableDoubleArray.of(1, 1, 1.5, 2.3);
    try (Device device = new CudaDeviceProvider().open(0);
        OperatorExecutor eager = device.eager()) {
      for (Resize.Mode mode : Resize.Mode.values()) {
        for (Resize.Transform transform : Resize.Transform.values()) {
          for (Resize.Rounding rounding : Resize.Rounding.values()) {
            Resize resize = new Resize(mode, transform, rounding, -0.75f, false, target, scales);
            Tensor expected = Tensor.zeros(new TensorType(x.type().dataType(), target));
            resize.bind(List.of(x), List.of(expected)).run();
            Tensor actual = eager.download(eager.execute(resize, List.of(eager.upload(x))).get(0));
            assertThat(RandomTensors.largestDifference(actual, expected))
                .as("%s %s %s", mode, transform, rounding)
                .isLessThan(1e-5);
          }
        }
      }
    }
  }
}
