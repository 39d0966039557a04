package dev.nimble.graph;

import com.google.common.collect.ImmutableList;
import com.google.common.graph.ElementOrder;
import com.google.common.graph.ImmutableGraph;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * An immutable operator DAG. Nodes stand in program order, which is a topological order.
 *
 * <p>The dependencies of a node are the producers of its operands and, for variables, the hazards
 * of program order: a read comes after the last update before it (flow), an update after every read
 * since the previous update (anti-dependency) and after the previous update (output dependency). A
 * graph output that is a variable shows its contents at the end of the step.
 */
public final class Graph {
  private final String name;
  private final ImmutableList<Node> nodes;
  private final ImmutableList<Value> values;
  private final ImmutableList<Value> inputs;
  private final ImmutableList<Value> variables;
  private final ImmutableList<Value> outputs;
  private final ImmutableList<String> outputNames;
  private final int[][] predecessors;
  private final int[][] successors;

  Graph(
      String name,
      ImmutableList<Node> nodes,
      ImmutableList<Value> values,
      ImmutableList<Value> outputs,
      ImmutableList<String> outputNames) {
    this.name = name;
    this.nodes = nodes;
    this.values = values;
    this.outputs = outputs;
    this.outputNames = outputNames;
    this.inputs = ofKind(values, Value.Kind.INPUT);
    this.variables = ofKind(values, Value.Kind.VARIABLE);
    this.predecessors = Dependencies.predecessors(nodes);
    this.successors = Dependencies.reversed(predecessors);
  }

  private static ImmutableList<Value> ofKind(ImmutableList<Value> values, Value.Kind kind) {
    return values.stream().filter(v -> v.kind() == kind).collect(ImmutableList.toImmutableList());
  }

  /** The model's name; may be empty. */
  public String name() {
    return name;
  }

  /** The nodes in program order. */
  public ImmutableList<Node> nodes() {
    return nodes;
  }

  /** Every value; position is {@link Value#id()}. */
  public ImmutableList<Value> values() {
    return values;
  }

  /** The inputs, in the order in which they were declared. */
  public ImmutableList<Value> inputs() {
    return inputs;
  }

  /** The variables, in the order in which they were declared. */
  public ImmutableList<Value> variables() {
    return variables;
  }

  /** The outputs; a value may occur twice, and may be an input, a constant or a variable. */
  public ImmutableList<Value> outputs() {
    return outputs;
  }

  /** The names of {@link #outputs()}, unique. */
  public ImmutableList<String> outputNames() {
    return outputNames;
  }

  /** The nodes on which {@code node} depends, in program order, each once. */
  public ImmutableList<Node> predecessors(Node node) {
    return nodesAt(predecessors[node.id()]);
  }

  /** The nodes that depend on {@code node}, in program order, each once. */
  public ImmutableList<Node> successors(Node node) {
    return nodesAt(successors[node.id()]);
  }

  private ImmutableList<Node> nodesAt(int[] ids) {
    return Arrays.stream(ids).mapToObj(nodes::get).collect(ImmutableList.toImmutableList());
  }

  /**
   * The dependencies as index arrays: for each node id the ids of its predecessors, in rising
   * order. A fresh copy, for the analyses that number the nodes.
   */
  public int[][] predecessorIds() {
    int[][] copy = new int[predecessors.length][];
    Arrays.setAll(copy, i -> predecessors[i].clone());
    return copy;
  }

  /** The dependencies as a Guava graph: a snapshot, nodes and edges in program order. */
  public ImmutableGraph<Node> asGraph() {
    ImmutableGraph.Builder<Node> graph =
        com.google.common.graph.GraphBuilder.directed()
            .allowsSelfLoops(false)
            .nodeOrder(ElementOrder.<Node>insertion())
            .<Node>immutable();
    nodes.forEach(graph::addNode);
    for (Node node : nodes) {
      predecessors(node).forEach(p -> graph.putEdge(p, node));
    }
    return graph.build();
  }

  /** The value of that name, or null. */
  public @Nullable Value valueNamed(String valueName) {
    return values.stream().filter(v -> v.name().equals(valueName)).findFirst().orElse(null);
  }

  /** A line a value and a node, in program order. */
  @Override
  public String toString() {
    StringBuilder text = new StringBuilder("graph ").append(name).append('\n');
    for (Value value : values) {
      if (value.kind() != Value.Kind.RESULT) {
        text.append("  ").append(value.kind()).append(' ').append(value).append('\n');
      }
    }
    for (Node node : nodes) {
      text.append("  ").append(node.outputs()).append(" = ").append(node.operator());
      text.append(node.inputs().stream().map(Value::name).toList()).append('\n');
    }
    for (int i = 0; i < outputs.size(); i++) {
      text.append("  OUTPUT ").append(outputNames.get(i)).append(" = ");
      text.append(outputs.get(i).name()).append('\n');
    }
    return text.toString();
  }
}
