package dev.nimble.benchmarks.cli;

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
import dev.nimble.device.Devices;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Tensor;
import dev.nimble.memory.MemoryPlan;
import dev.nimble.schedule.Policies;
import dev.nimble.schedule.Schedule;
import java.util.ArrayList;
import java.util.LinkedHashMap;
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

/** {@code nimble run}: prepares a model, replays it, and compares it with eager execution and a peer. */
@Command(
    name = "run",
    mixinStandardHelpOptions = true,
    description = "Prepares and replays a model; prints what the plan is and how fast it runs.")
final class RunCommand implements Callable<Integer> {
  private static final double MOST_DIFFERENCE = 1e-4;

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
    EngineOptions multi = options.engineOptions();
    EngineOptions single = multi.withPolicy(Policies.singleStream());
    Map<String, Tensor> inputs = model.inputs(1);
    try (Device device = Devices.open(multi.device())) {
      progress("preparing " + model.name() + " on " + device.name());
      try (Engine engine = Nimble.prepare(model.graph(), device, multi);
          Engine baseline = Nimble.prepare(model.graph(), device, single);
          EagerGraph eager = new EagerGraph(engine.plan().graph(), device)) {
        Map<String, Object> figures = measure(model, device, engine, baseline, eager, inputs);
        if (json) {
          Gson gson = new GsonBuilder().serializeNulls().setPrettyPrinting().create();
          spec.commandLine().getOut().println(gson.toJson(figures));
        } else {
          print(figures);
        }
        return isWithin(figures.get("max_rel_diff_eager"))
                && isWithin(figures.get("max_rel_diff_onnxruntime"))
            ? 0
            : NimbleCommand.FAILED;
      }
    }
  }

  private static boolean isWithin(@Nullable Object difference) {
    return difference == null || (Double) difference <= MOST_DIFFERENCE;
  }

  private Map<String, Object> measure(
      ModelSource model, Device device, Engine engine, Engine baseline, EagerGraph eager,
      Map<String, Tensor> inputs) {
    Map<String, Tensor> outputs = engine.run(inputs);
    Map<String, Tensor> singleOutputs = baseline.run(inputs);
    Map<String, Tensor> eagerOutputs = eager.run(inputs);
    double eagerDifference =
        Math.max(
            Differences.largest(outputs, eagerOutputs),
            Differences.largest(singleOutputs, eagerOutputs));
    Optional<OnnxRuntimePeer> peer =
        OnnxRuntimePeer.open(model.bytes(), inputs, device.concurrency());
    Double peerDifference = peer.map(p -> p.largestDifference(outputs)).orElse(null);
    progress("measuring for " + seconds + " s");
    List<Runnable> actions =
        new ArrayList<>(List.of(() -> eager.run(inputs), baseline::replay, engine::replay));
    peer.ifPresent(p -> actions.add(p::run));
    long[] nanos = Interleaved.medianNanos(actions, 20, 500, seconds * 1000L);
    peer.ifPresent(OnnxRuntimePeer::close);

    Graph captured = engine.capturedGraph();
    Schedule schedule = engine.plan().schedule();
    MemoryPlan memory = engine.plan().memory();
    Map<String, Object> figures = new LinkedHashMap<>();
    figures.put("model", model.name());
    figures.put("inputs", captured.inputs().toString());
    figures.put("device", device.name());
    figures.put("policy", schedule.policy());
    figures.put("operators_before", captured.nodes().size());
    figures.put("operators_after", engine.plan().graph().nodes().size());
    figures.put("concurrency_degree", schedule.concurrencyDegree());
    figures.put("streams", schedule.streams());
    figures.put("syncs", schedule.syncs().size());
    figures.put("optimality", schedule.optimality());
    figures.put("arena_bytes", memory.arenaBytes());
    figures.put("single_stream_arena_bytes", baseline.plan().memory().arenaBytes());
    figures.put("single_stream_lower_bound_bytes", baseline.plan().memory().lowerBoundBytes());
    figures.put("naive_bytes", memory.naiveBytes());
    figures.put("lower_bound_bytes", memory.lowerBoundBytes());
    figures.put("eager_us", nanos[0] / 1e3);
    figures.put("single_stream_us", nanos[1] / 1e3);
    figures.put("multi_stream_us", nanos[2] / 1e3);
    figures.put("onnxruntime_us", nanos.length > 3 ? nanos[3] / 1e3 : null);
    figures.put("max_rel_diff_eager", eagerDifference);
    figures.put("max_rel_diff_onnxruntime", peerDifference);
    return figures;
  }

  private void print(Map<String, Object> f) {
    double single = (Double) f.get("single_stream_us");
    double eager = (Double) f.get("eager_us");
    double multi = (Double) f.get("multi_stream_us");
    Double peer = (Double) f.get("onnxruntime_us");
    long arena = (Long) f.get("arena_bytes");
    long singleArena = (Long) f.get("single_stream_arena_bytes");
    long bound = (Long) f.get("lower_bound_bytes");
    long naive = (Long) f.get("naive_bytes");
    TextTable table =
        new TextTable()
            .row(f.get("model"), f.get("inputs"))
            .row("device", f.get("device"))
            .row("policy", f.get("policy") + " (" + f.get("optimality") + ")")
            .row(
                "operators",
                f.get("operators_before") + " captured, " + f.get("operators_after")
                    + " after transforms")
            .row("degree of logical concurrency", f.get("concurrency_degree"))
            .row("streams", f.get("streams"))
            .row("syncs", f.get("syncs"))
            .row(
                "arena",
                String.format(
                    "%,d bytes; naive sum %,d (%.1fx); lower bound %,d (arena is %.2fx)", arena, naive,
                    (double) naive / Math.max(1, arena), bound, (double) arena / Math.max(1, bound)))
            .row(
                "arena, single stream",
                String.format(
                    "%,d bytes (%.3fx of its lower bound)", singleArena,
                    (double) singleArena / Math.max(1, (Long) f.get("single_stream_lower_bound_bytes"))))
            .row("eager", String.format("%,.1f us (%.2fx)", eager, eager / single))
            .row("replay, single stream", String.format("%,.1f us (1.00x)", single))
            .row("replay, " + f.get("streams") + " streams",
                String.format("%,.1f us (%.2fx)", multi, multi / single))
            .row("ONNX Runtime, same threads",
                peer == null ? "absent" : String.format("%,.1f us (%.2fx)", peer, peer / single))
            .row("largest difference from eager", f.get("max_rel_diff_eager"))
            .row(
                "largest difference from ONNX Runtime",
                f.get("max_rel_diff_onnxruntime") == null
                    ? "absent"
                    : f.get("max_rel_diff_onnxruntime"));
    spec.commandLine().getOut().print(table);
    spec.commandLine().getOut().println(
        "Times are medians of interleaved rounds on this machine's CPU; (x) is relative to replay on a"
            + " single stream, more is slower.");
    spec.commandLine().getOut().flush();
  }

  private void progress(String what) {
    spec.commandLine().getErr().println("nimble: " + what);
    spec.commandLine().getErr().flush();
  }
}
