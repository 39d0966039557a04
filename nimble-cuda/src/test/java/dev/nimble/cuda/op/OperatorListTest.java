package dev.nimble.cuda.op;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import dev.nimble.cuda.CudaDeviceProvider;
import dev.nimble.cuda.emulator.Emulator;
import dev.nimble.device.Device;
import dev.nimble.device.cpu.CpuDeviceProvider;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Graph;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Node;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Value;
import dev.nimble.op.Identity;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The CUDA device has a kernel for whatever the CPU device has one for. */
@Tag("emulator")
class OperatorListTest {
  @BeforeAll
  static void install() {
    assumeTrue(Emulator.obstacle().isEmpty(), Emulator::obstacle);
    Emulator.install();
    Emulator.reset();
  }

  /** The operators of nimble-core. */
  private static Set<String> operators() {
    return new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .importPackages(Identity.class.getPackageName())
            .stream()
            .filter(c -> c.isAssignableTo(Operator.class) && !c.isInterface())
            .filter(c -> !c.getModifiers().contains(JavaModifier.ABSTRACT))
            .map(JavaClass::getName)
            .collect(Collectors.toCollection(TreeSet::new));
  }

  @Test
  void everyOperatorHasCases() {
    assertThat(operators()).hasSizeGreaterThan(30);
    assertThat(OperatorCases.operators())
        .extracting(Class::getName)
        .containsExactlyInAnyOrderElementsOf(operators());
    for (Class<? extends Operator> operator : OperatorCases.operators()) {
      assertThat(OperatorCases.of(operator, 0)).as("%s", operator).isNotEmpty();
    }
  }

  @Test
  void whatTheCpuRunsTheGpuRuns() {
    try (Device cpu = new CpuDeviceProvider().open(0);
        Device cuda = new CudaDeviceProvider().open(0)) {
      for (Class<? extends Operator> operator : OperatorCases.operators()) {
        for (DataType type : DataType.values()) {
          for (OperatorCase one : OperatorCases.of(operator, type, 0)) {
            Graph graph = graph(one);
            assertThat(cpu.select(graph).all()).hasSameSizeAs(graph.nodes());
            assertThatCode(() -> cuda.select(graph)).as("%s", one).doesNotThrowAnyException();
          }
        }
      }
    }
    assertThat(Emulator.open()).isEmpty();
  }

  private static Graph graph(OperatorCase one) {
    GraphBuilder builder = new GraphBuilder("one");
    List<Value> operands = new ArrayList<>();
    for (int k = 0; k < one.operands().size(); k++) {
      operands.add(
          one.operator().mutatedInputs().contains(k)
              ? builder.variable("variable" + k, one.operands().get(k))
              : builder.input("input" + k, one.operands().get(k).type()));
    }
    Node node = builder.add("node", one.operator(), operands);
    for (int k = 0; k < node.outputs().size(); k++) {
      builder.output("output" + k, node.outputs().get(k));
    }
    return builder.build();
  }
}
