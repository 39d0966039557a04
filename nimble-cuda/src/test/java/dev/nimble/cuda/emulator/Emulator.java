package dev.nimble.cuda.emulator;

import com.google.common.hash.Hashing;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import jcuda.driver.CUgraph;
import jcuda.driver.CUresult;
import org.jspecify.annotations.Nullable;

/**
 * The emulated CUDA of this process. {@link #install} before any class of JCuda is touched; then
 * JCuda's own natives bind to it. It shows what a program does, never how fast a GPU would do it.
 */
public final class Emulator {
  private static final List<String> SOURCES =
      List.of(
          "emulator.h",
          "device.h",
          "cuda_fp16.h",
          "cuda_bf16.h",
          "driver.h",
          "driver.cpp",
          "context.cpp",
          "memory.cpp",
          "module.cpp",
          "stream.cpp",
          "graph.cpp",
          "compile.cpp",
          "nvrtc.cpp",
          "control.cpp",
          "library.h",
          "library.cpp",
          "cublas.cpp",
          "cudnn.h",
          "cudnn.cpp",
          "cudnn_convolution.cpp",
          "cudnn_tensor.cpp");

  private static final List<String> COMPILER =
      List.of("g++", "-std=c++17", "-O2", "-march=native", "-fPIC", "-pthread", "-Wall");

  /** JCuda's natives, each with the emulated library that it binds to. */
  private static final Map<String, String> NATIVES =
      Map.of(
          "libJCudaDriver-12.6.0-linux-x86_64.so", "libcuda.so.1",
          "libJNvrtc-12.6.0-linux-x86_64.so", "libnvrtc.so.12",
          "libJCublas-12.6.0-linux-x86_64.so", "libcublas.so.12",
          "libJCublas2-12.6.0-linux-x86_64.so", "libcublas.so.12",
          "libJCudnn-12.6.0-linux-x86_64.so", "libcudnn.so.9");

  private static @Nullable Path folder;

  private Emulator() {}

  private static native String send(String line);

  private static native void compileIn(String path);

  /** Whether {@code libcuda.so.1} can be emulated here; if not, why. Empty if it can. */
  public static String obstacle() {
    String os = System.getProperty("os.name", "");
    String arch = System.getProperty("os.arch", "");
    if (!os.equals("Linux") || !(arch.equals("amd64") || arch.equals("x86_64"))) {
      return "the CUDA emulator runs on Linux on x86-64, not on " + os + " on " + arch;
    }
    try {
      Process process = new ProcessBuilder("g++", "--version").redirectErrorStream(true).start();
      process.getInputStream().readAllBytes();
      return process.waitFor() == 0 ? "" : "g++ does not work";
    } catch (IOException e) {
      return "the CUDA emulator needs g++, which is not on the path";
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return "interrupted";
    }
  }

  /** Builds the libraries, if their sources are new, and loads them. Once a process. */
  public static synchronized void install() {
    if (folder != null) {
      return;
    }
    try {
      Path built = build();
      for (String library : libraries(built)) {
        System.load(built.resolve(library).toString());
      }
      System.load(built.resolve("libcontrol.so").toString());
      folder = built;
      compileIn(built.toString());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The file of an emulated library, for other processes. */
  public static Path library(String name) {
    return folder().resolve(name);
  }

  /** Where the libraries were built. */
  static synchronized Path folder() {
    install();
    return Objects.requireNonNull(folder);
  }

  private static List<String> libraries(Path built) {
    List<String> all =
        List.of("libcuda.so.1", "libnvrtc.so.12", "libcublas.so.12", "libcudnn.so.9");
    return all.stream().filter(name -> Files.exists(built.resolve(name))).toList();
  }

  private static Path build() throws IOException {
    Map<String, byte[]> sources = new LinkedHashMap<>();
    for (String name : SOURCES) {
      try (InputStream stream = Emulator.class.getResourceAsStream("/emulator/" + name)) {
        if (stream == null) {
          throw new IOException("emulator/" + name + " is not on the class path");
        }
        sources.put(name, stream.readAllBytes());
      }
    }
    StringBuilder all = new StringBuilder(run(Path.of("."), "g++", "-dumpfullversion"));
    all.append(COMPILER).append(NATIVES.keySet().stream().sorted().toList());
    // What -march=native stands for here, since a folder may travel to another machine.
    all.append(run(Path.of("."), "g++", "-march=native", "-dM", "-E", "-x", "c++", "/dev/null"));
    sources.forEach((name, text) -> all.append(name).append(Hashing.sha256().hashBytes(text)));
    String id = Hashing.sha256().hashString(all, StandardCharsets.UTF_8).toString();
    Path root = Path.of(System.getProperty("nimble.emulator", "target/emulator"));
    Path ready = root.resolve(id.substring(0, 16)).toAbsolutePath();
    if (Files.exists(ready.resolve("complete"))) {
      return ready;
    }
    Files.createDirectories(root);
    Path work = Files.createTempDirectory(root, "build").toAbsolutePath();
    for (Map.Entry<String, byte[]> source : sources.entrySet()) {
      Files.write(work.resolve(source.getKey()), source.getValue());
    }
    sources.keySet().parallelStream()
        .filter(name -> name.endsWith(".cpp") && !name.equals("control.cpp"))
        .forEach(name -> compile(work, name));
    library(
        work,
        "libcuda.so.1",
        "cu",
        false,
        "driver.cpp",
        "context.cpp",
        "memory.cpp",
        "module.cpp",
        "stream.cpp",
        "graph.cpp",
        "compile.cpp");
    library(work, "libnvrtc.so.12", "nvrtc", true, "nvrtc.cpp");
    library(work, "libcublas.so.12", "cublas", true, "cublas.cpp", "library.cpp");
    library(
        work,
        "libcudnn.so.9",
        "cudnn",
        true,
        "cudnn.cpp",
        "cudnn_convolution.cpp",
        "cudnn_tensor.cpp",
        "library.cpp");
    Path java = Path.of(System.getProperty("java.home"), "include");
    run(
        work,
        "g++",
        "-std=c++17",
        "-shared",
        "-fPIC",
        "-I" + java,
        "-I" + java.resolve("linux"),
        "control.cpp",
        "-o",
        "libcontrol.so",
        "-L.",
        "-l:libcuda.so.1");
    run(
        work,
        "g++",
        "-std=c++17",
        "-O2",
        "-w",
        "-fPIC",
        "-pthread",
        "-ffp-contract=off",
        "-fvisibility=hidden",
        "-x",
        "c++-header",
        "device.h",
        "-o",
        "device.h.gch");
    Files.createFile(work.resolve("complete"));
    try {
      Files.move(work, ready, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      if (!Files.exists(ready.resolve("complete"))) { // else another process was first
        throw e;
      }
    }
    return ready;
  }

  private static void compile(Path work, String source) {
    try {
      List<String> command = new ArrayList<>(COMPILER);
      command.addAll(List.of("-c", source, "-o", source.replace(".cpp", ".o")));
      run(work, command.toArray(String[]::new));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Links one library, then again with a stub for every function that JCuda's natives import from
   * it and it lacks: a stub records that it was called.
   */
  private static void library(
      Path work, String name, String prefix, boolean versioned, String... sources)
      throws IOException {
    List<String> command = new ArrayList<>(List.of("g++", "-shared", "-fPIC", "-pthread"));
    for (String source : sources) {
      command.add(source.replace(".cpp", ".o"));
    }
    command.addAll(List.of("-o", name, "-Wl,-soname," + name));
    if (versioned) {
      Files.writeString(
          work.resolve(name + ".map"), name + " { global: " + prefix + "*; local: *; };\n");
      command.add("-Wl,--version-script=" + name + ".map");
      command.addAll(List.of("-L.", "-l:libcuda.so.1"));
    }
    run(work, command.toArray(String[]::new));
    Set<String> missing = imported(work, name, prefix);
    missing.removeAll(symbols(run(work, "nm", "-D", "--defined-only", name)));
    StringBuilder stubs = new StringBuilder("int emu_unknown(const char* function, int status);\n");
    int notSupported = name.equals("libcuda.so.1") ? 801 : name.equals("libcudnn.so.9") ? 3000 : 15;
    for (String function : missing) {
      stubs
          .append("extern \"C\" __attribute__((visibility(\"default\"))) int ")
          .append(function)
          .append("() { return emu_unknown(\"")
          .append(function)
          .append("\", ")
          .append(notSupported)
          .append("); }\n");
    }
    Files.writeString(work.resolve(name + ".stubs.cpp"), stubs);
    command.add(name + ".stubs.cpp");
    run(work, command.toArray(String[]::new));
  }

  private static Set<String> imported(Path work, String library, String prefix) throws IOException {
    Set<String> imported = new LinkedHashSet<>();
    for (Map.Entry<String, String> entry : NATIVES.entrySet()) {
      if (entry.getValue().equals(library)) {
        try (InputStream stream = Emulator.class.getResourceAsStream("/lib/" + entry.getKey())) {
          if (stream == null) {
            throw new IOException(entry.getKey() + " is not on the class path");
          }
          Path extracted = work.resolve(entry.getKey());
          Files.copy(stream, extracted, StandardCopyOption.REPLACE_EXISTING);
          for (String symbol : symbols(run(work, "nm", "-D", "-u", entry.getKey()))) {
            if (symbol.startsWith(prefix)) {
              imported.add(symbol);
            }
          }
          Files.delete(extracted);
        }
      }
    }
    return imported;
  }

  private static Set<String> symbols(String listing) {
    return listing
        .lines()
        .map(line -> line.trim().replaceAll(".*\\s", "").replaceAll("@.*", ""))
        .collect(Collectors.toCollection(LinkedHashSet::new));
  }

  private static String run(Path folder, String... command) throws IOException {
    Process process =
        new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    try {
      if (process.waitFor() != 0) {
        throw new IOException(String.join(" ", command) + " failed:\n" + output);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    }
    return output;
  }

  // What tests ask for.

  /** No faults, no delays, no counts; handles and memory stay. */
  public static void reset() {
    send("reset");
  }

  /**
   * Draws the order of unordered work from {@code seed}, with pauses of up to {@code micros}
   * microseconds before each piece. By an even seed, what is ready runs at once or next, at random;
   * by an odd one, chains of work have random ranks, and one runs only while no chain of a better
   * rank can, which finds waits that chance would hardly ever miss.
   */
  public static void delays(long seed, int micros) {
    send("seed " + (seed & Long.MAX_VALUE) + " " + micros);
  }

  /** Whether enqueued work does nothing: for counting calls. */
  public static void emptyKernels(boolean empty) {
    send("empty " + (empty ? 1 : 0));
  }

  /**
   * Whether the arguments of a launch must lie in one buffer as the kernel's parameters would: then
   * a size that is not the parameter's is noticed.
   */
  public static void packedArguments(boolean packed) {
    send("packed " + (packed ? 1 : 0));
  }

  /** How many GPUs there are. */
  public static void devices(int count) {
    send("devices " + count);
  }

  /** The {@code nth} call from now of {@code function} returns {@code status} and does nothing. */
  public static void fail(String function, int nth, int status) {
    send("fault " + function + " " + nth + " " + status);
  }

  /** The {@code nth} allocation from now, of device or pinned memory, fails. */
  public static void failAllocation(int nth) {
    send("oom " + nth);
  }

  /**
   * The {@code nth} kernel run from now, of a module or of a library, fails as {@code
   * CUDA_ERROR_LAUNCH_FAILED}, which poisons the context.
   */
  public static void failKernel(int nth) {
    send("kernelfault " + nth + " " + CUresult.CUDA_ERROR_LAUNCH_FAILED);
  }

  /**
   * The {@code nth} kernel run from now is taken to touch memory outside every allocation: {@code
   * CUDA_ERROR_ILLEGAL_ADDRESS}, which poisons the context.
   */
  public static void failAccess(int nth) {
    send("kernelfault " + nth + " " + CUresult.CUDA_ERROR_ILLEGAL_ADDRESS);
  }

  /** Makes poisoned contexts sound again with all they hold, as no real driver does. */
  public static void forgive() {
    send("forgive");
  }

  /** How much memory the GPU has. */
  public static void memory(long bytes) {
    send("memory " + bytes);
  }

  /** Calls by function since {@link #reset} or {@link #forgetCalls}. */
  public static Map<String, Long> calls() {
    return parse(send("calls"));
  }

  /** The same, of the calling thread only. */
  public static Map<String, Long> callsOfThisThread() {
    return parse(send("threadcalls"));
  }

  /** Bytes that copies have moved between host and GPUs since {@link #forgetCalls}. */
  public static long hostBytes() {
    return Long.parseLong(send("hostbytes"));
  }

  /** Kernels that were launched or captured since {@link #reset}. */
  public static long launches() {
    return Long.parseLong(send("launches"));
  }

  /** What went wrong on the device since {@link #reset}, one sentence each. */
  public static List<String> reasons() {
    return send("reasons").lines().toList();
  }

  /**
   * The nodes of a graph in the order of their making, one a line: index, kind, name, and the
   * indices of the nodes that it depends on.
   */
  public static List<String> nodes(CUgraph graph) {
    String handle = graph.toString().replaceAll(".*0x([0-9a-fA-F]+).*", "$1");
    String text = send("graph " + handle);
    if (text.equals("?")) {
      throw new IllegalArgumentException("no live graph: " + graph);
    }
    return text.lines().toList();
  }

  /** Starts counting calls anew. */
  public static void forgetCalls() {
    send("forget");
  }

  /** What is open: handles and allocations by kind; empty when nothing leaks. */
  public static Map<String, Long> open() {
    return parse(send("leaks"));
  }

  /** Counts what is open now as not open, for tests that make calls fail which free it. */
  public static void disown() {
    send("disown");
  }

  /** Functions that were called and are not emulated. */
  public static List<String> unknownCalls() {
    return send("unknown").lines().toList();
  }

  private static Map<String, Long> parse(String text) {
    Map<String, Long> map = new TreeMap<>();
    text.lines()
        .forEach(
            line -> {
              int at = line.indexOf('=');
              map.put(line.substring(0, at), Long.parseLong(line.substring(at + 1)));
            });
    return map;
  }
}
