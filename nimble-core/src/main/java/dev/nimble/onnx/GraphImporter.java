package dev.nimble.onnx;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import com.google.common.collect.ImmutableMap;
import dev.nimble.error.InvalidModelException;
import dev.nimble.error.Location;
import dev.nimble.error.NimbleException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Node;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.ShapeOf;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;

/** Turns one model's graph, with bound inputs, into a {@link Graph}. */
final class GraphImporter {
  /** Results up to this size are worked out at once if their operands are known: shape arithmetic. */
  private static final long KNOWN_BYTES = 1 << 20;

  private final GraphProto proto;
  private final int opset;
  private final ImportLimits limits;
  private final ImmutableMap<String, TensorType> inputTypes;
  private final GraphBuilder builder;
  private final Map<String, Value> values = new HashMap<>();
  private final Map<Value, Tensor> known = new HashMap<>();

  GraphImporter(
      GraphProto proto,
      String file,
      int opset,
      ImportLimits limits,
      ImmutableMap<String, TensorType> inputTypes) {
    this.proto = proto;
    this.opset = opset;
    this.limits = limits;
    this.inputTypes = inputTypes;
    this.builder = new GraphBuilder(proto.getName().isEmpty() ? file : proto.getName());
  }

  Graph graph() {
    inputTypes.forEach((name, type) -> define(name, builder.input(name, checked(type, name))));
    for (TensorProto tensor : proto.getInitializerList()) {
      define(tensor.getName(), constant(tensor.getName(), TensorReader.read(tensor, limits)));
    }
    for (int index : order()) {
      importNode(proto.getNode(index), index);
    }
    for (var output : proto.getOutputList()) {
      Value value = values.get(output.getName());
      if (value == null) {
        throw new InvalidModelException("output '" + output.getName() + "' is not computed");
      }
      builder.output(output.getName(), value);
    }
    return builder.build();
  }

  private TensorType checked(TensorType type, String name) {
    if (type.sizeBytes() > limits.tensorBytes()) {
      throw new InvalidModelException(
          "'" + name + "' of " + type + " exceeds the limit of " + limits.tensorBytes() + " bytes");
    }
    return type;
  }

  private void define(String name, Value value) {
    if (values.put(name, value) != null) {
      throw new InvalidModelException("two values are named '" + name + "'");
    }
  }

  /** A constant whose contents operators may use when they are built. */
  Value constant(String name, Tensor contents) {
    Value value = builder.constant(name, contents);
    known.put(value, contents);
    return value;
  }

  /** Node indices in an order in which operands come first; the file's order if it is one. */
  private int[] order() {
    Map<String, Integer> producers = new HashMap<>();
    for (int i = 0; i < proto.getNodeCount(); i++) {
      for (String output : proto.getNode(i).getOutputList()) {
        if (!output.isEmpty() && (producers.put(output, i) != null || values.containsKey(output))) {
          throw new InvalidModelException("two values are named '" + output + "'", placeOf(i));
        }
      }
    }
    int[] missing = new int[proto.getNodeCount()];
    Map<Integer, List<Integer>> readers = new HashMap<>();
    PriorityQueue<Integer> ready = new PriorityQueue<>();
    for (int i = 0; i < missing.length; i++) {
      for (String input : proto.getNode(i).getInputList()) {
        Integer producer = producers.get(input);
        if (producer != null) {
          missing[i]++;
          readers.computeIfAbsent(producer, p -> new ArrayList<>()).add(i);
        } else if (!input.isEmpty() && !values.containsKey(input)) {
          throw new InvalidModelException("operand '" + input + "' does not exist", placeOf(i));
        }
      }
      if (missing[i] == 0) {
        ready.add(i);
      }
    }
    int[] order = new int[missing.length];
    int count = 0;
    while (!ready.isEmpty()) {
      int next = ready.remove();
      order[count++] = next;
      for (int reader : readers.getOrDefault(next, List.of())) {
        if (--missing[reader] == 0) {
          ready.add(reader);
        }
      }
    }
    for (int i = 0; count < order.length && i < missing.length; i++) {
      if (missing[i] > 0) {
        throw new InvalidModelException("lies on, or behind, a cycle of nodes", placeOf(i));
      }
    }
    return order;
  }

  private Location placeOf(int index) {
    NodeProto node = proto.getNode(index);
    return Location.ofNode(ModelChecks.nameOf(node, index), node.getOpType());
  }

  private void importNode(NodeProto node, int index) {
    String name = ModelChecks.nameOf(node, index);
    List<@Nullable Value> operands = new ArrayList<>();
    for (String input : node.getInputList()) {
      operands.add(input.isEmpty() ? null : values.get(input));
    }
    while (!operands.isEmpty() && operands.get(operands.size() - 1) == null) {
      operands.remove(operands.size() - 1);
    }
    NodeImport context = new NodeImport(this, node, name, opset, operands, limits);
    List<Value> results;
    try {
      results = OperatorTable.of(node.getOpType()).build(context);
      context.attributes().checkAllRead();
    } catch (NimbleException e) {
      Location place = e.location();
      throw new InvalidModelException(
          e.what(), place.shapes() != null ? place : context.location(), e);
    } catch (ArithmeticException | IndexOutOfBoundsException | NegativeArraySizeException e) {
      throw new InvalidModelException("is malformed: " + e.getMessage(), context.location(), e);
    }
    for (int i = 0; i < node.getOutputCount(); i++) {
      if (!node.getOutput(i).isEmpty()) {
        if (i >= results.size()) {
          throw new InvalidModelException(
              "output " + i + " ('" + node.getOutput(i) + "') is not supported",
              context.location());
        }
        define(node.getOutput(i), results.get(i));
      }
    }
  }

  /** Adds a node; works its results out at once if they are known and small. */
  List<Value> add(String name, Operator operator, List<Value> operands, List<String> outputNames) {
    Node node = builder.add(name, operator, operands, outputNames);
    long bytes = 0;
    for (Value output : node.outputs()) {
      bytes += checked(output.type(), output.name()).sizeBytes();
    }
    if (operator instanceof ShapeOf) {
      Tensor extents = Tensor.zeros(node.output().type());
      for (int axis = 0; axis < extents.type().elements(); axis++) {
        extents.longs().put(axis, operands.get(0).type().shape().extent(axis));
      }
      known.put(node.output(), extents);
    } else if (bytes <= KNOWN_BYTES && operands.stream().allMatch(known::containsKey)) {
      List<Tensor> outputs = node.outputs().stream().map(o -> Tensor.zeros(o.type())).toList();
      operator.bind(operands.stream().map(known::get).toList(), outputs).run();
      for (int i = 0; i < outputs.size(); i++) {
        known.put(node.outputs().get(i), outputs.get(i));
      }
    }
    return node.outputs();
  }

  /** The contents of a value that is known now, or null. */
  @Nullable Tensor knownContents(Value value) {
    return known.get(value);
  }
}
