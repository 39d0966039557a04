package dev.nimble.view;

import com.google.gson.stream.JsonWriter;
import dev.nimble.plan.Timeline;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;

/** Writes a timeline in the Trace Event Format. */
final class TraceJson {
  private static final int STREAMS = 1;
  private static final int WORKERS = 2;

  private TraceJson() {}

  static String write(Timeline timeline) {
    StringWriter text = new StringWriter();
    try (JsonWriter json = new JsonWriter(text)) {
      json.beginObject().name("displayTimeUnit").value("ns").name("traceEvents").beginArray();
      processName(json, STREAMS, "streams of the plan");
      processName(json, WORKERS, "workers that ran them");
      for (Timeline.Span span : timeline.spans()) {
        event(json, span, STREAMS, span.stream());
        event(json, span, WORKERS, span.worker());
      }
      json.endArray().endObject();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return text.toString();
  }

  private static void processName(JsonWriter json, int process, String name) throws IOException {
    json.beginObject();
    json.name("ph").value("M").name("name").value("process_name").name("pid").value(process);
    json.name("args").beginObject().name("name").value(name).endObject();
    json.endObject();
  }

  private static void event(JsonWriter json, Timeline.Span span, int process, int thread)
      throws IOException {
    json.beginObject();
    json.name("ph").value("X").name("cat").value("launch");
    json.name("name").value(span.node().operator().name());
    json.name("pid").value(process).name("tid").value(thread);
    json.name("ts").value(span.startNanos() / 1e3);
    json.name("dur").value((span.endNanos() - span.startNanos()) / 1e3);
    json.name("args").beginObject();
    json.name("node").value(span.node().name());
    json.name("outputs").value(span.node().outputs().toString());
    json.endObject().endObject();
  }
}
