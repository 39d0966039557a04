package dev.nimble.onnx;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import com.google.common.collect.ImmutableList;
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
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Turns one model's graph, with bound inputs, into a {@link Graph}. */
final class GraphImporter {
  private final GraphProto proto;
  private final int opset;
  private final ImportLimits limits;
  private final ImmutableMap<String, TensorType> inputTypes;
  private final ImmutableMap<String, Tensor> constants;
  private final ExternalData external;
  private final GraphBuilder builder;
  private final KnownTensors known;
  private int added;

  GraphImporter(
      GraphProto proto,
      String file,
      int opset,
      ImportLimits limits,
      ImmutableMap<String, TensorType> inputTypes,
      ImmutableMap<String, Tensor> constants,
      ExternalData external) {
    this.proto = proto;
    this.opset = opset;
    this.limits = limits;
    this.inputTypes = inputTypes;
    this.constants = constants;
    this.external = external;
    this.builder = new GraphBuilder(proto.getName().isEmpty() ? file : proto.getName());
    this.known = new KnownTensors(limits);
  }

  Graph graph() {
    Scope scope = new Scope(null);
    inputTypes.forEach(
        (name, type) -> {
          checked(type, name);
          Tensor given = constants.get(name);
          scope.define(
              name, given == null ? builder.input(name, type) : builder.constant(name, given));
        });
    List<Value> results = importBody(proto, scope);
    for (int i = 0; i < results.size(); i++) {
      builder.output(proto.getOutput(i).getName(), results.get(i));
    }
    return builder.build();
  }

  /**
   * Imports the body of a control-flow operator in place.
   *
   * @param outer what the node that holds it can see
   * @param operands its inputs, by position
   */
  List<Value> inline(GraphProto body, Scope outer, List<Value> operands) {
    if (body.getInputCount() != operands.size()) {
      throw new InvalidModelException(
          "the body takes " + body.getInputCount() + " inputs, not " + operands.size());
    }
    Scope scope = new Scope(outer);
    for (int i = 0; i < operands.size(); i++) {
      scope.define(body.getInput(i).getName(), operands.get(i));
    }
    return importBody(body, scope);
  }

  /** Imports everything but the inputs, which are defined; returns the outputs. */
  private List<Value> importBody(GraphProto body, Scope scope) {
    for (TensorProto tensor : body.getInitializerList()) {
      scope.define(tensor.getName(), constant(tensor.getName(), read(tensor, scope)));
    }
    for (int index : new NodeOrder(body, scope::defines, scope::sees).indices()) {
      importNode(body.getNode(index), index, scope);
    }
    List<Value> results = new ArrayList<>();
    for (ValueInfoProto output : body.getOutputList()) {
      results.add(scope.find(output.getName(), "output"));
    }
    return results;
  }

  private TensorType checked(TensorType type, String name) {
    try {
      return TensorReader.checked(type, limits);
    } catch (InvalidModelException e) {
      throw new InvalidModelException("value '" + name + "': " + e.what());
    }
  }

  private void importNode(NodeProto node, int index, Scope scope) {
    Location place = ModelChecks.placeOf(node, index);
    List<@Nullable Value> operands = new ArrayList<>();
    try {
      for (String input : node.getInputList()) {
        boolean sequence = SequenceOperators.take(node) && scope.sequence(input) != null;
        operands.add(input.isEmpty() || sequence ? null : scope.find(input, "operand"));
      }
      while (!operands.isEmpty() && operands.get(operands.size() - 1) == null) {
        operands.remove(operands.size() - 1);
      }
      place = NodeImport.location(node, index, operands);
      NodeImport context = new NodeImport(this, scope, node, index, opset, operands, limits);
      List<Value> results = OperatorTable.of(node).build(context);
      if (opset < 6) {
        context.attributes().ignore("consumed_inputs"); // a hint of in-place updates
      }
      context.attributes().checkAllRead();
      ImmutableList<Value> sequence = context.sequenceResult();
      if (sequence != null) {
        scope.define(node.getOutput(0), sequence);
        return;
      }
      for (int i = 0; i < node.getOutputCount(); i++) {
        String name = node.getOutput(i);
        if (i < results.size() && !name.isEmpty()) {
          scope.define(name, results.get(i));
        } else {
          scope.leaveOut(
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
    } catch (InvalidModelException e) {
      throw e.at(e.location().shapes() == null ? place : e.location());
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
    charge();
    Node node = builder.add(name, operator, operands, outputNames);
    node.outputs().forEach(output -> checked(output.type(), output.name()));
    return node.outputs();
  }

  /** What is known of values while the graph is built. */
  KnownTensors known() {
    return known;
  }

  /** Charges one to the limit on nodes: a loop that is unrolled can make many of few. */
  void charge() {
    if (++added > limits.nodes()) {
      throw new InvalidModelException(
          "becomes more than the limit of " + limits.nodes() + " nodes");
    }
  }

  /** Reads a tensor of the file. In a body it may be read again and again, and so is charged. */
  Tensor read(TensorProto tensor, Scope scope) {
    Tensor contents = TensorReader.read(tensor, limits, external);
    if (scope.isNested()) {
      known.charge(contents.type());
    }
    return contents;
  }
}
