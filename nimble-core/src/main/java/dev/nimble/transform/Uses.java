package dev.nimble.transform;

import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Value;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Who reads each value of a graph. */
final class Uses {
  private final List<List<Node>> readers = new ArrayList<>();
  private final boolean[] isOutput;

  Uses(Graph graph) {
    graph.values().forEach(value -> readers.add(new ArrayList<>(1)));
    isOutput = new boolean[graph.values().size()];
    for (Node node : graph.nodes()) {
      for (Value input : node.inputs()) {
        List<Node> list = readers.get(input.id());
        if (list.isEmpty() || list.get(list.size() - 1) != node) {
          list.add(node);
        }
      }
    }
    graph.outputs().forEach(value -> isOutput[value.id()] = true);
  }

  /** The nodes that read {@code value}, in program order, each once. */
  List<Node> readers(Value value) {
    return readers.get(value.id());
  }

  boolean isOutput(Value value) {
    return isOutput[value.id()];
  }

  /**
   * The only node that reads {@code value}, if it is no graph output and there is exactly one; else
   * null.
   */
  @Nullable Node onlyReader(Value value) {
    List<Node> list = readers(value);
    return list.size() == 1 && !isOutput(value) ? list.get(0) : null;
  }

  /**
   * Whether {@code node}, which updates nothing, would compute the same at the place of {@code
   * later}: no variable that it reads is updated between them.
   */
  boolean readsTheSameAt(Node node, Node later) {
    if (!touchesVariable(node)) {
      return true;
    }
    for (Value input : node.inputs()) {
      if (input.kind() == Value.Kind.VARIABLE) {
        for (Node reader : readers(input)) {
          if (reader.id() >= node.id()
              && reader.id() < later.id()
              && reader.mutatedVariables().contains(input)) {
            return false;
          }
        }
      }
    }
    return true;
  }

  /** Whether a node reads or updates a variable, so that its place in program order matters. */
  static boolean touchesVariable(Node node) {
    for (Value input : node.inputs()) {
      if (input.kind() == Value.Kind.VARIABLE) {
        return true;
      }
    }
    return !node.operator().mutatedInputs().isEmpty();
  }
}
