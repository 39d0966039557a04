package dev.nimble.device.cpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.common.collect.ImmutableList;
import dev.nimble.device.Device;
import dev.nimble.device.Recording;
import dev.nimble.error.DeviceException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.memory.MemoryPlanner;
import dev.nimble.op.KernelChoices;
import dev.nimble.op.Unary;
import dev.nimble.op.UnaryFunction;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.plan.PlanAssembler;
import dev.nimble.schedule.Policies;
import dev.nimble.schedule.Schedule;
import java.io.File;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class HostMemoryTest {
  @Test
  void memoryIsAlignedZeroedAndOfTheSizeAskedFor() {
    for (int size : new int[] {0, 1, 255, 256, 10_000}) {
      ByteBuffer memory = HostMemory.allocate(size, "a test");
      assertThat(memory.capacity()).isEqualTo(size);
      assertThat(memory.alignmentOffset(0, 256)).isZero();
      while (memory.hasRemaining()) {
        assertThat(memory.get()).isZero();
      }
    }
  }

  @Test
  void moreThanTwoGibibytesAreRefusedWithTheSize() {
    assertThatThrownBy(() -> HostMemory.allocate(3L << 30, "the region ARENA"))
        .isInstanceOf(DeviceException.class)
        .hasMessageContaining("ARENA")
        .hasMessageContaining("3221225472");
  }

  /** In a JVM of its own, whose limit is low: see {@link LowLimit}. */
  @Test
  void memoryThatRunsOutIsAnErrorAndLeavesNothingBehind() throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:MaxDirectMemorySize=8m",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                classPath(),
                LowLimit.class.getName())
            .redirectErrorStream(true)
            .start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(output).isZero();
    assertThat(output)
        .contains("DeviceException")
        .contains("4194304 bytes")
        .contains("-XX:MaxDirectMemorySize")
        .contains("0 open, then replayed");
  }

  private static String classPath() {
    return Stream.of(HostMemoryTest.class, HostMemory.class, ImmutableList.class)
        .map(c -> new File(c.getProtectionDomain().getCodeSource().getLocation().getPath()))
        .map(File::toString)
        .distinct()
        .collect(Collectors.joining(File.pathSeparator));
  }

  /** Records what does not fit beside what does. */
  static final class LowLimit {
    private LowLimit() {}

    public static void main(String[] arguments) {
      try (Device device = new CpuDeviceProvider(2).open(0)) {
        for (int i = 0; i < 3; i++) {
          Recording first = device.record(plan(device, 512)); // 1 MiB in, 1 MiB out
          try {
            device.record(plan(device, 1024)); // twice 4 MiB
            System.out.println("recorded");
          } catch (DeviceException e) {
            System.out.println(e);
          }
          first.close();
          System.out.print(device.openResources() + " open, then ");
          try (Recording again = device.record(plan(device, 700))) {
            again.replay();
            System.out.println("replayed");
          }
        }
      }
    }

    private static ExecutionPlan plan(Device device, int side) {
      GraphBuilder builder = new GraphBuilder("large");
      Value x = builder.input("x", TensorType.f32(side, side));
      Graph graph = builder.output("y", builder.apply(Unary.of(UnaryFunction.ABS), x)).build();
      KernelChoices kernels = device.select(graph);
      Schedule schedule = Policies.singleStream().schedule(graph, kernels);
      return PlanAssembler.assemble(
          graph, kernels, schedule, MemoryPlanner.plan(graph, kernels, schedule));
    }
  }
}
