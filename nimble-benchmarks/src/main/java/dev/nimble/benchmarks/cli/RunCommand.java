package dev.nimble.benchmarks.cli;

import com.google.gson.FieldNamingPolicy;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import dev.nimble.EagerGraph;
import dev.nimble.Engine;
import dev.nimble.EngineOptions;
import dev.nimble.Nimble;
import dev.nimble.benchmarks.models.ModelSource;
import dev.nimble.benchmarks.peers.Differences;
import dev.nimble.benchmarks.peers.OnnxRuntimePeer;
import dev.nimble.benchmarks.report.Interleaved;
import dev.nimble.benchmarks.report.TextTable;
import dev.nimble.device.Device;
import dev.nimble.graph.Tensor;
import dev.nimble.memory.MemoryPlan;
import dev.nimble.schedule.Policies;
import dev.nimble.schedule.Schedule;
import dev.nimble.transform.Transforms;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * {@code nimble run}: prepares a model, replays it, and compares it with eager execution and a
 * peer.
 */
@Command(
    name = "run",
    mixinStandardHelpOptions = true,
    description = "Prepares and replays a model; prints what the plan is and how fast it runs.")
final class RunCommand implements Callable<Integer> {
  private static final double MOST_DIFFERENCE = 1e-4;
  private static final Gson JSON =
      new GsonBuilder()
          .setFieldNamingPolicy(FieldNamingPolicy.LOWER_CASE_WITH_UNDERSCORES)
          .serializeNulls()
          .setPrettyPrinting()
          .create();

  /** What is printed; the names are those of the JSON object, in its style. */
  private record Figures(
      String model,
      String inputs,
      String device,
      String policy,
      int operatorsBefore,
      int operatorsAfter,
      int concurrencyDegree,
      int streams,
      int syncs,
      String optimality,
      long arenaBytes,
      long naiveBytes,
      long lowerBoundBytes,
      long singleStreamArenaBytes,
      long singleStreamLowerBoundBytes,
      double eagerUs,
      double singleStreamUs,
      double multiStreamUs,
      @Nullable Double onnxruntimeUs,
      double maxRelDiffEager,
      @Nullable Double maxRelDiffOnnxruntime) {}

  @Spec private CommandSpec spec = CommandSpec.create();
  @Mixin private ModelOptions options = new ModelOptions();

  @Option(names = "--json", description = "Prints one JSON object instead of a table.")
  private boolean json;

  @Option(
      names = "--seconds",
      defaultValue = "10",
      description = "How long to measure (default: ${DEFAULT-VALUE}).")
  private int seconds = 10;

  @Override
  public Integer call() {
    ModelSource model = options.open();
    EngineOptions single = options.engineOptions().withPolicy(Policies.singleStream());
    if (model.saved().isPresent()) {
      single = single.withTransforms(Transforms.none()); // they have been applied
    }
    Map<String, Tensor> inputs = model.inputs(1);
    try (Device device = options.openDevice(model)) {
      progress("preparing " + model.name() + " on " + device.name());
      try (Engine engine = options.engine(model, device);
          Engine baseline = Nimble.prepare(model.graph(), device, single);
          EagerGraph eager = new EagerGraph(engine.plan().graph(), device)) {
        Figures figures = measure(model, device, engine, baseline, eager, inputs);
        if (json) {
          spec.commandLine().getOut().println(JSON.toJson(figures));
        } else {
          print(figures);
        }
        spec.commandLine().getOut().flush();
        Double peer = figures.maxRelDiffOnnxruntime();
        boolean equal =
            figures.maxRelDiffEager() <= MOST_DIFFERENCE
                && (peer == null || peer <= MOST_DIFFERENCE);
        return equal ? 0 : NimbleCommand.FAILED;
      }
    }
  }

  private Figures measure(
      ModelSource model,
      Device device,
      Engine engine,
      Engine baseline,
      EagerGraph eager,
      Map<String, Tensor> inputs) {
    Map<String, Tensor> outputs = engine.run(inputs);
    Map<String, Tensor> eagerOutputs = eager.run(inputs);
    double eagerDifference =
        Math.max(
            Differences.largest(outputs, eagerOutputs),
            Differences.largest(baseline.run(inputs), eagerOutputs));
    Optional<OnnxRuntimePeer> peer =
        model.bytes().flatMap(bytes -> OnnxRuntimePeer.open(bytes, inputs, device.concurrency()));
    Double peerDifference = peer.map(p -> p.largestDifference(outputs)).orElse(null);
    progress("measuring for " + seconds + " s");
    List<Runnable> actions =
        new ArrayList<>(List.of(() -> eager.run(inputs), baseline::replay, engine::replay));
    peer.ifPresent(p -> actions.add(p::run));
    long[] nanos = Interleaved.medianNanos(actions, 20, 500, seconds * 1000L);
    peer.ifPresent(OnnxRuntimePeer::close);

    Schedule schedule = engine.plan().schedule();
    MemoryPlan memory = engine.plan().memory();
    MemoryPlan singleMemory = baseline.plan().memory();
    return new Figures(
        model.name(),
        engine.capturedGraph().inputs().toString(),
        device.name(),
        schedule.policy(),
        engine.capturedGraph().nodes().size(),
        engine.plan().graph().nodes().size(),
        schedule.concurrencyDegree(),
        schedule.streams(),
        schedule.syncs().size(),
        schedule.optimality(),
        memory.arenaBytes(),
        memory.naiveBytes(),
        memory.lowerBoundBytes(),
        singleMemory.arenaBytes(),
        singleMemory.lowerBoundBytes(),
        nanos[0] / 1e3,
        nanos[1] / 1e3,
        nanos[2] / 1e3,
        nanos.length > 3 ? nanos[3] / 1e3 : null,
        eagerDifference,
        peerDifference);
  }

  private void print(Figures f) {
    double single = f.singleStreamUs();
    Double peer = f.onnxruntimeUs();
    Double peerDifference = f.maxRelDiffOnnxruntime();
    TextTable table =
        new TextTable()
            .row(f.model(), f.inputs())
            .row("device", f.device())
            .row("policy", f.policy() + " (" + f.optimality() + ")")
            .row(
                "operators",
                f.operatorsBefore() + " captured, " + f.operatorsAfter() + " after transforms")
            .row("degree of logical concurrency", f.concurrencyDegree())
            .row("streams", f.streams())
            .row("syncs", f.syncs())
            .row("arena", arena(f.arenaBytes(), f.lowerBoundBytes(), f.naiveBytes()))
            .row(
                "arena, single stream",
                arena(f.singleStreamArenaBytes(), f.singleStreamLowerBoundBytes(), f.naiveBytes()))
            .row("eager", time(f.eagerUs(), single))
            .row("replay, single stream", time(single, single))
            .row("replay, multi-stream", time(f.multiStreamUs(), single))
            .row("ONNX Runtime, same threads", peer == null ? "absent" : time(peer, single))
            .row("largest difference from eager", f.maxRelDiffEager())
            .row(
                "largest difference from ONNX Runtime",
                peerDifference == null ? "absent" : peerDifference);
    spec.commandLine().getOut().print(table);
    spec.commandLine()
        .getOut()
        .println(
            "Times: medians of interleaved rounds on this machine's CPU, and their ratio to replay on"
                + " a single stream (more is slower). Differences: |a-b| / max(1, |b|).");
  }

  private static String arena(long arena, long bound, long naive) {
    return String.format(
        "%,d bytes = %.3f x lower bound (%,d); naive sum is %.1f x (%,d)",
        arena,
        (double) arena / Math.max(1, bound),
        bound,
        (double) naive / Math.max(1, arena),
        naive);
  }

  private static String time(double micros, double single) {
    return String.format("%,.1f us (%.2fx)", micros, micros / single);
  }

  private void progress(String what) {
    spec.commandLine().getErr().println("nimble: " + what);
    spec.commandLine().getErr().flush();
  }
}
