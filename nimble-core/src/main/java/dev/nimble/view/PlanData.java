package dev.nimble.view;

import com.google.common.collect.ImmutableListMultimap;
import com.google.common.primitives.ImmutableIntArray;
import com.google.gson.stream.JsonWriter;
import dev.nimble.buffer.Slice;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Value;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.plan.Timeline;
import dev.nimble.schedule.Sync;
import java.io.IOException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** The data of the plan page: a plan, one replay of it, and the places of its nodes. */
final class PlanData {
  /** Longer texts, which only a hostile or generated model has, are cut. */
  private static final int LONGEST_TEXT = 600;

  private final ExecutionPlan plan;
  private final Graph graph;
  private final Timeline timeline;
  private final long replayNanos;
  private final StepBounds bounds;
  private final Timeline.@Nullable Span[] spanOf;

  /** When each node has started and ended; of a view, when what it shows was there. */
  private final long[] start;

  private final long[] end;

  PlanData(ExecutionPlan plan, Timeline timeline, long replayNanos) {
    this.plan = plan;
    this.graph = plan.graph();
    this.timeline = timeline;
    this.replayNanos = replayNanos;
    for (Timeline.Span span : timeline.spans()) {
      int id = span.node().id();
      if (id >= graph.nodes().size() || graph.nodes().get(id) != span.node()) {
        throw new InvalidArgumentException(
            "the timeline is of another plan: it has node '" + span.node().name() + "'");
      }
    }
    this.bounds = StepBounds.of(graph, timeline, replayNanos);
    int nodes = graph.nodes().size();
    this.spanOf = new Timeline.Span[nodes];
    for (Timeline.Span span : timeline.spans()) {
      spanOf[span.node().id()] = span;
    }
    this.start = new long[nodes];
    this.end = new long[nodes];
    for (Node node : graph.nodes()) {
      int id = node.id();
      Timeline.Span span = spanOf[id];
      if (span != null) {
        start[id] = span.startNanos();
        end[id] = span.endNanos();
      } else {
        for (Node predecessor : graph.predecessors(node)) {
          start[id] = Math.max(start[id], end[predecessor.id()]);
        }
        end[id] = start[id];
      }
    }
  }

  void write(JsonWriter json) throws IOException {
    json.beginObject();
    json.name("graph").value(cut(graph.name()));
    json.name("device").value(cut(plan.kernels().device()));
    json.name("policy").value(cut(plan.schedule().policy()));
    json.name("concurrency").value(plan.schedule().concurrencyDegree());
    json.name("optimality").value(cut(plan.schedule().optimality()));
    json.name("totalNanos").value(timeline.totalNanos());
    json.name("replayNanos").value(replayNanos);
    bounds(json);
    json.name("colours").beginArray();
    for (int stream = 0; stream < plan.streams(); stream++) {
      json.value(Palette.ofStream(stream));
    }
    json.endArray();
    memory(json);
    nodes(json);
    json.name("syncs").beginArray();
    for (Sync sync : plan.schedule().syncs()) {
      json.beginArray().value(sync.from().id()).value(sync.to().id()).endArray();
    }
    json.endArray();
    arena(json);
    json.endObject();
  }

  private static String cut(String text) {
    return text.length() <= LONGEST_TEXT ? text : text.substring(0, LONGEST_TEXT) + "…";
  }

  private void bounds(JsonWriter json) throws IOException {
    json.name("bounds").beginObject();
    json.name("verdict").value(bounds.verdict().name());
    json.name("headline").value(bounds.headline());
    json.name("sentences").beginArray();
    for (String sentence : bounds.sentences()) {
      json.value(sentence);
    }
    json.endArray();
    json.name("workers").value(bounds.workers());
    json.name("workNanos").value(bounds.workNanos());
    json.name("evenNanos").value(bounds.evenNanos());
    json.name("pathNanos").value(bounds.pathNanos());
    json.name("chainNanos").value(bounds.chainNanos());
    json.name("launchNanos").value(bounds.launchNanos());
    json.name("syncNanos").value(bounds.syncNanos());
    json.name("edgeNanos").value(bounds.edgeNanos());
    ids(json.name("path"), bounds.path());
    ids(json.name("chain"), bounds.chain());
    json.endObject();
  }

  private static void ids(JsonWriter json, ImmutableIntArray ids) throws IOException {
    json.beginArray();
    for (int i = 0; i < ids.length(); i++) {
      json.value(ids.get(i));
    }
    json.endArray();
  }

  private void memory(JsonWriter json) throws IOException {
    json.name("memory").beginObject();
    for (Slice.Region region : Slice.Region.values()) {
      json.name(region.name()).value(plan.bytesOf(region));
    }
    json.name("lowerBound").value(plan.memory().lowerBoundBytes());
    json.name("naive").value(plan.memory().naiveBytes());
    json.endObject();
  }

  private void nodes(JsonWriter json) throws IOException {
    int[] streamOf = graph.nodes().stream().mapToInt(plan.schedule()::streamOf).toArray();
    LayeredLayout layout = LayeredLayout.of(graph.predecessorIds(), streamOf);
    json.name("layout").beginObject();
    json.name("width").value(layout.width());
    json.name("layers").value(layout.layers());
    json.name("nodeWidth").value(LayeredLayout.NODE_WIDTH);
    json.name("nodeHeight").value(LayeredLayout.NODE_HEIGHT);
    json.name("layerHeight").value(LayeredLayout.LAYER_HEIGHT);
    json.endObject();
    int[] position = new int[graph.nodes().size()];
    Arrays.setAll(position, i -> i);
    for (int i = 0; i < position.length; i++) {
      position[plan.schedule().launchOrder().get(i).id()] = i;
    }
    json.name("nodes").beginArray();
    for (Node node : graph.nodes()) {
      int id = node.id();
      json.beginObject();
      json.name("name").value(cut(node.name()));
      json.name("op").value(cut(node.operator().name()));
      json.name("operator").value(cut(node.operator().toString()));
      json.name("kernel").value(cut(plan.kernels().of(node).kernel()));
      json.name("stream").value(streamOf[id]);
      json.name("launch").value(position[id]);
      Timeline.Span span = spanOf[id];
      json.name("timed").value(span != null);
      json.name("start").value(start[id]);
      json.name("end").value(end[id]);
      if (span != null) {
        json.name("worker").value(span.worker());
      }
      json.name("slack").value(bounds.slackNanos().get(id));
      json.name("view").value(plan.memory().views().contains(node));
      Slice workspace = plan.memory().workspaceOf(node);
      if (workspace != null) {
        json.name("workspace").value(workspace.toString());
      }
      values(json.name("inputs"), node.inputs());
      values(json.name("outputs"), node.outputs());
      json.name("predecessors").beginArray();
      for (Node predecessor : graph.predecessors(node)) {
        json.value(predecessor.id());
      }
      json.endArray();
      json.name("layer").value(layout.layer().get(id));
      json.name("x").value(rounded(layout.x().get(id)));
      json.name("bends").beginArray();
      for (double bend : layout.bends().get(id).asList()) {
        json.value(rounded(bend));
      }
      json.endArray();
      json.endObject();
    }
    json.endArray();
  }

  private static double rounded(double x) {
    return Math.round(x * 10) / 10.0;
  }

  private void values(JsonWriter json, Iterable<Value> values) throws IOException {
    json.beginArray();
    for (Value value : values) {
      json.beginObject();
      json.name("name").value(cut(value.name()));
      json.name("type").value(cut(value.type().toString()));
      json.name("bytes").value(value.type().sizeBytes());
      json.name("slice").value(plan.sliceOf(value).toString());
      json.endObject();
    }
    json.endArray();
  }

  /** Boxes of the arena: a value from its first write to its last read, a workspace while used. */
  private void arena(JsonWriter json) throws IOException {
    ImmutableListMultimap<Value, Node> readers = readers();
    json.name("arena").beginArray();
    for (Node node : graph.nodes()) {
      for (Value output : node.outputs()) {
        Slice slice = plan.sliceOf(output);
        if (slice.region() == Slice.Region.ARENA && slice.size() > 0) {
          long to = end[node.id()];
          for (Node reader : readers.get(output)) {
            to = Math.max(to, end[reader.id()]);
          }
          box(json, node, cut(output.name()), slice, start[node.id()], to);
        }
      }
      Slice workspace = plan.memory().workspaceOf(node);
      if (workspace != null && workspace.size() > 0) {
        box(json, node, null, workspace, start[node.id()], end[node.id()]);
      }
    }
    json.endArray();
  }

  private ImmutableListMultimap<Value, Node> readers() {
    ImmutableListMultimap.Builder<Value, Node> readers = ImmutableListMultimap.builder();
    for (Node node : graph.nodes()) {
      for (Value input : node.inputs()) {
        readers.put(input, node);
      }
    }
    return readers.build();
  }

  /** The box of a value, or if it is null of a workspace. */
  private static void box(
      JsonWriter json, Node node, @Nullable String value, Slice slice, long from, long to)
      throws IOException {
    json.beginObject();
    json.name("node").value(node.id());
    json.name("value").value(value == null ? "" : value);
    json.name("workspace").value(value == null);
    json.name("offset").value(slice.offset());
    json.name("size").value(slice.size());
    json.name("from").value(from);
    json.name("to").value(to);
    json.endObject();
  }
}
