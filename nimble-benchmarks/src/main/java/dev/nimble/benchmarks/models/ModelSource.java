package dev.nimble.benchmarks.models;

import com.google.common.collect.ImmutableMap;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.error.InvalidModelException;
import dev.nimble.error.Location;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.onnx.OnnxModel;
import dev.nimble.planfile.PlanFile;
import dev.nimble.planfile.SavedPlan;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** A model with its dimensions bound: a named one, an .onnx file, or a saved plan. */
public final class ModelSource {
  private static final int TOKENS = 1_000;

  private final String name;
  private final @Nullable Supplier<byte[]> file;
  private final @Nullable SavedPlan saved;
  private final Graph graph;

  private ModelSource(
      String name, @Nullable Supplier<byte[]> file, @Nullable SavedPlan saved, Graph graph) {
    this.name = name;
    this.file = file;
    this.saved = saved;
    this.graph = graph;
  }

  /**
   * Opens a model.
   *
   * @param model a name of {@link NamedModel}, or the path of an .onnx or .plan file
   * @param dimensions extents by the names that the model gives its dimensions
   * @throws InvalidModelException if it cannot be read or imported
   * @throws dev.nimble.error.InvalidPlanException if it is a plan file that is not right
   */
  public static ModelSource open(String model, Map<String, Integer> dimensions) {
    Optional<NamedModel> named = NamedModel.named(model);
    if (named.isPresent()) {
      NamedModel own = named.get();
      OnnxModel onnx = OnnxModel.parse(own.bytes(), model);
      return new ModelSource(model, own::bytes, null, onnx.graph(translated(own, dimensions)));
    }
    Path path = Path.of(model);
    if (model.endsWith(".plan")) {
      if (!dimensions.isEmpty()) {
        throw new InvalidArgumentException(
            "the shapes of a saved plan are fixed; leave out --dim, or give the model",
            Location.ofFile(model));
      }
      SavedPlan saved = PlanFile.read(path);
      return new ModelSource(model, null, saved, saved.plan().graph());
    }
    if (!Files.exists(path) && !model.endsWith(".onnx")) {
      String names =
          Arrays.stream(NamedModel.values())
              .map(NamedModel::modelName)
              .collect(Collectors.joining(", "));
      throw new InvalidModelException(
          "there is no model '"
              + model
              + "'; give the path of an .onnx or .plan file, or one of "
              + names);
    }
    OnnxModel onnx = OnnxModel.load(path);
    return new ModelSource(onnx.file(), () -> read(path), null, onnx.graph(dimensions));
  }

  private static byte[] read(Path path) {
    try {
      return Files.readAllBytes(path);
    } catch (IOException e) {
      throw new InvalidModelException(
          "cannot be read: " + e.getMessage(), Location.ofFile(path.toString()), e);
    }
  }

  private static Map<String, Integer> translated(NamedModel model, Map<String, Integer> given) {
    Map<String, Integer> bindings = new LinkedHashMap<>();
    model.defaults().forEach((name, extent) -> bindings.put(ownName(model, name), extent));
    given.forEach((name, extent) -> bindings.put(ownName(model, name), extent));
    return bindings;
  }

  private static String ownName(NamedModel model, String name) {
    return model.dimensionNames().getOrDefault(name, name);
  }

  /** The model's name, or its file's. */
  public String name() {
    return name;
  }

  /**
   * The model file, for other runtimes; read at each call, since a plan does without it. Empty for
   * a saved plan.
   */
  public Optional<byte[]> bytes() {
    return Optional.ofNullable(file).map(Supplier::get);
  }

  /** The plan that was saved; empty for a model. */
  public Optional<SavedPlan> saved() {
    return Optional.ofNullable(saved);
  }

  /** The captured graph; of a saved plan, its own. */
  public Graph graph() {
    return graph;
  }

  /**
   * Inputs from a seed: floating elements uniform in [-1, 1], integers small and not negative,
   * those named like masks all 1 and those named like token types all 0.
   */
  public ImmutableMap<String, Tensor> inputs(long seed) {
    Random random = new Random(seed);
    ImmutableMap.Builder<String, Tensor> inputs = ImmutableMap.builder();
    graph
        .inputs()
        .forEach(input -> inputs.put(input.name(), input(input.name(), input.type(), random)));
    return inputs.buildOrThrow();
  }

  private static Tensor input(String name, TensorType type, Random random) {
    Tensor tensor = Tensor.zeros(type);
    for (int i = 0; i < type.elements(); i++) {
      if (type.dataType().isFloating()) {
        tensor.setDouble(i, 2 * random.nextDouble() - 1);
      } else if (name.contains("mask")) {
        tensor.setLong(i, 1);
      } else if (name.endsWith("ids") && !name.contains("type")) {
        tensor.setLong(i, random.nextInt(TOKENS));
      }
    }
    return tensor;
  }
}
