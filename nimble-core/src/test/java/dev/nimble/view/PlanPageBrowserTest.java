package dev.nimble.view;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.nimble.Engine;
import dev.nimble.EngineOptions;
import dev.nimble.Nimble;
import dev.nimble.device.Device;
import dev.nimble.device.cpu.CpuDeviceProvider;
import dev.nimble.graph.Graph;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.Binary;
import dev.nimble.op.BinaryFunction;
import dev.nimble.op.Unary;
import dev.nimble.op.UnaryFunction;
import dev.nimble.transform.Transforms;
import java.awt.image.BufferedImage;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Opens the page in a headless Chromium; skipped where none is on the path. */
class PlanPageBrowserTest {
  private static final int WIDTH = 1400;
  private static final int HEIGHT = 900;

  @TempDir private Path folder = Path.of(".");

  private static Optional<Path> chromium() {
    return Arrays.stream(System.getenv().getOrDefault("PATH", "").split(File.pathSeparator))
        .flatMap(p -> List.of(Path.of(p, "chromium"), Path.of(p, "google-chrome")).stream())
        .filter(Files::isExecutable)
        .findFirst();
  }

  /** Four branches, whose names are markup that would run or hide what follows. */
  private static Graph branches() {
    GraphBuilder g = new GraphBuilder("</script><script>throw 1</script>");
    Value x = g.input("<!--<script>", TensorType.f32(256, 64));
    Value sum = x;
    for (int i = 0; i < 4; i++) {
      String name = "<img src=x onerror=console.error(" + i + ")>\u202e\ud83d";
      Value branch = g.add(name, Unary.of(UnaryFunction.TANH), List.of(x)).output();
      branch = g.apply(Unary.of(UnaryFunction.SIN), branch);
      sum = g.apply(new Binary(BinaryFunction.ADD), sum, branch);
    }
    return g.output("y", sum).build();
  }

  /** What Chromium says when it shows a page: the document after its script, or its console. */
  private String chromium(Path page, String fragment, String... more) throws Exception {
    assumeTrue(chromium().isPresent(), "no chromium on the path");
    List<String> command =
        new ArrayList<>(
            List.of(
                chromium().orElseThrow().toString(),
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--force-device-scale-factor=1",
                "--window-size=" + WIDTH + "," + HEIGHT,
                "--user-data-dir=" + folder.resolve("profile"),
                "--virtual-time-budget=2000",
                "--enable-logging=stderr"));
    command.addAll(List.of(more));
    command.add(page.toUri() + fragment);
    Path said = folder.resolve("out.txt");
    Process process =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(said.toFile()).start();
    try {
      assertThat(process.waitFor(60, TimeUnit.SECONDS)).as("it ended").isTrue();
    } finally {
      process.destroyForcibly();
    }
    String text = Files.readString(said);
    assertThat(text).as("the console is empty").doesNotContain("CONSOLE");
    return text;
  }

  @Test
  void thePageShowsItselfWithoutAnError() throws Exception {
    Path page = folder.resolve("plan.html");
    int nodes;
    List<String> colours = new ArrayList<>();
    try (Device device = new CpuDeviceProvider(2).open(0);
        Engine engine =
            Nimble.prepare(
                branches(), device, EngineOptions.defaults().withTransforms(Transforms.none()))) {
      engine.replay();
      Files.writeString(page, Views.planHtml(engine.plan(), engine.replayTimed(), 0));
      nodes = engine.plan().graph().nodes().size();
      for (int stream = 0; stream < engine.plan().streams(); stream++) {
        colours.add(Palette.ofStream(stream));
      }
    }
    String document = chromium(page, "#node=1", "--dump-dom");
    assertThat(document)
        .contains("data-ready=\"" + nodes + "\"", "data-errors=\"0\"")
        .contains("<aside id=\"details\">") // no longer hidden, since the address selects a node
        .contains("&lt;/script&gt;&lt;script&gt;throw 1&lt;/script&gt;</h1>")
        .contains("\\u{202e}\\u{d83d}")
        .contains("predecessors");
    Path picture = folder.resolve("plan.png");
    chromium(page, "", "--screenshot=" + picture);
    BufferedImage image = ImageIO.read(picture.toFile());
    assertThat(colours).hasSize(4);
    int bottom = HEIGHT * 58 / 100; // of the timeline, which is above the arena
    int dag = 0;
    int timeline = 0;
    int arena = 0;
    for (String colour : colours) {
      dag += pixels(image, colour, 0, WIDTH * 4 / 10, 60, HEIGHT);
      timeline += pixels(image, colour, WIDTH / 2, WIDTH, HEIGHT / 3, bottom);
      arena += pixels(image, colour, WIDTH / 2, WIDTH, HEIGHT * 65 / 100, HEIGHT);
    }
    assertThat(dag).isGreaterThan(5_000);
    assertThat(timeline).isGreaterThan(500);
    assertThat(arena).isGreaterThan(500);
  }

  private static int pixels(
      BufferedImage image, String colour, int left, int right, int top, int bottom) {
    int wanted = Integer.parseInt(colour.substring(1), 16);
    int count = 0;
    for (int y = top; y < Math.min(bottom, image.getHeight()); y++) {
      for (int x = left; x < right; x++) {
        count += (image.getRGB(x, y) & 0xffffff) == wanted ? 1 : 0;
      }
    }
    return count;
  }
}
