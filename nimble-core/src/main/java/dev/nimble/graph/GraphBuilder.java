package dev.nimble.graph;

import com.google.common.collect.ImmutableList;
import dev.nimble.error.InvalidModelException;
import dev.nimble.error.Location;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Builds a {@link Graph} node by node, in program order; so it cannot contain a cycle. Types are
 * inferred as nodes are added. Not thread-safe.
 *
 * <pre>{@code
 * GraphBuilder g = new GraphBuilder("example");
 * Value x = g.input("x", TensorType.f32(2, 3));
 * Value y = g.apply(new Relu(), x);
 * Graph graph = g.output("y", y).build();
 * }</pre>
 */
public final class GraphBuilder {
  private final String name;
  private final List<Node> nodes = new ArrayList<>();
  private final List<Value> values = new ArrayList<>();
  private final List<Value> outputs = new ArrayList<>();
  private final List<String> outputNames = new ArrayList<>();
  private final Set<String> nodeNames = new HashSet<>();
  private final Set<String> valueNames = new HashSet<>();
  private final Set<String> takenOutputNames = new HashSet<>();
  private final Map<String, Integer> nextSuffix = new HashMap<>();

  /** Starts an empty graph; {@code name} may be empty. */
  public GraphBuilder(String name) {
    this.name = name;
  }

  /**
   * Declares a graph input.
   *
   * @throws InvalidModelException if the name is taken
   */
  public Value input(String inputName, TensorType type) {
    return source(inputName, type, Value.Kind.INPUT, null);
  }

  /**
   * Adds a constant; {@code contents} is shared and must not change. A taken name is made unique.
   */
  public Value constant(String constantName, Tensor contents) {
    return source(unique(constantName, valueNames), contents.type(), Value.Kind.CONSTANT, contents);
  }

  /**
   * Adds a variable with its initial contents, which are shared and must not change: a device
   * copies them.
   *
   * @throws InvalidModelException if the name is taken
   */
  public Value variable(String variableName, Tensor initial) {
    return source(variableName, initial.type(), Value.Kind.VARIABLE, initial);
  }

  private Value source(
      String valueName, TensorType type, Value.Kind kind, @Nullable Tensor contents) {
    if (valueNames.contains(valueName)) {
      throw new InvalidModelException("two values are named '" + valueName + "'");
    }
    valueNames.add(valueName);
    Value value = new Value(values.size(), valueName, type, kind, contents, null, 0);
    values.add(value);
    return value;
  }

  /** Applies an operator of one output; the node is named after the operator. */
  public Value apply(Operator operator, Value... operands) {
    return apply(operator.name(), operator, operands);
  }

  /** Applies an operator of one output under a node name, which is made unique if taken. */
  public Value apply(String nodeName, Operator operator, Value... operands) {
    return add(nodeName, operator, List.of(operands)).output();
  }

  /** Adds a node; its outputs are named after it. */
  public Node add(String nodeName, Operator operator, List<Value> operands) {
    return add(nodeName, operator, operands, List.of());
  }

  /**
   * Adds a node, infers its output types and returns it.
   *
   * @param nodeName made unique if taken
   * @param outputNames names of the outputs, made unique if taken; those that are missing or empty
   *     are derived from the node's name
   * @throws InvalidModelException if an operand is of another graph, a mutated operand is not a
   *     variable, or the operator has no types for the operands; names the node, operator and
   *     operand types
   */
  public Node add(
      String nodeName, Operator operator, List<Value> operands, List<String> outputNames) {
    for (Value operand : operands) {
      if (operand.id() >= values.size() || values.get(operand.id()) != operand) {
        throw new InvalidModelException(
            "operand '" + operand.name() + "' belongs to another graph",
            Location.ofNode(nodeName, operator.name()));
      }
    }
    List<TensorType> types = infer(nodeName, operator, operands);
    for (int mutated : operator.mutatedInputs()) {
      if (operands.get(mutated).kind() != Value.Kind.VARIABLE) {
        throw new InvalidModelException(
            "operand "
                + mutated
                + " ('"
                + operands.get(mutated).name()
                + "') is updated in place and must be a variable",
            Location.ofNode(nodeName, operator.name(), Node.typesOf(operands)));
      }
    }
    String uniqueName = unique(nodeName.isEmpty() ? operator.name() : nodeName, nodeNames);
    nodeNames.add(uniqueName);
    List<String> names = new ArrayList<>();
    for (int i = 0; i < types.size(); i++) {
      String wished = i < outputNames.size() ? outputNames.get(i) : "";
      if (wished.isEmpty()) {
        wished = types.size() == 1 ? uniqueName : uniqueName + ":" + i;
      }
      String unique = unique(wished, valueNames);
      valueNames.add(unique);
      names.add(unique);
    }
    Node node = new Node(nodes.size(), uniqueName, operator, operands, types, values.size(), names);
    nodes.add(node);
    values.addAll(node.outputs());
    return node;
  }

  private static List<TensorType> infer(String nodeName, Operator operator, List<Value> operands) {
    List<TensorType> types = new ArrayList<>();
    operands.forEach(o -> types.add(o.type()));
    try {
      return operator.infer(types);
    } catch (InvalidModelException e) {
      throw new InvalidModelException(
          e.what(), Location.ofNode(nodeName, operator.name(), Node.typesOf(operands)), e);
    }
  }

  /**
   * Declares a graph output; any value may be one, also more than once.
   *
   * @throws InvalidModelException if the output name is taken
   */
  public GraphBuilder output(String outputName, Value value) {
    if (!takenOutputNames.add(outputName)) {
      throw new InvalidModelException("two outputs are named '" + outputName + "'");
    }
    outputs.add(value);
    outputNames.add(outputName);
    return this;
  }

  /** The graph as built so far. */
  public Graph build() {
    return new Graph(
        name,
        ImmutableList.copyOf(nodes),
        ImmutableList.copyOf(values),
        ImmutableList.copyOf(outputs),
        ImmutableList.copyOf(outputNames));
  }

  private String unique(String wished, Set<String> taken) {
    String candidate = wished;
    while (taken.contains(candidate)) {
      int suffix = nextSuffix.merge(wished, 1, Integer::sum);
      candidate = wished + "_" + suffix;
    }
    return candidate;
  }
}
