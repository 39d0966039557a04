package dev.nimble.view;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.nimble.Engine;
import dev.nimble.EngineOptions;
import dev.nimble.Nimble;
import dev.nimble.buffer.Slice;
import dev.nimble.device.Device;
import dev.nimble.device.cpu.CpuDeviceProvider;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Node;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.Binary;
import dev.nimble.op.BinaryFunction;
import dev.nimble.op.Unary;
import dev.nimble.op.UnaryFunction;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.plan.Timeline;
import dev.nimble.testkit.RandomGraphs;
import dev.nimble.testkit.Seeds;
import dev.nimble.transform.Transforms;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class PlanPageTest {
  /** A plan, a replay of it, and the page of both. */
  private record Shown(ExecutionPlan plan, Timeline timeline, String page) {
    JsonObject data() {
      return JsonParser.parseString(between(page, "id=\"data\">", "</script>")).getAsJsonObject();
    }
  }

  private static Shown show(Graph graph, EngineOptions options) {
    try (Device device = new CpuDeviceProvider(2).open(0);
        Engine engine = Nimble.prepare(graph, device, options)) {
      engine.replay();
      Timeline timeline = engine.replayTimed();
      String page = Views.planHtml(engine.plan(), timeline, 12_345);
      return new Shown(engine.plan(), timeline, page);
    }
  }

  private static String between(String text, String before, String after) {
    int from = text.indexOf(before) + before.length();
    return text.substring(from, text.indexOf(after, from));
  }

  @Test
  void theDataIsThePlanAndTheReplay() {
    Seeds.forEach(
        15,
        (random, seed) -> {
          Graph graph =
              RandomGraphs.of(random, RandomGraphs.Style.ofNodes(40).withJumps().withVariables());
          Shown shown = show(graph, EngineOptions.defaults());
          ExecutionPlan plan = shown.plan();
          JsonObject data = shown.data();
          assertThat(data.get("totalNanos").getAsLong()).isEqualTo(shown.timeline().totalNanos());
          assertThat(data.get("replayNanos").getAsLong()).isEqualTo(12_345);
          assertThat(data.getAsJsonArray("colours")).hasSize(plan.streams());
          assertThat(data.getAsJsonArray("syncs")).hasSize(plan.schedule().syncs().size());
          assertThat(data.getAsJsonObject("memory").get("ARENA").getAsLong())
              .isEqualTo(plan.memory().arenaBytes());
          JsonArray nodes = data.getAsJsonArray("nodes");
          assertThat(nodes).as("every node once").hasSize(plan.graph().nodes().size());
          Map<Node, Timeline.Span> spans = new HashMap<>();
          shown.timeline().spans().forEach(span -> spans.put(span.node(), span));
          for (Node node : plan.graph().nodes()) {
            assertNode(nodes.get(node.id()).getAsJsonObject(), node, plan, spans);
          }
        });
  }

  private static void assertNode(
      JsonObject json, Node node, ExecutionPlan plan, Map<Node, Timeline.Span> spans) {
    assertThat(json.get("name").getAsString()).isEqualTo(node.name());
    assertThat(json.get("op").getAsString()).isEqualTo(node.operator().name());
    assertThat(json.get("stream").getAsInt()).isEqualTo(plan.schedule().streamOf(node));
    assertThat(plan.schedule().launchOrder().get(json.get("launch").getAsInt())).isSameAs(node);
    List<Integer> predecessors = new ArrayList<>();
    json.getAsJsonArray("predecessors").forEach(p -> predecessors.add(p.getAsInt()));
    assertThat(predecessors)
        .containsExactlyElementsOf(plan.graph().predecessors(node).stream().map(Node::id).toList());
    Timeline.Span span = spans.get(node);
    assertThat(json.get("timed").getAsBoolean()).isEqualTo(span != null);
    assertThat(json.get("view").getAsBoolean()).isEqualTo(plan.memory().views().contains(node));
    if (span != null) {
      assertThat(json.get("start").getAsLong()).isEqualTo(span.startNanos());
      assertThat(json.get("end").getAsLong()).isEqualTo(span.endNanos());
      assertThat(json.get("worker").getAsInt()).isEqualTo(span.worker());
    }
    JsonArray outputs = json.getAsJsonArray("outputs");
    assertThat(outputs).hasSize(node.outputs().size());
    for (Value output : node.outputs()) {
      JsonObject value = outputs.get(output.outputIndex()).getAsJsonObject();
      assertThat(value.get("name").getAsString()).isEqualTo(output.name());
      assertThat(value.get("type").getAsString()).isEqualTo(output.type().toString());
      assertThat(value.get("slice").getAsString()).isEqualTo(plan.sliceOf(output).toString());
    }
  }

  /** What is live at one time lies apart: the picture of a replay that really ran. */
  @Test
  void boxesOfTheArenaOverlapOnlyWhereValuesShareBytes() {
    Seeds.forEach(
        15,
        (random, seed) -> {
          Shown shown = show(RandomGraphs.of(random, 60), EngineOptions.defaults());
          JsonArray nodes = shown.data().getAsJsonArray("nodes");
          List<JsonObject> boxes = new ArrayList<>();
          shown.data().getAsJsonArray("arena").forEach(b -> boxes.add(b.getAsJsonObject()));
          long expected =
              shown.plan().graph().values().stream()
                  .filter(v -> v.kind() == Value.Kind.RESULT)
                  .map(shown.plan()::sliceOf)
                  .filter(s -> s.region() == Slice.Region.ARENA && s.size() > 0)
                  .count();
          assertThat(boxes.stream().filter(b -> !b.get("workspace").getAsBoolean()))
              .hasSize((int) expected);
          for (JsonObject a : boxes) {
            for (JsonObject b : boxes) {
              if (a != b && overlap(a, b, "from", "to") && overlapBytes(a, b)) {
                assertThat(sameOffset(a, b) && (readBy(a, b, nodes) || readBy(b, a, nodes)))
                    .as("%s and %s", a, b)
                    .isTrue();
              }
            }
          }
        });
  }

  private static boolean overlap(JsonObject a, JsonObject b, String from, String to) {
    return a.get(from).getAsLong() < b.get(to).getAsLong()
        && b.get(from).getAsLong() < a.get(to).getAsLong();
  }

  private static boolean overlapBytes(JsonObject a, JsonObject b) {
    long first = a.get("offset").getAsLong();
    long second = b.get("offset").getAsLong();
    return first < second + b.get("size").getAsLong() && second < first + a.get("size").getAsLong();
  }

  private static boolean sameOffset(JsonObject a, JsonObject b) {
    return a.get("offset").getAsLong() == b.get("offset").getAsLong();
  }

  /** Whether {@code b} comes of {@code a} through nodes that show or overwrite their operand. */
  private static boolean readBy(JsonObject a, JsonObject b, JsonArray nodes) {
    int from = a.get("node").getAsInt();
    List<Integer> open = new ArrayList<>(List.of(b.get("node").getAsInt()));
    for (int i = 0; i < open.size() && i < 10_000; i++) {
      for (JsonElement p :
          nodes.get(open.get(i)).getAsJsonObject().getAsJsonArray("predecessors")) {
        if (p.getAsInt() == from) {
          return true;
        }
        open.add(p.getAsInt());
      }
    }
    return false;
  }

  @Test
  void aTimelineOfAnotherPlanIsRefused() {
    Shown one = show(RandomGraphs.of(new java.util.Random(1), 20), EngineOptions.defaults());
    Shown other = show(RandomGraphs.of(new java.util.Random(1), 20), EngineOptions.defaults());
    assertThatThrownBy(() -> Views.planHtml(one.plan(), other.timeline(), 0))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessageContaining("another plan");
  }

  private static final List<String> HOSTILE =
      List.of(
          "</script><script>alert(1)</script>",
          "<!--<script>",
          "]]>\"'`${alert(1)}\\",
          "{{DATA}}{{SCRIPT}}",
          "line\nbreak\u2028separator\u2029end\u0000nul\u001bescape",
          "right\u202eto left\u2066isolate",
          "lone \ud83d surrogate, whole \ud83d\ude00",
          "<img src=x onerror=alert(1)>&amp;&lt;",
          "x".repeat(100_000));

  private static Graph hostile() {
    GraphBuilder g = new GraphBuilder(HOSTILE.get(0));
    Value value = g.input(HOSTILE.get(1), TensorType.f32(4));
    for (String name : HOSTILE) {
      value = g.add(name, new Binary(BinaryFunction.ADD), List.of(value, value)).output();
    }
    return g.output(HOSTILE.get(7), g.apply(Unary.of(UnaryFunction.RELU), value)).build();
  }

  @Test
  void hostileNamesStayText() throws Exception {
    Shown shown = show(hostile(), EngineOptions.defaults().withTransforms(Transforms.none()));
    String page = shown.page();
    String clean =
        show(RandomGraphs.of(new java.util.Random(1), 5), EngineOptions.defaults()).page();
    for (String mark : List.of("<script", "</script", "<style", "<!--", "<img", "<link", "<meta")) {
      assertThat(count(page, mark)).as(mark).isEqualTo(count(clean, mark));
    }
    String json = between(page, "id=\"data\">", "</script>");
    assertThat(json).matches("[\\x20-\\x7e]*").doesNotContain("<", ">", "&", "'");
    JsonArray nodes = shown.data().getAsJsonArray("nodes");
    for (int i = 0; i < HOSTILE.size() - 1; i++) {
      assertThat(nodes.get(i).getAsJsonObject().get("name").getAsString())
          .as("is what it was")
          .isEqualTo(HOSTILE.get(i));
    }
    assertThat(nodes.get(HOSTILE.size() - 1).getAsJsonObject().get("name").getAsString())
        .as("is cut")
        .startsWith("xxx")
        .hasSizeLessThan(1000);
    assertThat(page).hasSizeLessThan(150_000);
    // UTF-8 can write it although a name has half a surrogate pair.
    assertThat(StandardCharsets.UTF_8.newEncoder().canEncode(page)).isTrue();
  }

  private static int count(String text, String part) {
    return text.split(Pattern.quote(part), -1).length - 1;
  }

  @Test
  void thePageAllowsItselfOnlyItsOwnScriptAndNoNetwork() throws Exception {
    String page = show(hostile(), EngineOptions.defaults()).page();
    String policy = between(page, "Content-Security-Policy\" content=\"", "\"");
    assertThat(policy).startsWith("default-src 'none'").doesNotContain("unsafe", "http", "*");
    Matcher scripts = Pattern.compile("<script>(.*?)</script>", Pattern.DOTALL).matcher(page);
    assertThat(scripts.find()).isTrue();
    assertThat(policy).contains("script-src 'sha256-" + sha256(scripts.group(1)) + "'");
    assertThat(scripts.find()).as("a second script").isFalse();
    assertThat(policy)
        .contains("style-src 'sha256-" + sha256(between(page, "<style>", "</style>")) + "'");
    assertThat(page).doesNotContain("http:", "https:", " src=", "@import", "url(", "{{");
    assertThat(page).doesNotContain("innerHTML", "document.write", "eval(", "style=");
  }

  private static String sha256(String text) throws Exception {
    byte[] digest =
        MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
    return Base64.getEncoder().encodeToString(digest);
  }
}
