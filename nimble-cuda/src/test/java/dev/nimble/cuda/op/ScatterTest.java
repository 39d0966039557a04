package dev.nimble.cuda.op;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.nimble.cuda.emulator.Emulator;
import dev.nimble.cuda.library.Libraries;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.op.Scatter;
import dev.nimble.testkit.RandomTensors;
import dev.nimble.testkit.Seeds;
import java.util.List;
import java.util.Random;
import java.util.stream.LongStream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Scatter where rows are named many times, or do not exist. */
@Tag("emulator")
class ScatterTest {
  @BeforeAll
  static void install() {
    assumeTrue(Emulator.obstacle().isEmpty(), Emulator::obstacle);
    Emulator.install();
    Emulator.reset();
  }

  private static OperatorCase named(
      Scatter.Reduction reduction, DataType type, int rows, int count, Random random) {
    long[] chosen = LongStream.generate(() -> random.nextInt(rows)).limit(count).toArray();
    return OperatorCase.of(
        new Scatter(reduction),
        RandomTensors.of(new TensorType(type, Shape.of(rows, 3)), random),
        Tensor.ofLongs(Shape.of(count), chosen),
        RandomTensors.of(new TensorType(type, Shape.of(count, 3)), random));
  }

  /** Sums that are rounded in another order differ in their last bits. */
  @Test
  void updatesAreAppliedInOrderBitForBit() {
    try (EmulatedOperators operators = new EmulatedOperators(Libraries.NONE)) {
      Seeds.forEach(
          6,
          (random, seed) -> {
            for (Scatter.Reduction reduction : Scatter.Reduction.values()) {
              for (DataType type : List.of(DataType.F32, DataType.F16, DataType.I8)) {
                int rows = 1 + random.nextInt(4);
                int count = 1 + random.nextInt(700);
                OperatorCase one = named(reduction, type, rows, count, random);
                assertThat(operators.run(one).get(0).bitwiseEquals(one.reference().get(0)))
                    .as("%s", one)
                    .isTrue();
              }
            }
          });
    }
  }

  @Test
  void rowsThatDoNotExistAreReported() {
    try (EmulatedOperators operators = new EmulatedOperators(Libraries.NONE)) {
      for (Scatter.Reduction reduction : Scatter.Reduction.values()) {
        for (int rows : new int[] {0, 4}) {
          for (long bad : new long[] {rows, -rows - 1, Long.MAX_VALUE, Long.MIN_VALUE}) {
            OperatorCase one =
                OperatorCase.of(
                    new Scatter(reduction),
                    Tensor.zeros(TensorType.f32(rows, 2)),
                    Tensor.ofLongs(Shape.of(1), bad),
                    Tensor.zeros(TensorType.f32(1, 2)));
            assertThatThrownBy(one::reference).isInstanceOf(InvalidArgumentException.class);
            assertThatThrownBy(() -> operators.run(one))
                .as("%s", one)
                .isInstanceOf(InvalidArgumentException.class)
                .hasMessageContaining("index " + bad + " is outside")
                .hasMessageContaining("Scatter");
          }
        }
      }
    }
  }
}
