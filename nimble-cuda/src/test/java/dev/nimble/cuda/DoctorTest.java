package dev.nimble.cuda;

import static org.assertj.core.api.Assertions.assertThat;

import dev.nimble.cuda.emulator.Emulator;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Processes that find some of CUDA's libraries, of some version, or none. */
@Tag("emulator")
class DoctorTest {
  @TempDir private Path folder;

  /** What each process runs. */
  static final class Patient {
    private Patient() {}

    public static void main(String[] arguments) {
      Doctor.examine().forEach(System.out::println);
    }
  }

  @BeforeAll
  static void install() {
    Assumptions.assumeTrue(Emulator.obstacle().isEmpty(), Emulator::obstacle);
    Assumptions.assumeFalse(
        Files.exists(Path.of("/usr/lib/x86_64-linux-gnu/libcuda.so.1")), "there is a real driver");
  }

  /** The report of a process that finds these emulated libraries and these files in its path. */
  private List<String> examine(List<String> libraries, List<String> files) throws Exception {
    for (String library : libraries) {
      Files.copy(Emulator.library(library), folder.resolve(library));
    }
    for (String file : files) {
      Files.createFile(folder.resolve(file));
    }
    ProcessBuilder builder =
        new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-cp",
            System.getProperty("java.class.path"),
            Patient.class.getName());
    builder.environment().put("LD_LIBRARY_PATH", folder.toString());
    Process process = builder.redirectError(ProcessBuilder.Redirect.DISCARD).start();
    String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(text).isZero();
    assertThat(text).doesNotContain("\tat ");
    return text.lines().collect(Collectors.toList());
  }

  private static String line(List<String> lines, String part) {
    return lines.stream()
        .filter(line -> line.contains(part))
        .findFirst()
        .orElseThrow(() -> new AssertionError(part + " is not in " + lines));
  }

  @Test
  void aMachineWithoutADriverIsToldToInstallOne() throws Exception {
    List<String> lines = examine(List.of(), List.of());
    assertThat(line(lines, "libcuda.so.1"))
        .startsWith("MISSING CUDA driver")
        .contains("is not on this machine", "install NVIDIA's driver");
    assertThat(line(lines, "device cuda")).contains("not available");
    assertThat(line(lines, "auto takes")).isEqualTo("auto takes: cpu");
  }

  @Test
  void librariesOfCuda13AloneAreNamedAndRefused() throws Exception {
    List<String> lines =
        examine(
            List.of("libcuda.so.1"),
            List.of("libnvrtc.so.13", "libcublas.so.13", "libcublasLt.so.13"));
    assertThat(line(lines, "libcuda.so.1")).startsWith("CUDA driver: loaded");
    assertThat(line(lines, "libnvrtc.so.12"))
        .startsWith("MISSING NVRTC")
        .contains("libnvrtc.so.13", "install CUDA 12's libraries", "LD_LIBRARY_PATH");
    assertThat(line(lines, "libcublas.so.12"))
        .startsWith("absent cuBLAS")
        .contains("libcublas.so.13", "kernels of our own stand in");
    assertThat(line(lines, "auto takes")).isEqualTo("auto takes: cpu");
  }

  @Test
  void withoutCuBlasAndCuDnnTheDeviceIsThere() throws Exception {
    List<String> lines = examine(List.of("libcuda.so.1", "libnvrtc.so.12"), List.of());
    assertThat(line(lines, "libcudnn.so.9")).startsWith("absent cuDNN").contains("cuDNN 9");
    assertThat(line(lines, "GPU cuda:0")).contains("compute capability", "MiB free");
    assertThat(line(lines, "device cuda")).contains("1 GPU");
    assertThat(line(lines, "auto takes")).isEqualTo("auto takes: cuda");
  }

  @Test
  void aDamagedLibraryIsNoCrash() throws Exception {
    List<String> lines = examine(List.of("libcuda.so.1"), List.of("libnvrtc.so.12"));
    assertThat(line(lines, "libnvrtc.so.12"))
        .startsWith("MISSING NVRTC")
        .contains("file too short");
  }

  @Test
  void everyLibraryIsLoadedWhereAllAreThere() throws Exception {
    List<String> lines =
        examine(
            List.of("libcuda.so.1", "libnvrtc.so.12", "libcublas.so.12", "libcudnn.so.9"),
            List.of());
    assertThat(lines).noneMatch(line -> line.startsWith("MISSING") || line.startsWith("absent"));
    assertThat(line(lines, "cuDNN")).contains("version 9");
  }
}
