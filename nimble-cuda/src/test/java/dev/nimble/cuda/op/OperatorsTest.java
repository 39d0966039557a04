package dev.nimble.cuda.op;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.nimble.cuda.emulator.Emulator;
import dev.nimble.cuda.library.Libraries;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Operator;
import dev.nimble.op.Elementwise;
import dev.nimble.op.FusedElementwise;
import dev.nimble.testkit.Seeds;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Every operator over every element type that it takes, against its reference kernel. */
@Tag("emulator")
class OperatorsTest {
  private static final Set<DataType> TAKEN = EnumSet.of(DataType.F32, DataType.F64);

  @BeforeAll
  static void install() {
    assumeTrue(Emulator.obstacle().isEmpty(), Emulator::obstacle);
    Emulator.install();
    Emulator.reset();
    Emulator.packedArguments(true);
  }

  /** Elementwise operators, whose kernels are all generated: few, since each takes compiling. */
  private static boolean isElementwise(Class<? extends Operator> operator) {
    return Elementwise.class.isAssignableFrom(operator) || operator == FusedElementwise.class;
  }

  private static List<OperatorCase> cases(boolean elementwise, int seeds) {
    List<OperatorCase> cases = new ArrayList<>();
    Seeds.forEach(
        seeds,
        (random, seed) ->
            OperatorCases.operators().stream()
                .filter(operator -> isElementwise(operator) == elementwise)
                .forEach(operator -> cases.addAll(OperatorCases.of(operator, seed))));
    return cases;
  }

  private static void check(Libraries libraries, List<OperatorCase> cases) {
    try (EmulatedOperators operators = new EmulatedOperators(libraries)) {
      operators.check(cases);
    }
    assertThat(Emulator.open()).isEmpty();
  }

  @Test
  void generatedKernelsEqualTheReference() {
    check(Libraries.NONE, cases(true, 1));
  }

  @Test
  void ownKernelsEqualTheReference() {
    check(Libraries.NONE, cases(false, 2));
  }

  /** In the types that libraries take; others run as without them. */
  @Test
  void librariesEqualTheReference() {
    List<OperatorCase> cases = new ArrayList<>(cases(false, 4));
    cases.removeIf(one -> !TAKEN.contains(one.inputTypes().get(0).dataType()));
    check(Libraries.ALL, cases);
  }

  /** Where a kernel says that its result may take the place of an operand. */
  @Test
  void kernelsThatMayOverwriteAnOperandDoSo() {
    try (EmulatedOperators operators = new EmulatedOperators(Libraries.NONE)) {
      List<OperatorCase> cases = cases(true, 1);
      int elementwise = operators.checkInPlace(cases);
      assertThat(elementwise).isGreaterThan(cases.size() / 4);
      assertThat(operators.checkInPlace(cases(false, 2))).isGreaterThan(100);
    }
    assertThat(Emulator.open()).isEmpty();
  }
}
