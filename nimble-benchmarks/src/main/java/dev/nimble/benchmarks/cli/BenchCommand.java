package dev.nimble.benchmarks.cli;

import dev.nimble.EagerGraph;
import dev.nimble.Engine;
import dev.nimble.EngineCache;
import dev.nimble.EngineOptions;
import dev.nimble.Nimble;
import dev.nimble.analysis.Dag;
import dev.nimble.analysis.PathCover;
import dev.nimble.analysis.TransitiveReduction;
import dev.nimble.benchmarks.baseline.BareChain;
import dev.nimble.benchmarks.models.ModelSource;
import dev.nimble.benchmarks.models.NamedModel;
import dev.nimble.benchmarks.models.TinyChain;
import dev.nimble.benchmarks.peers.OnnxRuntimePeer;
import dev.nimble.benchmarks.report.Interleaved;
import dev.nimble.benchmarks.report.TextTable;
import dev.nimble.benchmarks.schedule.JgraphtAssignment;
import dev.nimble.benchmarks.schedule.LayeredDags;
import dev.nimble.device.Device;
import dev.nimble.device.Devices;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.memory.MemoryPlan;
import dev.nimble.onnx.OnnxModel;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.schedule.Policies;
import dev.nimble.transform.Transforms;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code nimble bench}: the figures that the README quotes, as ratios from one run. */
@Command(
    name = "bench",
    mixinStandardHelpOptions = true,
    description = "Prints scheduling overhead, stream assignment and memory figures.")
final class BenchCommand implements Callable<Integer> {
  private static final List<String> TOPICS =
      List.of("overhead", "assignment", "memory", "load", "shapes");

  @Spec private CommandSpec spec = CommandSpec.create();

  @Parameters(
      arity = "0..*",
      paramLabel = "TOPIC",
      description = "overhead, assignment, memory, load, shapes (default: all).")
  private List<String> topics = List.of();

  @Override
  public Integer call() {
    for (String topic : topics) {
      if (!TOPICS.contains(topic)) {
        throw new InvalidArgumentException(
            "there is no topic '" + topic + "'; there are " + TOPICS);
      }
    }
    List<String> chosen = topics.isEmpty() ? TOPICS : topics;
    PrintWriter out = spec.commandLine().getOut();
    for (String topic : chosen) {
      out.println();
      switch (topic) {
        case "overhead":
          overhead(out);
          break;
        case "assignment":
          assignment(out);
          break;
        case "load":
          LoadTimes.print(out);
          break;
        case "shapes":
          shapes(out);
          break;
        default:
          memory(out);
          break;
      }
      out.flush();
    }
    return 0;
  }

  private static void overhead(PrintWriter out) {
    out.println(
        "Chains of Add and Relu over 16 floats, no fusion: ns per operator. \"bare\" is the same"
            + " arithmetic in a plain loop; scheduling is what is spent beyond it.");
    TextTable table =
        new TextTable()
            .row(
                "operators",
                "bare",
                "replay",
                "eager",
                "ONNX Runtime",
                "eager/replay",
                "ORT/replay",
                "scheduling: eager/replay");
    for (int operators : new int[] {10, 100, 1000}) {
      byte[] model = TinyChain.onnx(operators);
      Graph graph = OnnxModel.parse(model, "chain").graph(Map.of());
      Map<String, Tensor> inputs = Map.of("x", Tensor.zeros(TensorType.f32(1, 16)));
      EngineOptions options = EngineOptions.defaults().withTransforms(Transforms.none());
      try (Device device = Devices.open("cpu");
          Engine engine = Nimble.prepare(graph, device, options);
          EagerGraph eager = new EagerGraph(graph, device)) {
        BareChain bare = new BareChain(operators);
        Optional<OnnxRuntimePeer> peer = OnnxRuntimePeer.open(model, inputs, 1);
        List<Runnable> actions =
            new ArrayList<>(List.of(bare::run, engine::replay, () -> eager.run(inputs)));
        peer.ifPresent(p -> actions.add(p::run));
        long[] nanos = Interleaved.medianNanos(actions, 2_000, 20_000, 8_000);
        peer.ifPresent(OnnxRuntimePeer::close);
        double ort = nanos.length > 3 ? nanos[3] : Double.NaN;
        double scheduling = Math.max(1, nanos[1] - nanos[0]);
        table.row(
            operators,
            perOperator(nanos[0], operators),
            perOperator(nanos[1], operators),
            perOperator(nanos[2], operators),
            perOperator(ort, operators),
            ratio(nanos[2], nanos[1]),
            ratio(ort, nanos[1]),
            ratio(nanos[2] - nanos[0], scheduling));
      }
    }
    out.print(table);
  }

  private static String perOperator(double nanos, int operators) {
    return Double.isNaN(nanos) ? "absent" : String.format("%.1f", nanos / operators);
  }

  private static String ratio(double a, double b) {
    return Double.isNaN(a) ? "" : String.format("%.1fx", a / b);
  }

  private static void assignment(PrintWriter out) {
    out.println("Stream assignment of layered DAGs, 2.5 edges a node, warm");
    TextTable table =
        new TextTable()
            .row(
                "nodes", "width", "streams", "syncs", "ours ms", "growth exponent", "JGraphT/ours");
    for (int width : new int[] {16, 64}) {
      double before = 0;
      int nodesBefore = 0;
      for (int nodes : new int[] {1_000, 5_000, 20_000, 100_000}) {
        Dag dag = LayeredDags.of(nodes, width, 2.5, 1);
        List<Runnable> ours = List.of(() -> PathCover.of(TransitiveReduction.of(dag)));
        long own = Interleaved.medianNanos(ours, 300, 50, 4_000)[0];
        PathCover cover = PathCover.of(TransitiveReduction.of(dag));
        String peer = "";
        if (nodes <= 5_000 && width == 16) {
          long theirs = Long.MAX_VALUE;
          for (int i = 0; i < 4; i++) { // the least of a few: they favour JGraphT
            JgraphtAssignment jgrapht = new JgraphtAssignment(dag);
            long start = System.nanoTime();
            int syncs = jgrapht.syncs();
            theirs = Math.min(theirs, System.nanoTime() - start);
            if (syncs != cover.syncs()) {
              throw new IllegalStateException("JGraphT finds " + syncs + " syncs");
            }
          }
          peer = String.format("%.0fx", (double) theirs / own);
        }
        String growth =
            nodesBefore == 0
                ? ""
                : String.format(
                    "%.2f", Math.log(own / before) / Math.log((double) nodes / nodesBefore));
        table.row(
            nodes,
            cover.width(),
            cover.chains(),
            cover.syncs(),
            String.format("%.3f", own / 1e6),
            growth,
            peer);
        before = own;
        nodesBefore = nodes;
      }
    }
    out.print(table);
  }

  private static void shapes(PrintWriter out) {
    out.println("MiniLM in an engine cache: bytes of weights that several sequence lengths share");
    TextTable table = new TextTable().row("sequence lengths", "weight bytes", "without sharing");
    OnnxModel model = OnnxModel.parse(NamedModel.MINILM.bytes(), "minilm");
    try (EngineCache cache =
        EngineCache.of(model::graph, EngineOptions.defaults().withDevice("cpu"), 4)) {
      List<Integer> lengths = new ArrayList<>();
      for (int length : new int[] {16, 32, 64, 128}) {
        cache.lease(Map.of("*.0", 1, "*.1", length)).close();
        lengths.add(length);
        EngineCache.Statistics statistics = cache.statistics();
        table.row(
            lengths.toString(),
            String.format("%,d", statistics.weightBytes()),
            String.format("%,d", statistics.weightBytesWithoutSharing()));
      }
    }
    out.print(table);
  }

  private static void memory(PrintWriter out) {
    out.println(
        "Memory of the six models: arena against the peak-live lower bound and the naive sum");
    TextTable table =
        new TextTable()
            .row("model", "policy", "arena", "lower bound", "arena/bound", "naive/arena");
    try (Device device = Devices.open("cpu")) {
      for (NamedModel model : NamedModel.values()) {
        Graph graph = ModelSource.open(model.modelName(), Map.of()).graph();
        for (EngineOptions options :
            List.of(
                EngineOptions.defaults().withPolicy(Policies.singleStream()),
                EngineOptions.defaults())) {
          ExecutionPlan plan = Nimble.plan(graph, device, options);
          MemoryPlan memory = plan.memory();
          table.row(
              model.modelName(),
              plan.schedule().policy(),
              String.format("%,d", memory.arenaBytes()),
              String.format("%,d", memory.lowerBoundBytes()),
              String.format("%.3f", (double) memory.arenaBytes() / memory.lowerBoundBytes()),
              String.format("%.1fx", (double) memory.naiveBytes() / memory.arenaBytes()));
        }
      }
    }
    out.print(table);
  }
}
