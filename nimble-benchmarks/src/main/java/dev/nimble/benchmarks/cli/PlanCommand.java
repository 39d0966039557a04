package dev.nimble.benchmarks.cli;

import dev.nimble.Engine;
import dev.nimble.EngineOptions;
import dev.nimble.Nimble;
import dev.nimble.benchmarks.models.ModelSource;
import dev.nimble.device.Device;
import dev.nimble.device.Devices;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.Tensor;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.view.Views;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code nimble plan}: makes a plan and explains it, in words and pictures. */
@Command(
    name = "plan",
    mixinStandardHelpOptions = true,
    description = "Schedules a model and explains the plan; writes pictures of it.")
final class PlanCommand implements Callable<Integer> {
  private static final int WARMUPS = 20;

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private ModelOptions options = new ModelOptions();

  @Option(names = "--dot", paramLabel = "FILE", description = "Writes the DAG for Graphviz.")
  private @Nullable Path dot;

  @Option(names = "--svg", paramLabel = "FILE", description = "Writes the schedule as a picture.")
  private @Nullable Path svg;

  @Option(names = "--arena", paramLabel = "FILE", description = "Writes the arena as a picture.")
  private @Nullable Path arena;

  @Option(
      names = "--trace",
      paramLabel = "FILE",
      description = "Replays and writes a trace that Perfetto opens.")
  private @Nullable Path trace;

  @Override
  public Integer call() {
    ModelSource model = options.open();
    EngineOptions engineOptions = options.engineOptions();
    PrintWriter out = spec.commandLine().getOut();
    try (Device device = Devices.open(engineOptions.device())) {
      ExecutionPlan plan = Nimble.plan(model.graph(), device, engineOptions);
      out.println(plan.explain());
      write(dot, () -> Views.dot(plan.schedule()));
      write(svg, () -> Views.scheduleSvg(plan.schedule()));
      write(arena, () -> Views.arenaSvg(plan));
      if (trace != null) {
        try (Engine engine = Nimble.prepare(model.graph(), device, engineOptions)) {
          model.inputs(1).forEach((name, tensor) -> copy(engine, name, tensor));
          for (int i = 0; i < WARMUPS; i++) {
            engine.replay();
          }
          write(trace, () -> Views.traceJson(engine.replayTimed()));
        }
      }
    }
    return 0;
  }

  private static void copy(Engine engine, String name, Tensor tensor) {
    engine.input(name).copyFrom(tensor);
  }

  private void write(@Nullable Path file, java.util.function.Supplier<String> text) {
    if (file == null) {
      return;
    }
    try {
      Files.writeString(file, text.get());
    } catch (IOException e) {
      throw new InvalidArgumentException("cannot write " + file + ": " + e);
    }
    spec.commandLine().getErr().println("nimble: wrote " + file);
  }
}
