package dev.nimble.capture;

import dev.nimble.error.InvalidModelException;
import dev.nimble.error.Location;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Operand;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import java.util.ArrayList;
import java.util.List;

/** Records operators as nodes of a graph. */
final class TracingOps extends Ops {
  private final GraphBuilder builder;

  TracingOps(GraphBuilder builder, Paths paths, boolean training) {
    super(paths, training);
    this.builder = builder;
  }

  @Override
  List<Operand> emit(String name, Operator operator, List<Operand> operands) {
    List<Value> values = new ArrayList<>(operands.size());
    for (Operand operand : operands) {
      values.add(value(operand, Location.ofNode(name, operator.name())));
    }
    return List.copyOf(builder.add(name, operator, values).outputs());
  }

  @Override
  Operand constant(String name, Tensor contents, boolean kept) {
    return builder.constant(name, contents);
  }

  @Override
  Operand variable(String name, Tensor initial) {
    return builder.variable(name, initial);
  }

  @Override
  boolean isVariable(Operand operand) {
    return operand instanceof Value && ((Value) operand).kind() == Value.Kind.VARIABLE;
  }

  /** Declares an output. */
  void output(String name, Operand operand) {
    builder.output(name, value(resolved(operand), Location.ofNode(name, "output")));
  }

  private static Value value(Operand operand, Location location) {
    if (!(operand instanceof Value)) {
      throw new InvalidModelException(
          "an operand was kept from eager execution: " + operand.type(), location);
    }
    return (Value) operand;
  }
}
