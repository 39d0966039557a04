package dev.nimble.onnx;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
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
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Turns one model's graph, with bound inputs, into a {@link Graph}. */
final class GraphImporter {
  private final GraphProto proto;
  private final int opset;
  private final ImportLimits limits;
  private final ImmutableMap<String, TensorType> inputTypes;
  private final GraphBuilder builder;
  private final KnownTensors known;
  private final Map<String, Value> values = new HashMap<>();

  /** Outputs that have no value here, by name: an error only where one is read. */
  private final Map<String, String> absent = new HashMap<>();

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
    this.known = new KnownTensors(limits);
  }

  Graph graph() {
    inputTypes.forEach((name, type) -> define(name, builder.input(name, checked(type, name))));
    for (TensorProto tensor : proto.getInitializerList()) {
      define(tensor.getName(), constant(tensor.getName(), TensorReader.read(tensor, limits)));
    }
    for (int index : new NodeOrder(proto, values.keySet()).indices()) {
      importNode(proto.getNode(index), index);
    }
    for (ValueInfoProto output : proto.getOutputList()) {
      builder.output(output.getName(), find(output.getName(), "output"));
    }
    return builder.build();
  }

  private TensorType checked(TensorType type, String name) {
    try {
      return TensorReader.checked(type, limits);
    } catch (InvalidModelException e) {
      throw new InvalidModelException("value '" + name + "': " + e.what());
    }
  }

  private void define(String name, Value value) {
    if (values.put(name, value) != null) {
      throw new InvalidModelException("two values are named '" + name + "'");
    }
  }

  private Value find(String name, String role) {
    Value value = values.get(name);
    if (value == null) {
      throw new InvalidModelException(
          absent.getOrDefault(name, role + " '" + name + "' is not computed by any node"));
    }
    return value;
  }

  private void importNode(NodeProto node, int index) {
    Location place = ModelChecks.placeOf(node, index);
    List<@Nullable Value> operands = new ArrayList<>();
    try {
      for (String input : node.getInputList()) {
        operands.add(input.isEmpty() ? null : find(input, "operand"));
      }
      while (!operands.isEmpty() && operands.get(operands.size() - 1) == null) {
        operands.remove(operands.size() - 1);
      }
      place = NodeImport.location(node, index, operands);
      NodeImport context = new NodeImport(this, node, index, opset, operands, limits);
      List<Value> results = OperatorTable.of(node.getOpType()).build(context);
      context.attributes().checkAllRead();
      for (int i = 0; i < node.getOutputCount(); i++) {
        String name = node.getOutput(i);
        if (i < results.size() && !name.isEmpty()) {
          define(name, results.get(i));
        } else {
          absent.put(
              name,
              "output "
                  + i
                  + " ('"
                  + name
                  + "') of node "
                  + place.node()
                  + " ("
                  + node.getOpType()
                  + ") is not supported");
        }
      }
    } catch (NimbleException e) {
      Location at = e.location().shapes() == null ? place : e.location();
      throw new InvalidModelException(e.what(), at, e);
    } catch (RuntimeException e) { // the file is not trusted: a gap in the checks must not escape
      throw new InvalidModelException("cannot be imported: " + e, place, e);
    }
  }

  /** A constant whose contents operators may use when they are built. */
  Value constant(String name, Tensor contents) {
    return builder.constant(name, contents);
  }

  /** Adds a node. */
  List<Value> add(String name, Operator operator, List<Value> operands, List<String> outputNames) {
    Node node = builder.add(name, operator, operands, outputNames);
    node.outputs().forEach(output -> checked(output.type(), output.name()));
    return node.outputs();
  }

  /** What is known of values while the graph is built. */
  KnownTensors known() {
    return known;
  }
}
