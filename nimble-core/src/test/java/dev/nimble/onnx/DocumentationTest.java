package dev.nimble.onnx;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** docs/onnx.md says what the importer does. */
class DocumentationTest {
  private static String document() throws IOException {
    Path folder = Path.of("").toAbsolutePath();
    while (!Files.exists(folder.resolve("docs/onnx.md"))) {
      folder = folder.getParent();
      assertThat(folder)
          .as("a folder above the working directory that has docs/onnx.md")
          .isNotNull();
    }
    return Files.readString(folder.resolve("docs/onnx.md"));
  }

  @Test
  void listsTheSupportedOperators() throws IOException {
    String text = document();
    String start = "<!-- operators -->";
    String list =
        text.substring(text.indexOf(start) + start.length(), text.indexOf("<!-- end -->"));
    assertThat(List.of(list.strip().split("\\s+")))
        .containsExactlyElementsOf(OnnxModel.supportedOperators());
  }

  @Test
  void namesTheSupportedOpsets() throws IOException {
    assertThat(document())
        .contains("Opsets " + OperatorTable.FIRST_OPSET + " to " + OperatorTable.LAST_OPSET + ".");
  }
}
