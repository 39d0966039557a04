package dev.nimble.benchmarks.coverage;

import com.google.common.collect.ImmutableSortedSet;
import dev.nimble.Engine;
import dev.nimble.EngineOptions;
import dev.nimble.Nimble;
import dev.nimble.benchmarks.coverage.CaseResult.Status;
import dev.nimble.device.Device;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.error.InvalidModelException;
import dev.nimble.error.UnknownInputException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.onnx.ModelInput;
import dev.nimble.onnx.OnnxModel;
import dev.nimble.onnx.TensorFile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** One backend test: a folder with a model, and data sets of inputs and expected outputs. */
final class BackendCase {
  private final Path folder;
  private final Device device;
  private final EngineOptions options;
  private final TreeSet<String> fixed = new TreeSet<>();

  BackendCase(Path folder, Device device, EngineOptions options) {
    this.folder = folder;
    this.device = device;
    this.options = options;
  }

  CaseResult run() {
    try {
      OnnxModel model = OnnxModel.load(folder.resolve("model.onnx"));
      List<Path> sets = list(folder, "test_data_set_*");
      if (sets.isEmpty()) {
        return result(Status.FAIL, "there is no test_data_set_* to compare with", "");
      }
      for (Path set : sets) {
        String wrong = compare(model, set);
        if (wrong != null) {
          return result(Status.FAIL, wrong, "");
        }
      }
      return result(Status.PASS, "", "");
    } catch (InvalidModelException e) {
      return result(Status.REJECTED, String.valueOf(e.getMessage()), missing(e));
    } catch (InputMismatch e) {
      return result(
          Status.REJECTED, String.valueOf(e.getMessage()), "data that contradict the model");
    } catch (RuntimeException e) { // whatever it is, it is this case's result
      return result(Status.FAIL, String.valueOf(e), "");
    }
  }

  private CaseResult result(Status status, String detail, String missing) {
    return new CaseResult(
        String.valueOf(folder.getFileName()),
        status,
        detail,
        missing,
        ImmutableSortedSet.copyOf(fixed));
  }

  /** The operator that is missing or refused; without one, what is wrong. */
  private static String missing(InvalidModelException e) {
    String operator = e.location().operator();
    return operator == null ? e.what() : operator;
  }

  /** What is wrong with an output, or null. */
  private @Nullable String compare(OnnxModel model, Path set) {
    Map<String, Tensor> inputs = inputs(model, set);
    Graph graph = capture(model, inputs);
    List<Path> expected = list(set, "output_*.pb");
    if (expected.size() != graph.outputs().size()) {
      return "there are " + expected.size() + " expected outputs for " + graph.outputs().size();
    }
    Map<String, Tensor> open = new LinkedHashMap<>(inputs);
    open.keySet().removeAll(fixed);
    try (Engine engine = prepare(graph)) {
      Map<String, Tensor> outputs = engine.run(open);
      for (int i = 0; i < expected.size(); i++) {
        String name = graph.outputNames().get(i);
        Tensor actual = outputs.get(name);
        if (actual == null) {
          return "output '" + name + "' is missing";
        }
        Tensor wanted = as(actual.type().dataType(), TensorFile.load(expected.get(i)));
        String wrong = Closeness.difference(actual, wanted);
        if (wrong != null) {
          return "output " + i + " ('" + name + "') of " + set.getFileName() + " " + wrong;
        }
      }
    }
    return null;
  }

  /** A refusal after the import is not the importer's: it is a failure. */
  private Engine prepare(Graph graph) {
    try {
      return Nimble.prepare(graph, device, options);
    } catch (InvalidModelException e) {
      throw new IllegalStateException("the imported graph is refused: " + e.getMessage(), e);
    }
  }

  private static Map<String, Tensor> inputs(OnnxModel model, Path set) {
    Map<String, Tensor> inputs = new LinkedHashMap<>();
    for (int i = 0; i < model.inputs().size(); i++) {
      ModelInput input = model.inputs().get(i);
      Tensor tensor = TensorFile.load(set.resolve("input_" + i + ".pb"));
      inputs.put(input.name(), as(input.dataType(), tensor));
    }
    return inputs;
  }

  /**
   * NumPy, which wrote the data, has no bfloat16: the suite keeps the bits as unsigned integers.
   */
  private static Tensor as(DataType wanted, Tensor tensor) {
    return wanted == DataType.BF16 && tensor.type().dataType() == DataType.U16
        ? Tensor.wrap(new TensorType(wanted, tensor.type().shape()), tensor.bytes())
        : tensor;
  }

  /** Gives an input as a constant where the importer says that it needs to know it. */
  private Graph capture(OnnxModel model, Map<String, Tensor> inputs) {
    Map<String, Shape> shapes = new LinkedHashMap<>();
    inputs.forEach((name, tensor) -> shapes.put(name, tensor.type().shape()));
    while (true) {
      Map<String, Tensor> constants = new LinkedHashMap<>(inputs);
      constants.keySet().retainAll(fixed);
      try {
        return model.graphOfShapes(shapes, constants);
      } catch (InvalidArgumentException e) {
        throw new InputMismatch(e);
      } catch (UnknownInputException e) {
        if (!fixed.addAll(e.inputs())) {
          throw e;
        }
      }
    }
  }

  /** An input of the data set is not of the type that the model declares. */
  private static final class InputMismatch extends RuntimeException {
    private static final long serialVersionUID = 1L;

    InputMismatch(InvalidArgumentException cause) {
      super(cause.getMessage(), cause);
    }
  }

  static List<Path> list(Path folder, String glob) {
    List<Path> all = new ArrayList<>();
    try (Stream<Path> entries = Files.list(folder)) {
      entries
          .filter(p -> p.getFileSystem().getPathMatcher("glob:" + glob).matches(p.getFileName()))
          .sorted(Comparator.comparing(BackendCase::sortable))
          .forEach(all::add);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return all;
  }

  /** A name that sorts output_10 after output_9. */
  private static String sortable(Path path) {
    return Pattern.compile("\\d+")
        .matcher(String.valueOf(path.getFileName()))
        .replaceAll(
            digits -> "0".repeat(Math.max(0, 9 - digits.group().length())) + digits.group());
  }
}
