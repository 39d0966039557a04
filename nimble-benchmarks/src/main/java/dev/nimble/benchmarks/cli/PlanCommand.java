package dev.nimble.benchmarks.cli;

import dev.nimble.Engine;
import dev.nimble.Nimble;
import dev.nimble.benchmarks.models.ModelSource;
import dev.nimble.device.Device;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.plan.Timeline;
import dev.nimble.planfile.PlanWeights;
import dev.nimble.view.Views;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
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
  private static final int MOST_WARMUPS = 20_000;
  private static final long WARMUP_NANOS = 1_000_000_000;
  private static final int TIMED = 15;

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

  @Option(
      names = "--html",
      paramLabel = "FILE",
      description =
          "Replays and writes one page with the DAG, the timeline, the arena, the critical path and"
              + " what bounds the step.")
  private @Nullable Path html;

  @Option(
      names = "--save",
      paramLabel = "FILE.plan",
      description = "Saves the plan, so that it can be run without scheduling again.")
  private @Nullable Path save;

  @Option(
      names = "--weights",
      paramLabel = "FILE",
      description =
          "With --save: refers to weights in FILE (the model's, say) instead of copying them; FILE"
              + " must be in the plan's folder or below.")
  private @Nullable Path weights;

  @Override
  public Integer call() {
    if (weights != null && save == null) {
      throw new InvalidArgumentException("--weights says where --save finds weights; give both");
    }
    ModelSource model = options.open();
    try (Device device = options.openDevice(model)) {
      if (trace == null && html == null && save == null && model.saved().isEmpty()) {
        show(Nimble.plan(model.graph(), device, options.engineOptions()));
      } else {
        try (Engine engine = options.engine(model, device)) {
          show(engine.plan());
          if (save != null) {
            engine.save(save, new PlanWeights(weights));
            wrote(save);
          }
          if (trace != null || html != null) {
            model.inputs(1).forEach((name, tensor) -> engine.input(name).copyFrom(tensor));
            replay(engine);
          }
        }
      }
    }
    return 0;
  }

  private void wrote(Path file) {
    spec.commandLine().getErr().println("nimble: wrote " + file);
  }

  private void show(ExecutionPlan plan) {
    spec.commandLine().getOut().println(plan.explain());
    write(dot, () -> Views.dot(plan.schedule()));
    write(svg, () -> Views.scheduleSvg(plan.schedule()));
    write(arena, () -> Views.arenaSvg(plan));
  }

  /** Replays until it is quick, and shows the replay of median length. */
  private void replay(Engine engine) {
    long begin = System.nanoTime();
    List<Long> untimed = new ArrayList<>();
    while (untimed.size() < WARMUPS
        || (untimed.size() < MOST_WARMUPS && System.nanoTime() - begin < WARMUP_NANOS)) {
      long start = System.nanoTime();
      engine.replay();
      untimed.add(System.nanoTime() - start);
    }
    List<Long> warm = new ArrayList<>(untimed.subList(untimed.size() / 2, untimed.size()));
    warm.sort(Comparator.naturalOrder());
    List<Timeline> timed = new ArrayList<>();
    for (int i = 0; i < TIMED; i++) {
      engine.replayTimed(); // code for timing has to warm up too
      timed.add(engine.replayTimed());
    }
    timed.sort(Comparator.comparingLong(Timeline::totalNanos));
    Timeline median = timed.get(TIMED / 2);
    write(trace, () -> Views.traceJson(median));
    write(html, () -> Views.planHtml(engine.plan(), median, warm.get(warm.size() / 2)));
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
    wrote(file);
  }
}
