package dev.nimble.cuda.op;

import static org.assertj.core.api.Assertions.assertThat;

import dev.nimble.cuda.driver.CudaContext;
import dev.nimble.cuda.emulator.OnEmulator;
import dev.nimble.cuda.kernel.DiskCache;
import dev.nimble.cuda.kernel.KernelSource;
import dev.nimble.cuda.kernel.Kernels;
import dev.nimble.cuda.library.Libraries;
import dev.nimble.error.NimbleException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Graph;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Operator;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.Binary;
import dev.nimble.op.BinaryFunction;
import dev.nimble.op.Cast;
import dev.nimble.op.Unary;
import dev.nimble.op.UnaryFunction;
import dev.nimble.testkit.RealModels;
import dev.nimble.transform.Transforms;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import jcuda.nvptxcompiler.JNvPTXCompiler;
import jcuda.nvptxcompiler.nvPTXCompilerHandle;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * All CUDA C through NVIDIA's own compiler, for the oldest and the newest GPUs that it knows, and
 * the PTX that comes out through NVIDIA's own assembler. Needs nvcc, but no GPU.
 */
@OnEmulator
class NvidiaToolsTest {
  private static final String ASSEMBLED_FOR = "sm_90";

  @TempDir private Path folder;

  @Test
  void nvccTakesAllCudaCAndTheAssemblerItsPtx() throws Exception {
    Assumptions.assumeTrue(nvccWorks(), "nvcc is not on the path");
    List<String> known = run("nvcc", "--list-gpu-arch").lines().map(String::trim).toList();
    Map<String, String> sources = sources();
    assertThat(sources).hasSizeGreaterThan(5);
    for (String architecture : Set.of(known.get(0), known.get(known.size() - 1))) {
      for (Map.Entry<String, String> source : sources.entrySet()) {
        Path file = folder.resolve(source.getKey());
        Files.writeString(file, source.getValue());
        Path ptx = folder.resolve(source.getKey() + "." + architecture + ".ptx");
        run(
            "nvcc",
            "--ptx",
            "--gpu-architecture=" + architecture,
            "--std=c++17",
            "--Werror=all-warnings",
            "-o",
            ptx.toString(),
            file.toString());
        if (architecture.equals(known.get(0))) {
          assemble(source.getKey(), Files.readString(ptx));
        }
      }
    }
  }

  private static boolean nvccWorks() throws InterruptedException {
    try {
      Process process = new ProcessBuilder("nvcc", "--version").redirectErrorStream(true).start();
      process.getInputStream().readAllBytes();
      return process.waitFor() == 0;
    } catch (IOException e) {
      return false;
    }
  }

  /** Each resource after its prelude, and the generated kernels together, by file name. */
  private static Map<String, String> sources() throws Exception {
    Map<String, String> sources = new LinkedHashMap<>();
    Path resources = Path.of(Sources.class.getResource("prelude.cuh").toURI()).getParent();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(resources, "*.cu")) {
      for (Path file : files) {
        String name = file.getFileName().toString();
        sources.put(name, text(List.of(Sources.resource(name))));
      }
    }
    sources.put("generated.cu", text(generated()));
    return sources;
  }

  private static String text(Iterable<KernelSource> together) {
    StringBuilder text = new StringBuilder();
    for (KernelSource source : together) {
      text.append(text.length() == 0 ? source.prelude() : "").append('\n').append(source.text());
    }
    return text.toString();
  }

  /** The kernels that real networks and every scalar function ask for. */
  private static Set<KernelSource> generated() {
    Set<KernelSource> all = new LinkedHashSet<>();
    CudaContext context = new CudaContext(0);
    try (context;
        Kernels kernels = new Kernels(context, new DiskCache(null))) {
      CudaKernels chosen =
          new CudaKernels(context, kernels, new DiskCache(null), Libraries.NONE, false);
      context.within(
          () -> {
            graphs()
                .flatMap(graph -> graph.nodes().stream())
                .forEach(node -> all.addAll(chosen.of(node).generated()));
            return all;
          });
    }
    return all;
  }

  private static Stream<Graph> graphs() {
    Stream<Graph> real =
        Stream.of(RealModels.values())
            .map(network -> network.model().graph(network.dimensions(0)))
            .map(Transforms.all()::apply);
    return Stream.concat(real, Stream.of(everyFunction()));
  }

  private static Graph everyFunction() {
    GraphBuilder graph = new GraphBuilder("every function");
    for (DataType type : List.of(DataType.F32, DataType.F64, DataType.F16, DataType.I64)) {
      Value x = graph.input("x" + type, TensorType.of(type, 3, 4));
      for (UnaryFunction function : UnaryFunction.values()) {
        add(graph, new Unary(function, 0.5f, 0.25f), x);
      }
      for (BinaryFunction function : BinaryFunction.values()) {
        add(graph, new Binary(function), x, x);
      }
      for (DataType other : DataType.values()) {
        add(graph, new Cast(other), x);
      }
    }
    return graph.build();
  }

  /** Adds the node, unless the function is not for that type. */
  private static void add(GraphBuilder graph, Operator operator, Value... operands) {
    try {
      graph.output(operator + " of " + operands[0], graph.apply(operator, operands));
    } catch (NimbleException e) {
      return;
    }
  }

  /** JCuda carries an assembler that reads PTX up to 8.0; ours has nothing newer in it. */
  private static void assemble(String name, String ptx) {
    byte[] bytes =
        (ptx.replaceFirst("\\.version \\d+\\.\\d+", ".version 8.0") + "\0")
            .getBytes(StandardCharsets.US_ASCII);
    JNvPTXCompiler.setExceptionsEnabled(false);
    nvPTXCompilerHandle compiler = new nvPTXCompilerHandle();
    assertThat(JNvPTXCompiler.nvPTXCompilerCreate(compiler, bytes.length, bytes)).isZero();
    try {
      int code =
          JNvPTXCompiler.nvPTXCompilerCompile(
              compiler, 1, new String[] {"--gpu-name=" + ASSEMBLED_FOR});
      assertThat(code).as("%s: %s", name, log(compiler)).isZero();
      long[] size = new long[1];
      JNvPTXCompiler.nvPTXCompilerGetCompiledProgramSize(compiler, size);
      assertThat(size[0]).as("bytes of machine code").isGreaterThan(1000);
    } finally {
      JNvPTXCompiler.nvPTXCompilerDestroy(compiler);
    }
  }

  private static String log(nvPTXCompilerHandle compiler) {
    long[] size = new long[1];
    JNvPTXCompiler.nvPTXCompilerGetErrorLogSize(compiler, size);
    byte[] log = new byte[(int) size[0] + 1];
    JNvPTXCompiler.nvPTXCompilerGetErrorLog(compiler, log);
    return new String(log, StandardCharsets.US_ASCII).trim();
  }

  private static String run(String... command) throws IOException, InterruptedException {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as("%s: %s", String.join(" ", command), output).isZero();
    return output;
  }
}
