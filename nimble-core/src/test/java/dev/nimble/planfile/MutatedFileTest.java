package dev.nimble.planfile;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import dev.nimble.Engine;
import dev.nimble.EngineOptions;
import dev.nimble.Nimble;
import dev.nimble.buffer.Slice;
import dev.nimble.device.Device;
import dev.nimble.device.cpu.CpuDeviceProvider;
import dev.nimble.error.InvalidPlanException;
import dev.nimble.error.NimbleException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Tensor;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.plan.Tuning;
import dev.nimble.testkit.RandomGraphs;
import dev.nimble.testkit.Seeds;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Plan files changed by someone who mends the checksums: reading one succeeds or fails with {@link
 * InvalidPlanException}, in little memory; what was read can be run, and fails only with the
 * library's exceptions.
 */
class MutatedFileTest {
  private static final long MOST_BYTES = 64 << 20;
  private static final long[] NUMBERS = {
    0, 1, 2, 127, 128, 65_536, 1 << 24, Integer.MAX_VALUE, 1L << 32, 1L << 40, 1L << 62, -1
  };

  @TempDir private Path folder = Path.of(".");

  @Test
  void onlyTheLibrarysExceptionsComeOut() {
    Path file = folder.resolve("mutated.plan");
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    int[] outcomes = new int[3];
    try (Device device = new CpuDeviceProvider(2).open(0)) {
      Seeds.forEach(
          60,
          (random, seed) -> {
            RandomGraphs.Style style = RandomGraphs.Style.ofNodes(4 + random.nextInt(20));
            Graph graph = RandomGraphs.of(random, style.withJumps().withVariables());
            ExecutionPlan plan = Nimble.plan(graph, device, EngineOptions.defaults());
            PlanFile.write(file, new SavedPlan(plan, "cpu", Tuning.NONE), PlanWeights.inline());
            PlanBytes whole = PlanBytes.of(Files.readAllBytes(file));
            for (int i = 0; i < 60; i++) {
              Files.write(file, whole.withStructure(mutated(whole.structure(), random)).toFile());
              long before = threads.getCurrentThreadAllocatedBytes();
              SavedPlan read = null;
              try {
                read = PlanFile.read(file);
                outcomes[0]++;
              } catch (InvalidPlanException e) {
                outcomes[1]++;
                assertThat(e).hasMessageContaining("mutated.plan");
                assertThat(e.getCause())
                    .as("a fault that was foreseen: %s", e)
                    .isInstanceOf(NimbleException.class);
              }
              assertThat(threads.getCurrentThreadAllocatedBytes() - before).isLessThan(MOST_BYTES);
              if (read != null && bytes(read.plan()) < MOST_BYTES && run(file, device)) {
                outcomes[2]++;
              }
            }
            assertThat(device.openResources()).isZero();
          });
    }
    System.out.printf(
        "mutated plan files: %d read, %d refused, %d ran%n", outcomes[0], outcomes[1], outcomes[2]);
    assertThat(outcomes[0]).as("read in spite of it").isPositive();
    assertThat(outcomes[1]).as("refused").isGreaterThan(outcomes[0]);
  }

  private static long bytes(ExecutionPlan plan) {
    long sum = 0;
    for (Slice.Region region : Slice.Region.values()) {
      sum += plan.bytesOf(region);
    }
    return sum;
  }

  /** Whether it can be recorded and run on zeros. */
  private static boolean run(Path file, Device device) {
    try (Engine engine = Nimble.load(file, device)) {
      Map<String, Tensor> inputs = new LinkedHashMap<>();
      engine.plan().graph().inputs().forEach(v -> inputs.put(v.name(), Tensor.zeros(v.type())));
      engine.run(inputs);
      return true;
    } catch (NimbleException e) {
      return false;
    }
  }

  private static byte[] mutated(byte[] structure, Random random) {
    byte[] bytes = structure.clone();
    for (int k = 1 + random.nextInt(3); k > 0; k--) {
      int at = random.nextInt(bytes.length);
      switch (random.nextInt(6)) {
        case 0:
          bytes[at] ^= (byte) (1 << random.nextInt(8));
          break;
        case 1:
          bytes[at] = (byte) random.nextInt(256);
          break;
        case 2:
          bytes[at] += (byte) (random.nextBoolean() ? 1 : -1);
          break;
        case 3: // a number instead of a byte
          Encoder number = new Encoder();
          long value = NUMBERS[random.nextInt(NUMBERS.length)];
          if (value < 0) {
            number.signed(Long.MIN_VALUE);
          } else {
            number.number(value);
          }
          bytes = spliced(bytes, at, 1, number.toByteArray());
          break;
        case 4: // a piece left out
          bytes =
              spliced(bytes, at, Math.min(bytes.length - at, 1 + random.nextInt(20)), new byte[0]);
          break;
        default: // a piece from elsewhere put in
          int from = random.nextInt(bytes.length);
          int to = Math.min(bytes.length, from + 1 + random.nextInt(20));
          bytes =
              spliced(
                  bytes,
                  at,
                  random.nextInt(2) * (Math.min(to - from, bytes.length - at)),
                  Arrays.copyOfRange(bytes, from, to));
          break;
      }
      if (bytes.length == 0) {
        return structure;
      }
    }
    return bytes;
  }

  private static byte[] spliced(byte[] bytes, int at, int length, byte[] instead) {
    byte[] spliced = new byte[bytes.length - length + instead.length];
    System.arraycopy(bytes, 0, spliced, 0, at);
    System.arraycopy(instead, 0, spliced, at, instead.length);
    System.arraycopy(bytes, at + length, spliced, at + instead.length, bytes.length - at - length);
    return spliced;
  }
}
