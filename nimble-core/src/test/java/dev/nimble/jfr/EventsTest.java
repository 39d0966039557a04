package dev.nimble.jfr;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import dev.nimble.Engine;
import dev.nimble.EngineOptions;
import dev.nimble.Nimble;
import dev.nimble.capture.Capture;
import dev.nimble.device.Device;
import dev.nimble.device.cpu.CpuDeviceProvider;
import dev.nimble.graph.Graph;
import dev.nimble.graph.TensorType;
import dev.nimble.onnx.OnnxModel;
import dev.nimble.testkit.RealModels;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class EventsTest {
  @TempDir private Path folder = Path.of(".");

  private static Graph chain() {
    return Capture.of("chain", (ops, inputs) -> List.of(ops.relu(ops.relu(inputs.get(0)))))
        .input("x", TensorType.f32(4))
        .graph();
  }

  private List<RecordedEvent> recorded(Runnable work) throws IOException {
    Path file = folder.resolve("a.jfr");
    try (Recording recording =
        new Recording()) { // with no settings: our events are on of themselves
      recording.start();
      work.run();
      recording.stop();
      recording.dump(file);
    }
    return RecordingFile.readAllEvents(file).stream()
        .filter(e -> e.getEventType().getName().startsWith("dev.nimble."))
        .toList();
  }

  private static List<RecordedEvent> named(String name, List<RecordedEvent> events) {
    return events.stream().filter(e -> e.getEventType().getName().equals(name)).toList();
  }

  @Test
  void aLoadedPlanSaysItsFile() throws Exception {
    Path file = folder.resolve("chain.plan");
    try (Device device = new CpuDeviceProvider(1).open(0);
        Engine engine = Nimble.prepare(chain(), device, EngineOptions.defaults())) {
      engine.save(file);
      List<RecordedEvent> events = recorded(() -> Nimble.load(file, device).close());
      RecordedEvent loaded = named("dev.nimble.Prepare", events).get(0);
      assertThat(loaded.getString("planFile")).isEqualTo(file.toString());
      assertThat(loaded.getString("graph")).isEqualTo("chain");
      assertThat(loaded.getInt("nodes")).isEqualTo(engine.plan().graph().nodes().size());
      assertThat(named("dev.nimble.Stage", events)).isEmpty();
    }
  }

  @Test
  void captureStagesPrepareAndEveryReplayAreEvents() throws Exception {
    List<RecordedEvent> events =
        recorded(
            () -> {
              try (Device device = new CpuDeviceProvider(1).open(0);
                  Engine engine = Nimble.prepare(chain(), device, EngineOptions.defaults())) {
                engine.replay();
                engine.replay();
                engine.run(Map.of("x", engine.input("x")));
              }
            });
    RecordedEvent capture = named("dev.nimble.Capture", events).get(0);
    assertThat(capture.getString("source")).isEqualTo("java");
    assertThat(capture.getString("graph")).isEqualTo("chain");
    assertThat(capture.getInt("nodes")).isEqualTo(2);
    RecordedEvent prepare = named("dev.nimble.Prepare", events).get(0);
    assertThat(prepare.getString("graph")).isEqualTo("chain");
    assertThat(prepare.getString("planFile")).isEmpty();
    assertThat(prepare.getString("device")).startsWith("cpu");
    assertThat(prepare.getInt("streams")).isEqualTo(1);
    assertThat(prepare.getInt("nodes")).isPositive();
    List<RecordedEvent> stages = named("dev.nimble.Stage", events);
    assertThat(stages)
        .extracting(e -> e.getString("stage"))
        .containsExactly("transform", "select", "schedule", "memory", "verify", "record");
    assertThat(
            stages.stream().map(RecordedEvent::getDuration).reduce(Duration.ZERO, Duration::plus))
        .as("the stages lie within the whole")
        .isPositive()
        .isLessThanOrEqualTo(prepare.getDuration());
    List<RecordedEvent> replays = named("dev.nimble.Replay", events);
    assertThat(replays).hasSize(3);
    for (int i = 0; i < 3; i++) {
      assertThat(replays.get(i).getString("graph")).isEqualTo("chain");
      assertThat(replays.get(i).getDuration()).isPositive();
      if (i > 0) { // one object serves them all, but each has its own times
        assertThat(replays.get(i).getStartTime()).isAfterOrEqualTo(replays.get(i - 1).getEndTime());
      }
    }
  }

  @Test
  void anImportNamesItsFile() throws Exception {
    RealModels cls = RealModels.PPOCR_CLS;
    OnnxModel model = OnnxModel.parse(cls.bytes(), "cls.onnx");
    List<RecordedEvent> events = recorded(() -> model.graph(cls.dimensions(0)));
    assertThat(events).hasSize(1);
    assertThat(events.get(0).getString("source")).isEqualTo("cls.onnx");
    assertThat(events.get(0).getInt("nodes")).isGreaterThan(200);
  }

  @Test
  void aReplayAllocatesNothingEvenWhileItIsRecorded() throws Exception {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    try (Device device = new CpuDeviceProvider(1).open(0);
        Engine engine = Nimble.prepare(chain(), device, EngineOptions.defaults())) {
      List<RecordedEvent> events =
          recorded(
              () -> {
                replay(engine, 3000);
                long none = least(threads, engine, 0);
                assertThat(least(threads, engine, 200)).isLessThanOrEqualTo(none);
              });
      assertThat(events).as("all of them were recorded").hasSizeGreaterThanOrEqualTo(3200);
    }
  }

  private static long least(ThreadMXBean threads, Engine engine, int replays) {
    long least = Long.MAX_VALUE;
    for (int attempt = 0; attempt < 8; attempt++) {
      long before = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
      replay(engine, replays);
      long after = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
      least = Math.min(least, after - before);
    }
    return least;
  }

  private static void replay(Engine engine, int times) {
    for (int i = 0; i < times; i++) {
      engine.replay();
    }
  }
}
