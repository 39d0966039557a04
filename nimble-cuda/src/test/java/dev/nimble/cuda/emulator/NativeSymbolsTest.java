package dev.nimble.cuda.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whatever JCuda's natives import, the emulated libraries have, under the right version. */
@Tag("emulator")
class NativeSymbolsTest {
  @TempDir private Path folder;

  @ParameterizedTest
  @ValueSource(strings = {"JCudaDriver", "JNvrtc", "JCublas", "JCublas2", "JCudnn"})
  void everyImportResolves(String name) throws IOException, InterruptedException {
    assumeTrue(Emulator.obstacle().isEmpty(), Emulator::obstacle);
    String file = "lib" + name + "-12.6.0-linux-x86_64.so";
    Path library = folder.resolve(file);
    try (InputStream stream = NativeSymbolsTest.class.getResourceAsStream("/lib/" + file)) {
      Files.copy(stream, library);
    }
    // The dynamic linker itself, made to resolve every function at once.
    ProcessBuilder linker = new ProcessBuilder("ldd", "-r", library.toString());
    linker.environment().put("LD_LIBRARY_PATH", Emulator.folder().toString());
    Process process = linker.redirectErrorStream(true).start();
    String report = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(report).isZero();
    assertThat(report)
        .contains(Emulator.folder().toString())
        .doesNotContain("undefined symbol", "not found");
  }
}
