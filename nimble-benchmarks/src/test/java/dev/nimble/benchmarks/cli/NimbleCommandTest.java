package dev.nimble.benchmarks.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import dev.nimble.benchmarks.models.NamedModel;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.testkit.OnnxRuntimeOracle;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class NimbleCommandTest {
  @TempDir private Path folder = Path.of(".");

  /** What a command did. */
  private record Outcome(int exitCode, String out, String err) {}

  private static Outcome nimble(String... arguments) {
    PrintStream out = System.out;
    PrintStream err = System.err;
    ByteArrayOutputStream outBytes = new ByteArrayOutputStream();
    ByteArrayOutputStream errBytes = new ByteArrayOutputStream();
    try {
      System.setOut(new PrintStream(outBytes, true, StandardCharsets.UTF_8));
      System.setErr(new PrintStream(errBytes, true, StandardCharsets.UTF_8));
      int exitCode = NimbleCommand.execute(arguments);
      System.out.flush();
      System.err.flush();
      return new Outcome(
          exitCode,
          outBytes.toString(StandardCharsets.UTF_8),
          errBytes.toString(StandardCharsets.UTF_8));
    } finally {
      System.setOut(out);
      System.setErr(err);
    }
  }

  private static void assertUserError(Outcome outcome, String... parts) {
    assertThat(outcome.exitCode()).as(outcome.err()).isEqualTo(2);
    assertThat(outcome.err()).contains(parts).doesNotContain("\tat ", "Exception");
    assertThat(outcome.out()).isEmpty();
  }

  /** Small extents, so that the test is quick. */
  private static String[] small(NamedModel model) {
    switch (model) {
      case MINILM:
        return new String[] {"--dim", "sequence=6"};
      case PPOCR_DET_V3:
      case PPOCR_DET_V4:
        return new String[] {"--dim", "height=64", "--dim", "width=32"};
      case PPOCR_REC_V3:
      case PPOCR_REC_V4:
        return new String[] {"--dim", "width=32"};
      default:
        return new String[0];
    }
  }

  @ParameterizedTest
  @EnumSource(NamedModel.class)
  void runPrintsOneJsonObject(NamedModel model) {
    String[] arguments = {"run", model.modelName(), "--json", "--seconds", "1"};
    String[] dims = small(model);
    String[] all = Arrays.copyOf(arguments, arguments.length + dims.length);
    System.arraycopy(dims, 0, all, arguments.length, dims.length);
    Outcome outcome = nimble(all);
    assertThat(outcome.exitCode()).as(outcome.err()).isZero();
    JsonObject json = JsonParser.parseString(outcome.out()).getAsJsonObject();
    assertThat(json.keySet())
        .contains(
            "model",
            "device",
            "policy",
            "operators_before",
            "operators_after",
            "concurrency_degree",
            "streams",
            "syncs",
            "arena_bytes",
            "naive_bytes",
            "lower_bound_bytes",
            "eager_us",
            "single_stream_us",
            "multi_stream_us",
            "max_rel_diff_eager",
            "max_rel_diff_onnxruntime");
    assertThat(json.get("operators_after").getAsInt())
        .isPositive()
        .isLessThan(json.get("operators_before").getAsInt());
    assertThat(json.get("max_rel_diff_eager").getAsDouble()).isZero();
    assertThat(json.get("max_rel_diff_onnxruntime").getAsDouble()).isLessThanOrEqualTo(1e-4);
    assertThat(json.get("single_stream_arena_bytes").getAsDouble())
        .isLessThanOrEqualTo(1.05 * json.get("single_stream_lower_bound_bytes").getAsDouble());
    assertThat(json.get("arena_bytes").getAsLong()).isLessThan(json.get("naive_bytes").getAsLong());
  }

  @Test
  void planWritesPicturesAndATrace() throws Exception {
    Path svg = folder.resolve("a.svg");
    Path dot = folder.resolve("a.dot");
    Path arena = folder.resolve("arena.svg");
    Path trace = folder.resolve("a.json");
    Path html = folder.resolve("a.html");
    Outcome outcome =
        nimble(
            "plan",
            "ppocr-det-v4",
            "--dim",
            "height=64",
            "--dim",
            "width=64",
            "--streams",
            "3",
            "--svg",
            svg.toString(),
            "--dot",
            dot.toString(),
            "--arena",
            arena.toString(),
            "--trace",
            trace.toString(),
            "--html",
            html.toString());
    assertThat(outcome.exitCode()).as(outcome.err()).isZero();
    assertThat(outcome.out()).contains("3 streams");
    var xml = javax.xml.parsers.DocumentBuilderFactory.newInstance().newDocumentBuilder();
    assertThat(xml.parse(svg.toFile()).getElementsByTagName("rect").getLength()).isGreaterThan(100);
    assertThat(xml.parse(arena.toFile()).getElementsByTagName("rect").getLength())
        .isGreaterThan(50);
    assertThat(Files.readString(dot)).startsWith("digraph").contains("->", "fillcolor");
    JsonObject json = JsonParser.parseString(Files.readString(trace)).getAsJsonObject();
    assertThat(json.getAsJsonArray("traceEvents").size()).isGreaterThan(200);
    assertThat(Files.readString(html)).contains("<canvas id=\"timeline\"", "p2o.Concat.0");
    try (Stream<Path> written = Files.list(folder)) {
      assertThat(written).as("nothing but what was asked for").hasSize(5);
    }
  }

  @Test
  void plansAreSavedAndRun() throws Exception {
    Path plan = folder.resolve("cls.plan");
    Path model = folder.resolve("cls.onnx");
    Files.write(model, NamedModel.PPOCR_CLS.bytes());
    Path small = folder.resolve("small.plan");
    Outcome saved = nimble("plan", "ppocr-cls", "--save", plan.toString());
    assertThat(saved.exitCode()).as(saved.err()).isZero();
    assertThat(saved.err()).contains("wrote " + plan);
    nimble("plan", "ppocr-cls", "--save", small.toString(), "--weights", model.toString());
    assertThat(Files.size(small)).isLessThan(Files.size(plan));
    for (Path file : List.of(plan, small)) {
      assertThat(nimble("plan", file.toString()).out()).isEqualTo(saved.out());
      Outcome outcome = nimble("run", file.toString(), "--json", "--seconds", "1");
      assertThat(outcome.exitCode()).as(outcome.err()).isZero();
      JsonObject json = JsonParser.parseString(outcome.out()).getAsJsonObject();
      assertThat(json.get("max_rel_diff_eager").getAsDouble()).isZero();
      assertThat(json.get("max_rel_diff_onnxruntime").isJsonNull()).isTrue();
    }
    byte[] bytes = Files.readAllBytes(plan);
    bytes[200] ^= 1;
    Path damaged = folder.resolve("damaged.plan");
    Files.write(damaged, bytes);
    assertUserError(nimble("run", damaged.toString()), "damaged.plan", "checksum");
    assertUserError(nimble("run", folder.resolve("no.plan").toString()), "no.plan", "no such file");
    assertUserError(nimble("run", plan.toString(), "--dim", "x.0=2"), "cls.plan", "--dim");
    assertUserError(nimble("run", plan.toString(), "--streams", "2"), "cls.plan", "--streams");
    assertUserError(nimble("plan", "ppocr-cls", "--weights", "x"), "--save");
  }

  @Test
  void mistakesAreOneLineAndExitCodeTwo() throws Exception {
    Path text = Files.writeString(folder.resolve("text.onnx"), "this is no model");
    byte[] whole = NamedModel.PPOCR_CLS.bytes();
    Path cut = folder.resolve("cut.onnx");
    Files.write(cut, Arrays.copyOf(whole, whole.length / 2));
    Path unknown = folder.resolve("unknown.onnx");
    List<Tensor> x = List.of(Tensor.zeros(TensorType.f32(2, 3)));
    Files.write(unknown, OnnxRuntimeOracle.model("Bernoulli", Map.of(), 15, x, 1, 0).toByteArray());
    Path misfit = folder.resolve("misfit.onnx");
    List<Tensor> pair = List.of(x.get(0), Tensor.zeros(TensorType.f32(4)));
    Files.write(misfit, OnnxRuntimeOracle.model("Add", Map.of(), 14, pair, 1, 0).toByteArray());
    Path unbound = folder.resolve("unbound.onnx");
    Files.write(unbound, whole);

    assertUserError(nimble("run", text.toString()), "text.onnx");
    assertUserError(nimble("run", cut.toString()), "cut.onnx");
    assertUserError(nimble("run", unknown.toString()), "unknown.onnx", "the_node", "Bernoulli");
    assertUserError(
        nimble("run", misfit.toString()), "misfit.onnx", "the_node", "Add", "f32[2,3]", "f32[4]");
    assertUserError(nimble("run", unbound.toString()), "unbound.onnx", "not bound", "x.0");
    assertUserError(nimble("run", folder.resolve("none.onnx").toString()), "none.onnx");
    assertUserError(nimble("run", folder.toString() + ".onnx"), "no such file");
    assertUserError(nimble("run", "nosuchmodel"), "minilm");
    assertUserError(nimble("run", "ppocr-cls", "--dim", "depth=3"), "depth");
    assertUserError(nimble("run", "ppocr-cls", "--policy", "best"), "single-stream");
    assertUserError(nimble("run", "ppocr-cls", "--device", "abacus"), "cpu");
    assertUserError(nimble("run", "ppocr-cls", "--streams", "-2"), "stream");
    assertUserError(nimble("bench", "everything"), "overhead");
    assertThat(nimble("run").exitCode()).isEqualTo(2);
    assertThat(nimble("fly").exitCode()).isEqualTo(2);
    assertThat(nimble().exitCode()).isEqualTo(2);
  }

  @Test
  void doctorSaysWhatIsHereAndWhatAutoTakes() {
    Outcome outcome = nimble("doctor");
    assertThat(outcome.exitCode()).as(outcome.err()).isZero();
    assertThat(outcome.out())
        .contains("machine: ", "libcuda.so.1", "libnvrtc.so.12", "libcublas.so.12", "libcudnn.so.9")
        .contains("device cpu: ", "device cuda: ", "auto takes: ");
  }
}
