package dev.nimble.view;

import com.google.gson.stream.JsonWriter;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.plan.Timeline;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Base64;

/**
 * Puts {@link PlanData} into the page. The template, its style and its script are resources of this
 * package; the data stands in the page as JSON that is nothing but ASCII without {@code < > & ' =},
 * so it cannot end its element, whatever a model's names are. The script writes text only as text.
 */
final class PlanPage {
  private PlanPage() {}

  static String write(ExecutionPlan plan, Timeline timeline, long replayNanos) {
    String style = resource("plan.css");
    String script = resource("plan.js");
    String template =
        resource("plan.html")
            .replace("{{STYLE-HASH}}", sha256(style))
            .replace("{{SCRIPT-HASH}}", sha256(script))
            .replace("{{STYLE}}", style)
            .replace("{{SCRIPT}}", script);
    String place = "{{DATA}}";
    int at = template.indexOf(place);
    StringBuilder page = new StringBuilder(template.length() + (1 << 16));
    page.append(template, 0, at);
    try (JsonWriter json = new JsonWriter(ascii(page))) {
      json.setHtmlSafe(true);
      new PlanData(plan, timeline, replayNanos).write(json);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return page.append(template, at + place.length(), template.length()).toString();
  }

  /** Escapes what is not ASCII, which in JSON stands only within strings. */
  private static java.io.Writer ascii(StringBuilder out) {
    return new java.io.Writer() {
      @Override
      public void write(char[] chars, int offset, int length) {
        for (int i = offset; i < offset + length; i++) {
          if (chars[i] < 0x7f) {
            out.append(chars[i]);
          } else {
            out.append(String.format("\\u%04x", (int) chars[i]));
          }
        }
      }

      @Override
      public void flush() {}

      @Override
      public void close() {}
    };
  }

  private static String resource(String name) {
    try (InputStream stream = PlanPage.class.getResourceAsStream(name)) {
      if (stream == null) {
        throw new IllegalStateException("resource " + name + " is missing from nimble-core");
      }
      return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String sha256(String text) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      return Base64.getEncoder()
          .encodeToString(digest.digest(text.getBytes(StandardCharsets.UTF_8)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }
}
