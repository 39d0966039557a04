package dev.nimble.onnx;

import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.OperatorSetIdProto;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedSet;
import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnsafeByteOperations;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.error.InvalidModelException;
import dev.nimble.error.Location;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.jfr.CaptureEvent;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * An ONNX model, read and checked, with its symbolic dimensions still open. {@link #graph} binds
 * them.
 *
 * <p>A dimension is bound by its symbol ({@code batch}), or by input and axis ({@code input_ids.1},
 * or {@code *.1} for that axis of every input). The more particular binding wins: input and axis,
 * then any input and axis, then symbol. Axes without a usable symbol, and models that use one
 * symbol for axes of different meaning, need the second form.
 */
public final class OnnxModel {
  private final String file;
  private final ModelProto proto;
  private final int opset;
  private final ImportLimits limits;
  private final ImmutableList<ModelInput> inputs;
  private final ExternalData external;

  private OnnxModel(String file, ModelProto proto, ImportLimits limits, ExternalData external) {
    this.file = file;
    this.external = external;
    this.proto = proto;
    this.limits = limits;
    this.opset = opset(proto);
    if (!proto.hasGraph()) {
      throw new InvalidModelException("is not an ONNX model: it has no graph");
    }
    ModelChecks.check(proto.getGraph(), limits);
    this.inputs = ModelChecks.inputs(proto.getGraph(), limits);
  }

  /**
   * Reads a model file.
   *
   * @throws InvalidModelException if it cannot be read, is not an ONNX model or exceeds the default
   *     limits
   */
  public static OnnxModel load(Path path) {
    return load(path, ImportLimits.defaults());
  }

  /** As {@link #load(Path)}, within other limits. */
  public static OnnxModel load(Path path, ImportLimits limits) {
    String name = String.valueOf(path.getFileName());
    try {
      if (Files.exists(path) && !Files.isRegularFile(path)) {
        throw new InvalidModelException(
            (Files.isDirectory(path) ? "is a folder" : "is a device or pipe") + ", not a file",
            Location.ofFile(name));
      }
      long size = Files.size(path);
      if (size > limits.fileBytes()) {
        throw tooLarge(name, limits);
      }
      ExternalData external = new ExternalData(path.toAbsolutePath().getParent());
      return parse(
          UnsafeByteOperations.unsafeWrap(Files.readAllBytes(path)), name, limits, external);
    } catch (NoSuchFileException e) {
      throw new InvalidModelException("there is no such file: " + path, Location.ofFile(name), e);
    } catch (IOException e) {
      throw new InvalidModelException("cannot be read: " + e, Location.ofFile(name), e);
    }
  }

  /**
   * Reads a model from a stream, which is not closed; {@code name} stands for the file in messages.
   */
  public static OnnxModel read(InputStream stream, String name) {
    ImportLimits limits = ImportLimits.defaults();
    try {
      long most = Math.min(limits.fileBytes(), Integer.MAX_VALUE - 8L);
      byte[] bytes = stream.readNBytes((int) most);
      if (bytes.length == most && stream.read() >= 0) {
        throw tooLarge(name, limits);
      }
      return parse(UnsafeByteOperations.unsafeWrap(bytes), name, limits, ExternalData.none());
    } catch (IOException e) {
      throw new InvalidModelException("cannot be read: " + e, Location.ofFile(name), e);
    }
  }

  /** Reads a model from memory; {@code name} stands for the file in messages. */
  public static OnnxModel parse(byte[] bytes, String name) {
    return parse(bytes, name, ImportLimits.defaults());
  }

  /** As {@link #parse(byte[], String)}, within other limits. */
  public static OnnxModel parse(byte[] bytes, String name, ImportLimits limits) {
    if (bytes.length > limits.fileBytes()) {
      throw tooLarge(name, limits);
    }
    return parse(ByteString.copyFrom(bytes), name, limits, ExternalData.none());
  }

  /** {@code bytes} will not change: weights are read where they are. */
  private static OnnxModel parse(
      ByteString bytes, String name, ImportLimits limits, ExternalData external) {
    if (bytes.isEmpty()) {
      throw new InvalidModelException("is empty", Location.ofFile(name));
    }
    CodedInputStream input = bytes.newCodedInput();
    input.enableAliasing(true);
    input.setRecursionLimit(limits.nestingDepth());
    try {
      return new OnnxModel(name, ModelProto.parseFrom(input), limits, external);
    } catch (InvalidProtocolBufferException e) {
      throw new InvalidModelException(
          "is not an ONNX model or is damaged: " + e.getMessage(), Location.ofFile(name), e);
    } catch (IOException e) {
      throw new InvalidModelException("cannot be read: " + e, Location.ofFile(name), e);
    } catch (InvalidModelException e) {
      throw e.in(name);
    } catch (RuntimeException e) { // the file is not trusted: a gap in the checks must not escape
      throw new InvalidModelException("cannot be imported: " + e, Location.ofFile(name), e);
    }
  }

  private static InvalidModelException tooLarge(String name, ImportLimits limits) {
    return new InvalidModelException(
        "exceeds the limit of " + limits.fileBytes() + " bytes", Location.ofFile(name));
  }

  private static int opset(ModelProto proto) {
    for (OperatorSetIdProto set : proto.getOpsetImportList()) {
      if (set.getDomain().isEmpty() || set.getDomain().equals("ai.onnx")) {
        long version = set.getVersion();
        if (version < OperatorTable.FIRST_OPSET || version > OperatorTable.LAST_OPSET) {
          throw new InvalidModelException(
              "uses opset "
                  + version
                  + "; opsets "
                  + OperatorTable.FIRST_OPSET
                  + " to "
                  + OperatorTable.LAST_OPSET
                  + " are supported");
        }
        return (int) version;
      }
    }
    if (proto.getOpsetImportCount() > 0) { // other domains only
      return OperatorTable.LAST_OPSET;
    }
    throw new InvalidModelException("is not an ONNX model: it imports no operator set");
  }

  /** The operators of the standard domain that can be imported, in alphabetical order. */
  public static ImmutableSortedSet<String> supportedOperators() {
    return OperatorTable.names();
  }

  /** The file's name. */
  public String file() {
    return file;
  }

  /** The version of the standard operator set. */
  public int opset() {
    return opset;
  }

  /** The inputs that a caller must give. */
  public ImmutableList<ModelInput> inputs() {
    return inputs;
  }

  /** The names of the outputs. */
  public ImmutableList<String> outputs() {
    return proto.getGraph().getOutputList().stream()
        .map(output -> output.getName())
        .collect(ImmutableList.toImmutableList());
  }

  /**
   * The dimensions that {@link #graph} needs: symbols, and {@code input.axis} where there is no
   * symbol, in the order of the axes.
   */
  public ImmutableList<String> symbolicDimensions() {
    return DimensionBinding.open(inputs);
  }

  /** The number of nodes in the file, Constant nodes included. */
  public int nodeCount() {
    return proto.getGraph().getNodeCount();
  }

  /**
   * Binds the symbolic dimensions and makes the graph: a node for each ONNX node, but that
   * operators whose result is known (Constant, ConstantOfShape, Range) become constants, and a few
   * without a counterpart here (Sum of many, DepthToSpace) become several nodes. Operands that an
   * operator needs when it is built (the shape of a Reshape) are worked out from constants and
   * shapes. Types are inferred; those that the file declares for results are not trusted, nor used.
   *
   * @param dimensions an extent for each symbol, {@code input.axis} or {@code *.axis}
   * @throws InvalidModelException if a dimension is not bound, an operator is not supported or does
   *     not fit its operands; names file, node, operator and shapes
   * @throws dev.nimble.error.InvalidArgumentException if a name is not one of the model's
   *     dimensions
   */
  public Graph graph(Map<String, Integer> dimensions) {
    return graph(dimensions, Map.of());
  }

  /**
   * As {@link #graph(Map)}, with the contents of some inputs fixed. Those become constants of the
   * graph, not inputs: operators that need an operand's contents when they are built (the shape of
   * a Reshape, the condition of an If) may depend on them.
   *
   * @param constants contents by input name; shared, so they must not change
   * @throws dev.nimble.error.UnknownInputException if an operand that must be known depends on
   *     further inputs; names them
   * @throws InvalidArgumentException if there is no such input, or it has another type
   */
  public Graph graph(Map<String, Integer> dimensions, Map<String, Tensor> constants) {
    CaptureEvent event = CaptureEvent.start();
    try {
      ImmutableMap<String, TensorType> types = new DimensionBinding(inputs, dimensions).types();
      constants.forEach((name, contents) -> checkConstant(name, contents, types.get(name)));
      Graph graph =
          new GraphImporter(
                  proto.getGraph(),
                  file,
                  opset,
                  limits,
                  types,
                  ImmutableMap.copyOf(constants),
                  external)
              .graph();
      event.done(file, graph.name(), graph.nodes().size());
      return graph;
    } catch (InvalidModelException e) {
      throw e.in(file);
    } catch (InvalidArgumentException e) {
      throw new InvalidArgumentException(e.what(), Location.ofFile(file), e);
    } catch (RuntimeException e) { // the file is not trusted: a gap in the checks must not escape
      throw new InvalidModelException("cannot be imported: " + e, Location.ofFile(file), e);
    }
  }

  /**
   * As {@link #graph}, with the whole shape of each input instead of single dimensions.
   *
   * @param shapes a shape for every input that has an open dimension, by name
   * @throws InvalidArgumentException if there is no such input, or the model fixes another rank or
   *     extent
   */
  public Graph graphOfShapes(Map<String, Shape> shapes) {
    return graphOfShapes(shapes, Map.of());
  }

  /** As {@link #graphOfShapes(Map)}, with the contents of some inputs fixed. */
  public Graph graphOfShapes(Map<String, Shape> shapes, Map<String, Tensor> constants) {
    Map<String, Integer> dimensions = new LinkedHashMap<>();
    shapes.forEach(
        (name, shape) -> {
          ModelInput input = input(name);
          if (input.dimensions().size() != shape.rank()) {
            throw new InvalidArgumentException(
                "input " + input + " cannot have the shape " + shape, Location.ofFile(file));
          }
          for (int axis = 0; axis < shape.rank(); axis++) {
            dimensions.put(name + "." + axis, shape.extent(axis));
          }
        });
    return graph(dimensions, constants);
  }

  private void checkConstant(String name, Tensor contents, @Nullable TensorType type) {
    if (!contents.type().equals(type)) {
      throw new InvalidArgumentException(
          "input " + input(name) + " cannot be a constant of " + contents.type());
    }
  }

  private ModelInput input(String name) {
    return inputs.stream()
        .filter(input -> input.name().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                new InvalidArgumentException(
                    "the model has no input '" + name + "'; it has " + inputs,
                    Location.ofFile(file)));
  }

  @Override
  public String toString() {
    return file + " (opset " + opset + ", " + nodeCount() + " nodes, inputs " + inputs + ")";
  }
}
