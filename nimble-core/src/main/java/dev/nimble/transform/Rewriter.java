package dev.nimble.transform;

import dev.nimble.graph.Graph;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Node;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Value;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Builds a new graph while walking an old one in program order. Constants come along when they are
 * used.
 */
final class Rewriter {
  private final Graph old;
  private final GraphBuilder builder;
  private final @Nullable Value[] replacements;

  Rewriter(Graph old) {
    this.old = old;
    this.builder = new GraphBuilder(old.name());
    this.replacements = new @Nullable Value[old.values().size()];
    for (Value value : old.values()) {
      if (value.kind() == Value.Kind.INPUT) {
        replacements[value.id()] = builder.input(value.name(), value.type());
      } else if (value.kind() == Value.Kind.VARIABLE) {
        replacements[value.id()] = builder.variable(value.name(), value.contents());
      }
    }
  }

  GraphBuilder builder() {
    return builder;
  }

  /** What stands for an old value in the new graph. */
  Value map(Value value) {
    Value replacement = replacements[value.id()];
    if (replacement == null) {
      if (value.kind() != Value.Kind.CONSTANT) {
        throw new IllegalStateException(value + " is read but was not rewritten");
      }
      replacement = builder.constant(value.name(), value.contents());
      replacements[value.id()] = replacement;
    }
    return replacement;
  }

  List<Value> map(List<Value> values) {
    List<Value> mapped = new ArrayList<>(values.size());
    values.forEach(value -> mapped.add(map(value)));
    return mapped;
  }

  /** Lets {@code replacement}, of the new graph, stand for an old value. */
  void replace(Value value, Value replacement) {
    if (!value.type().equals(replacement.type())) {
      throw new IllegalStateException(value + " cannot become " + replacement);
    }
    replacements[value.id()] = replacement;
  }

  /** The node as it is. */
  void copy(Node node) {
    emit(node, node.operator(), map(node.inputs()));
  }

  /** Another operator, on values of the new graph, under the node's name and for its outputs. */
  void emit(Node node, Operator operator, List<Value> inputs) {
    Node made =
        builder.add(
            node.name(), operator, inputs, node.outputs().stream().map(Value::name).toList());
    for (int i = 0; i < node.outputs().size(); i++) {
      replace(node.outputs().get(i), made.outputs().get(i));
    }
  }

  /** The new graph, with the old one's outputs. */
  Graph finish() {
    for (int i = 0; i < old.outputs().size(); i++) {
      builder.output(old.outputNames().get(i), map(old.outputs().get(i)));
    }
    return builder.build();
  }
}
