package dev.nimble.cuda.op;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.nimble.cuda.emulator.Emulator;
import dev.nimble.cuda.library.Libraries;
import dev.nimble.graph.Operator;
import dev.nimble.testkit.Seeds;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Every operator over every element type that it takes, against its reference kernel. */
@Tag("emulator")
class OperatorsTest {
  @BeforeAll
  static void install() {
    assumeTrue(Emulator.obstacle().isEmpty(), Emulator::obstacle);
    Emulator.install();
    Emulator.reset();
  }

  private static List<OperatorCase> all(int seeds) {
    List<OperatorCase> all = new ArrayList<>();
    Seeds.forEach(
        seeds,
        (random, seed) -> {
          for (Class<? extends Operator> operator : OperatorCases.operators()) {
            all.addAll(OperatorCases.of(operator, seed));
          }
        });
    return all;
  }

  @Test
  void ownKernelsEqualTheReference() {
    try (EmulatedOperators operators = new EmulatedOperators(Libraries.NONE)) {
      operators.check(all(1));
    }
    assertThat(Emulator.open()).isEmpty();
  }

  @Test
  void kernelsAndLibrariesEqualTheReference() {
    try (EmulatedOperators operators = new EmulatedOperators(Libraries.ALL)) {
      operators.check(all(1));
    }
    assertThat(Emulator.open()).isEmpty();
  }
}
