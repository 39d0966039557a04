package dev.nimble.benchmarks.coverage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.collect.ImmutableList;
import dev.nimble.EngineOptions;
import dev.nimble.benchmarks.coverage.CaseResult.Status;
import dev.nimble.device.Device;
import dev.nimble.device.Devices;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.testkit.OnnxRuntimeOracle;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CoverageTest {
  private static final Path INSTALLED = Path.of("/usr/share/libonnx-testdata/data");

  private static Coverage coverage(Path folder) {
    try (Device device = Devices.open("cpu")) {
      return Coverage.of(folder, device, EngineOptions.defaults());
    }
  }

  @Test
  @Tag("slow")
  void mostOfTheBackendTestsPassAndNoneFails() {
    assumeTrue(Files.isDirectory(INSTALLED), "the package libonnx-testdata is not installed");
    Coverage coverage = coverage(INSTALLED);
    assertThat(coverage.suites()).containsKeys("node", "simple", "pytorch-operator");
    assertThat(
            coverage.suites().values().stream()
                .flatMap(List::stream)
                .filter(result -> result.status() == Status.FAIL))
        .isEmpty();
    assertThat(coverage.count("node", Status.PASS)).isGreaterThanOrEqualTo(870);
    assertThat(coverage.count(Status.PASS) - coverage.count("node", Status.PASS))
        .isGreaterThanOrEqualTo(132);
    assertThat(
            coverage.suites().values().stream()
                .flatMap(List::stream)
                .filter(result -> result.status() == Status.REJECTED))
        .allMatch(result -> !result.missing().isEmpty() && !result.detail().isEmpty());
  }

  /** One case of an operator, whose expected result is {@code expected}. */
  private static void write(Path suite, String name, String operator, Tensor input, Tensor expected)
      throws IOException {
    Path set = Files.createDirectories(suite.resolve("test_" + name).resolve("test_data_set_0"));
    Files.write(
        set.resolveSibling("model.onnx"),
        OnnxRuntimeOracle.model(operator, Map.of(), 13, List.of(input), 1, 0).toByteArray());
    Files.write(set.resolve("input_0.pb"), OnnxRuntimeOracle.tensor("x", input).toByteArray());
    Files.write(set.resolve("output_0.pb"), OnnxRuntimeOracle.tensor("y", expected).toByteArray());
  }

  @Test
  void tellsPassRejectedAndFailApart(@TempDir Path folder) throws IOException {
    Path suite = folder.resolve("node");
    Tensor x = Tensor.of(Shape.of(3), -1, 2, Float.NaN);
    Tensor negated = Tensor.of(Shape.of(3), 1, -2, Float.NaN);
    write(suite, "right", "Neg", x, negated);
    write(suite, "near", "Neg", x, Tensor.of(Shape.of(3), 1.0009f, -2, Float.NaN));
    write(suite, "far", "Neg", x, Tensor.of(Shape.of(3), 1.0011f, -2, Float.NaN));
    write(suite, "number", "Neg", x, Tensor.of(Shape.of(3), 1, -2, 3));
    write(suite, "shape", "Neg", x, negated.reshaped(Shape.of(1, 3)));
    write(suite, "type", "Neg", x, Tensor.zeros(TensorType.of(DataType.F64, 3)));
    write(suite, "unknown", "RandomUniformLike", x, x);
    write(suite, "known", "NonZero", x, Tensor.ofLongs(Shape.of(1, 3), 0, 1, 2));
    ImmutableList<CaseResult> results =
        coverage(folder).suites().getOrDefault("node", ImmutableList.of());
    assertThat(results)
        .extracting(r -> r.name() + " " + r.status())
        .containsExactly(
            "test_far FAIL",
            "test_known PASS",
            "test_near PASS",
            "test_number FAIL",
            "test_right PASS",
            "test_shape FAIL",
            "test_type FAIL",
            "test_unknown REJECTED");
    assertThat(results.get(1).constants()).containsExactly("x0");
    assertThat(results.get(7).missing()).isEqualTo("RandomUniformLike");
    String document =
        CoverageDocument.of(
            new Coverage(com.google.common.collect.ImmutableMap.of("node", results)), "here");
    assertThat(document)
        .contains(
            "| node | 8 | 3 | 1 | 4 | 1 |", "| RandomUniformLike | unknown |", "`far`", "known*");
  }

  @Test
  void aFolderWithoutSuitesIsTheUsersMistake(@TempDir Path folder) {
    assertThatThrownBy(() -> coverage(folder))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessageContaining("node");
  }
}
