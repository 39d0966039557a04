package dev.nimble.benchmarks.coverage;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import dev.nimble.EngineOptions;
import dev.nimble.benchmarks.coverage.CaseResult.Status;
import dev.nimble.device.Device;
import dev.nimble.error.InvalidArgumentException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Which of ONNX's backend tests pass. Every case of a suite is run; none is left out by name.
 *
 * @param suites the results by suite ({@code node}, {@code simple}, ...), each in order of names
 */
public record Coverage(ImmutableMap<String, ImmutableList<CaseResult>> suites) {
  /** The suites that are looked for. ("real" needs downloads, and is left out.) */
  private static final List<String> SUITES =
      List.of("node", "simple", "pytorch-operator", "pytorch-converted");

  /**
   * Runs every case below {@code folder}.
   *
   * @param folder holds node/, simple/, ... as in ONNX's repository (onnx/backend/test/data)
   * @throws InvalidArgumentException if it holds no suite
   */
  public static Coverage of(Path folder, Device device, EngineOptions options) {
    ImmutableMap.Builder<String, ImmutableList<CaseResult>> suites = ImmutableMap.builder();
    for (String suite : SUITES) {
      Path at = folder.resolve(suite);
      if (Files.isDirectory(at)) {
        ImmutableList.Builder<CaseResult> results = ImmutableList.builder();
        for (Path one : BackendCase.list(at, "test_*")) {
          results.add(new BackendCase(one, device, options).run());
        }
        suites.put(suite, results.build());
      }
    }
    ImmutableMap<String, ImmutableList<CaseResult>> all = suites.buildOrThrow();
    if (all.isEmpty()) {
      throw new InvalidArgumentException(
          folder + " holds none of the suites " + SUITES + " (of onnx/backend/test/data)");
    }
    return new Coverage(all);
  }

  /** How many cases of a suite have that status; 0 if there is no such suite. */
  public long count(String suite, Status status) {
    return suites.getOrDefault(suite, ImmutableList.of()).stream()
        .filter(result -> result.status() == status)
        .count();
  }

  /** How many cases of all suites have that status. */
  public long count(Status status) {
    return suites.keySet().stream().mapToLong(suite -> count(suite, status)).sum();
  }
}
