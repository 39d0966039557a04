package dev.nimble.benchmarks.cli;

import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import dev.nimble.EngineOptions;
import dev.nimble.benchmarks.coverage.CaseResult;
import dev.nimble.benchmarks.coverage.CaseResult.Status;
import dev.nimble.benchmarks.coverage.Coverage;
import dev.nimble.benchmarks.coverage.CoverageDocument;
import dev.nimble.device.Device;
import dev.nimble.device.Devices;
import dev.nimble.error.InvalidArgumentException;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code nimble coverage}: runs ONNX's backend tests. */
@Command(
    name = "coverage",
    mixinStandardHelpOptions = true,
    description = "Runs ONNX's backend tests; fails if a result is wrong. Rejected is not wrong.")
final class CoverageCommand implements Callable<Integer> {
  private static final Gson JSON =
      new GsonBuilder().disableHtmlEscaping().setPrettyPrinting().create();

  /** One suite in the JSON object. */
  private record SuiteFigures(long pass, long rejected, long fail, Map<String, String> cases) {}

  @Spec private CommandSpec spec = CommandSpec.create();

  @Parameters(
      paramLabel = "DIR",
      description = "The folder that holds node/, simple/, ... (Debian: libonnx-testdata).")
  private Path folder = Path.of(".");

  @Option(
      names = "--device",
      defaultValue = "cpu",
      description = "Where to run (default: ${DEFAULT-VALUE}).")
  private String device = "cpu";

  @Option(names = "--json", description = "Prints one JSON object instead of lists.")
  private boolean json;

  @Option(
      names = "--markdown",
      paramLabel = "FILE",
      description = "Also writes the results as a document.")
  private @Nullable Path markdown;

  @Override
  public Integer call() {
    EngineOptions options = EngineOptions.defaults().withDevice(device);
    Coverage coverage;
    try (Device opened = Devices.open(device)) {
      coverage = Coverage.of(folder, opened, options);
    }
    Path document = markdown;
    if (document != null) {
      try {
        Files.writeString(document, CoverageDocument.of(coverage, folder.toString()));
      } catch (IOException e) {
        throw new InvalidArgumentException("cannot write " + document + ": " + e);
      }
    }
    PrintWriter out = spec.commandLine().getOut();
    if (json) {
      out.println(JSON.toJson(figures(coverage)));
    } else {
      print(coverage, out);
    }
    out.flush();
    return coverage.count(Status.FAIL) == 0 ? 0 : NimbleCommand.FAILED;
  }

  private static Map<String, SuiteFigures> figures(Coverage coverage) {
    Map<String, SuiteFigures> figures = new LinkedHashMap<>();
    coverage
        .suites()
        .forEach(
            (suite, results) -> {
              Map<String, String> cases = new LinkedHashMap<>();
              results.forEach(result -> cases.put(result.name(), word(result.status())));
              figures.put(
                  suite,
                  new SuiteFigures(
                      coverage.count(suite, Status.PASS),
                      coverage.count(suite, Status.REJECTED),
                      coverage.count(suite, Status.FAIL),
                      cases));
            });
    return figures;
  }

  private static void print(Coverage coverage, PrintWriter out) {
    coverage
        .suites()
        .forEach(
            (suite, results) -> {
              for (CaseResult result : results) {
                out.println(
                    suite
                        + "/"
                        + result.name()
                        + " "
                        + word(result.status())
                        + (result.detail().isEmpty() ? "" : ": " + result.detail())
                        + (result.constants().isEmpty()
                            ? ""
                            : " (fixed: " + String.join(", ", result.constants()) + ")"));
              }
            });
    for (String suite : coverage.suites().keySet()) {
      out.println(
          suite
              + ": "
              + coverage.count(suite, Status.PASS)
              + " pass, "
              + coverage.count(suite, Status.REJECTED)
              + " rejected, "
              + coverage.count(suite, Status.FAIL)
              + " fail");
    }
  }

  private static String word(Status status) {
    return status.name().toLowerCase(Locale.ROOT);
  }
}
