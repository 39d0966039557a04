package dev.nimble.transform;

import dev.nimble.graph.Graph;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Node;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Builds a new graph while walking an old one in program order. Constants come along when they are
 * used.
 *
 * <p>A pass that computes something at another place than the old graph did asks {@link
 * #readsTheSame} first, so that no read of a variable crosses an update.
 */
final class Rewriter {
  private final Graph old;
  private final GraphBuilder builder;
  private final @Nullable Value[] replacements;

  /** For each variable of the new graph, the node that updated it last. */
  private final Map<Value, Node> lastUpdates = new HashMap<>();

  private boolean changed;

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

  /** A new constant. */
  Value constant(String name, Tensor contents) {
    return builder.constant(name, contents);
  }

  /** Lets {@code replacement}, of the new graph, stand for an old value. */
  void replace(Value value, Value replacement) {
    changed = true;
    stand(value, replacement);
  }

  private void stand(Value value, Value replacement) {
    if (!value.type().equals(replacement.type())) {
      throw new IllegalStateException(value + " cannot become " + replacement);
    }
    replacements[value.id()] = replacement;
  }

  /** The node as it is. */
  void copy(Node node) {
    make(node, node.operator(), map(node.inputs()));
  }

  /** Another operator, on values of the new graph, under the node's name and for its outputs. */
  void emit(Node node, Operator operator, List<Value> inputs) {
    changed = true;
    make(node, operator, inputs);
  }

  private void make(Node node, Operator operator, List<Value> inputs) {
    Node made =
        builder.add(
            node.name(), operator, inputs, node.outputs().stream().map(Value::name).toList());
    made.mutatedVariables().forEach(variable -> lastUpdates.put(variable, made));
    for (int i = 0; i < node.outputs().size(); i++) {
      stand(node.outputs().get(i), made.outputs().get(i));
    }
  }

  /** A node that the old graph has not: of one output, on values of the new graph. */
  Value add(String name, Operator operator, List<Value> inputs) {
    changed = true;
    return builder.add(name, operator, inputs).output();
  }

  /**
   * Whether {@code made}, a node of the new graph, would compute the same if it were the next: none
   * of the variables that it reads has been updated since.
   */
  boolean readsTheSame(Node made) {
    if (!made.operator().mutatedInputs().isEmpty()) {
      return false;
    }
    for (Value input : made.inputs()) {
      Node update = lastUpdates.get(input);
      if (update != null && update.id() > made.id()) {
        return false;
      }
    }
    return true;
  }

  /** For each value of the new graph the number of the node that updated it last, or -1. */
  List<Integer> versions(List<Value> values) {
    List<Integer> versions = new ArrayList<>(values.size());
    for (Value value : values) {
      Node update = lastUpdates.get(value);
      versions.add(update == null ? -1 : update.id());
    }
    return versions;
  }

  /** The new graph, with the old one's outputs; the old graph itself if nothing has changed. */
  Graph finish() {
    List<Value> outputs = map(old.outputs());
    return finish(outputs);
  }

  /** The new graph, with other values under the old one's output names. */
  Graph finish(List<Value> outputs) {
    for (int i = 0; i < outputs.size(); i++) {
      builder.output(old.outputNames().get(i), outputs.get(i));
    }
    Graph made = builder.build();
    boolean same =
        !changed
            && made.nodes().size() == old.nodes().size()
            && made.values().size() == old.values().size();
    return same ? old : made;
  }
}
