package dev.nimble.graph;

import com.google.common.collect.ImmutableList;
import dev.nimble.error.Location;
import java.util.List;
import java.util.stream.Collectors;

/**
 * One use of an {@link Operator} within a {@link Graph}. Compared by identity; {@link #id()} is its
 * position in {@link Graph#nodes()}.
 */
public final class Node {
  private final int id;
  private final String name;
  private final Operator operator;
  private final ImmutableList<Value> inputs;
  private final ImmutableList<Value> outputs;

  Node(
      int id,
      String name,
      Operator operator,
      List<Value> inputs,
      List<TensorType> types,
      int firstValue,
      List<String> outputNames) {
    this.id = id;
    this.name = name;
    this.operator = operator;
    this.inputs = ImmutableList.copyOf(inputs);
    ImmutableList.Builder<Value> made = ImmutableList.builder();
    for (int i = 0; i < types.size(); i++) {
      made.add(
          new Value(
              firstValue + i, outputNames.get(i), types.get(i), Value.Kind.RESULT, null, this, i));
    }
    this.outputs = made.build();
  }

  /** Position in {@link Graph#nodes()}; every predecessor has a smaller one. */
  public int id() {
    return id;
  }

  /** A name, unique within the graph. */
  public String name() {
    return name;
  }

  /** What it computes. */
  public Operator operator() {
    return operator;
  }

  /** Its operands, in the operator's order; one value may occur more than once. */
  public ImmutableList<Value> inputs() {
    return inputs;
  }

  /** Its results, in the operator's order; may be empty for a node that only updates variables. */
  public ImmutableList<Value> outputs() {
    return outputs;
  }

  /** The only output of a node that has one. */
  public Value output() {
    if (outputs.size() != 1) {
      throw new IllegalStateException(this + " has " + outputs.size() + " outputs");
    }
    return outputs.get(0);
  }

  /** The variables that it updates in place. */
  public List<Value> mutatedVariables() {
    return operator.mutatedInputs().stream().map(inputs::get).collect(Collectors.toList());
  }

  /** Name, operator and operand types, for error messages. */
  public Location location() {
    return Location.ofNode(name, operator.name(), typesOf(inputs));
  }

  static String typesOf(List<? extends Operand> operands) {
    return operands.stream().map(o -> o.type().toString()).collect(Collectors.joining(", "));
  }

  @Override
  public String toString() {
    return name + " = " + operator;
  }
}
