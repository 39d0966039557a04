package dev.nimble.benchmarks.cli;

import dev.nimble.Engine;
import dev.nimble.EngineOptions;
import dev.nimble.Nimble;
import dev.nimble.benchmarks.models.ModelSource;
import dev.nimble.benchmarks.models.NamedModel;
import dev.nimble.benchmarks.report.TextTable;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import dev.nimble.planfile.PlanWeights;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.zip.CRC32C;

/**
 * How long a JVM that has just started takes to prepare a model, and to load its saved plan: each
 * time in a JVM of its own, in turns, from the start of {@link #main} to the end of the first step.
 * Outputs are compared by checksum.
 */
public final class LoadTimes {
  private static final int ROUNDS = 5;

  private LoadTimes() {}

  /** What one JVM reports, in nanoseconds. */
  private record Start(long graph, long engine, long firstStep, long outputs) {
    static Start parse(String line) {
      long[] n = Arrays.stream(line.trim().split(" ")).mapToLong(Long::parseLong).toArray();
      return new Start(n[0], n[1], n[2], n[3]);
    }
  }

  /**
   * In the JVM that is measured: {@code prepare MODEL} or {@code load FILE}; prints the times of
   * reading the model, of making the engine, of the first step, and a checksum of the outputs.
   */
  public static void main(String[] arguments) {
    long start = System.nanoTime();
    boolean prepare = arguments[0].equals("prepare");
    Graph graph = prepare ? ModelSource.open(arguments[1], Map.of()).graph() : null;
    long read = System.nanoTime();
    try (Engine engine =
        graph == null
            ? Nimble.load(Path.of(arguments[1]), "cpu")
            : Nimble.prepare(graph, EngineOptions.defaults().withDevice("cpu"))) {
      long made = System.nanoTime();
      Map<String, Tensor> outputs = engine.run(inputs(engine.plan().graph()));
      long ran = System.nanoTime();
      System.out.printf("%d %d %d %d%n", read - start, made - read, ran - made, checksum(outputs));
    }
  }

  private static Map<String, Tensor> inputs(Graph graph) {
    Random random = new Random(1);
    Map<String, Tensor> inputs = new LinkedHashMap<>();
    for (Value input : graph.inputs()) {
      Tensor tensor = Tensor.zeros(input.type());
      for (int i = 0; i < input.type().elements(); i++) {
        tensor.setDouble(i, input.type().dataType().isFloating() ? random.nextDouble() : 1);
      }
      inputs.put(input.name(), tensor);
    }
    return inputs;
  }

  private static long checksum(Map<String, Tensor> outputs) {
    CRC32C crc = new CRC32C();
    outputs.values().forEach(tensor -> crc.update(tensor.bytes().duplicate().clear()));
    return crc.getValue();
  }

  static void print(PrintWriter out) {
    out.println(
        "A fresh JVM: prepare from a model against load of its plan; medians of "
            + ROUNDS
            + " JVMs each, in turns. Ratios: of making the engine alone (the graph being read), and with"
            + " reading the model.");
    TextTable table =
        new TextTable()
            .row(
                "model",
                "plan bytes",
                "by reference",
                "read model ms",
                "prepare ms",
                "load ms",
                "prepare/load",
                "(read+prepare)/load",
                "first step after prepare, load ms",
                "outputs");
    try {
      Path folder = Files.createTempDirectory("nimble-plans");
      try {
        for (NamedModel model : NamedModel.values()) {
          row(model, folder, table);
        }
      } finally {
        delete(folder);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    out.print(table);
  }

  private static void delete(Path folder) throws IOException {
    try (var files = Files.list(folder)) {
      for (Path file : files.toList()) {
        Files.delete(file);
      }
    }
    Files.delete(folder);
  }

  private static void row(NamedModel model, Path folder, TextTable table) throws IOException {
    Path own = folder.resolve("own.plan");
    Path referring = folder.resolve("referring.plan");
    Path weights = folder.resolve("model.onnx");
    Files.write(weights, model.bytes());
    Graph graph = ModelSource.open(model.modelName(), Map.of()).graph();
    try (Engine engine = Nimble.prepare(graph, EngineOptions.defaults().withDevice("cpu"))) {
      engine.save(own);
      engine.save(referring, PlanWeights.referencing(weights));
    }
    List<Start> prepared = new ArrayList<>();
    List<Start> loaded = new ArrayList<>();
    for (int round = 0; round < ROUNDS; round++) {
      prepared.add(start("prepare", model.modelName()));
      loaded.add(start("load", own.toString()));
    }
    boolean equal =
        java.util.stream.Stream.of(prepared, loaded)
                .flatMap(List::stream)
                .mapToLong(Start::outputs)
                .distinct()
                .count()
            == 1;
    double read = median(prepared.stream().mapToLong(Start::graph).toArray());
    double prepare = median(prepared.stream().mapToLong(Start::engine).toArray());
    double load = median(loaded.stream().mapToLong(s -> s.graph + s.engine).toArray());
    table.row(
        model.modelName(),
        String.format("%,d", Files.size(own)),
        String.format("%,d", Files.size(referring)),
        String.format("%.0f", read),
        String.format("%.0f", prepare),
        String.format("%.0f", load),
        String.format("%.1fx", prepare / load),
        String.format("%.1fx", (read + prepare) / load),
        String.format(
            "%.0f, %.0f",
            median(prepared.stream().mapToLong(Start::firstStep).toArray()),
            median(loaded.stream().mapToLong(Start::firstStep).toArray())),
        equal ? "equal" : "DIFFERENT");
  }

  /** The median, in milliseconds. */
  private static double median(long[] nanos) {
    long[] sorted = nanos.clone();
    Arrays.sort(sorted);
    return sorted[sorted.length / 2] / 1e6;
  }

  private static Start start(String... arguments) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.add(LoadTimes.class.getName());
    command.addAll(List.of(arguments));
    Process process =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    try {
      if (process.waitFor() != 0) {
        throw new IOException("a JVM that was to be measured failed");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
    return Start.parse(text);
  }
}
