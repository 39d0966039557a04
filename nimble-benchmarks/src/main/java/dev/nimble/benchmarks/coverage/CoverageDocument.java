package dev.nimble.benchmarks.coverage;

import com.google.common.collect.ImmutableList;
import dev.nimble.benchmarks.coverage.CaseResult.Status;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** A coverage as a page of Markdown ({@code docs/onnx-coverage.md}). */
public final class CoverageDocument {
  private static final int WIDTH = 110;

  private CoverageDocument() {}

  /** The page; {@code source} says where the cases came from. */
  public static String of(Coverage coverage, String source) {
    StringBuilder text =
        new StringBuilder(
                "# ONNX backend tests\n\nWritten by `nimble coverage DIR --markdown FILE`")
            .append("; do not edit. Cases: ")
            .append(source)
            .append(
                ".\nEach case is imported, prepared for the CPU device and run; floating results must"
                    + " agree within rtol 1e-3,\natol 1e-7 (bf16: one unit in the last place), all"
                    + " others exactly. No case is left out by name.\n\n| suite | cases | pass | rejected | fail | inputs fixed |\n"
                    + "|---|---|---|---|---|---|\n");
    coverage
        .suites()
        .forEach(
            (suite, results) ->
                text.append(
                    String.format(
                        "| %s | %d | %d | %d | %d | %d |\n",
                        suite,
                        results.size(),
                        coverage.count(suite, Status.PASS),
                        coverage.count(suite, Status.REJECTED),
                        coverage.count(suite, Status.FAIL),
                        results.stream()
                            .filter(r -> r.status() == Status.PASS && !r.constants().isEmpty())
                            .count())));
    text.append(
        "\n*Inputs fixed*: cases that pass because an input which decides a shape or a branch was"
            + " given as a constant\n(`OnnxModel.graph(dimensions, constants)`); most backend tests"
            + " make even the shape of a Reshape an input.\n");
    coverage.suites().forEach((suite, results) -> suite(text, suite, results));
    return text.toString();
  }

  private static void suite(StringBuilder text, String suite, ImmutableList<CaseResult> results) {
    text.append("\n## ").append(suite).append('\n');
    List<CaseResult> failed = results.stream().filter(r -> r.status() == Status.FAIL).toList();
    if (!failed.isEmpty()) {
      text.append("\n### Fail\n\n");
      failed.forEach(
          r -> text.append("- `").append(name(r)).append("`: ").append(r.detail()).append('\n'));
    }
    Map<String, List<CaseResult>> rejected =
        results.stream()
            .filter(r -> r.status() == Status.REJECTED)
            .collect(Collectors.groupingBy(CaseResult::missing, TreeMap::new, Collectors.toList()));
    if (!rejected.isEmpty()) {
      text.append(
          "\n### Rejected\n\n| what | cases | reason in the first of them |\n|---|---|---|\n");
      rejected.forEach(
          (what, cases) ->
              text.append("| ")
                  .append(cell(what))
                  .append(" | ")
                  .append(
                      cases.stream().map(CoverageDocument::name).collect(Collectors.joining(" ")))
                  .append(" | ")
                  .append(cell(cases.get(0).detail()))
                  .append(" |\n"));
    }
    text.append("\n### Pass\n\n");
    int column = 0;
    for (CaseResult result : results) {
      if (result.status() == Status.PASS) {
        String name = name(result) + (result.constants().isEmpty() ? "" : "*");
        boolean wrap = column > 0 && column + 1 + name.length() > WIDTH;
        text.append(column == 0 ? "" : wrap ? "\n" : " ").append(name);
        column = wrap || column == 0 ? name.length() : column + 1 + name.length();
      }
    }
    text.append("\n\n`*`: with an input fixed.\n");
  }

  private static String name(CaseResult result) {
    return result.name().replaceFirst("^test_", "");
  }

  private static String cell(String text) {
    return text.replace("|", "\\|");
  }
}
