package dev.nimble.transform;

import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Computes equal nodes once, and holds equal constants once. */
final class CommonSubexpressions {
  private CommonSubexpressions() {}

  /** A constant, compared by its bytes. */
  private record Contents(Tensor tensor) {
    @Override
    public boolean equals(Object other) {
      return other instanceof Contents && tensor.bitwiseEquals(((Contents) other).tensor);
    }

    @Override
    public int hashCode() {
      return 31 * tensor.type().hashCode() + tensor.bytes().duplicate().rewind().hashCode();
    }
  }

  private record Computation(Operator operator, List<Value> inputs) {}

  static Graph apply(Graph graph) {
    Rewriter rewriter = new Rewriter(graph);
    Map<Contents, Value> constants = new HashMap<>();
    for (Value value : graph.values()) {
      if (value.kind() == Value.Kind.CONSTANT) {
        Value first = constants.putIfAbsent(new Contents(value.contents()), value);
        if (first != null) {
          rewriter.replace(value, rewriter.map(first));
        }
      }
    }
    Map<Computation, Node> seen = new HashMap<>();
    for (Node node : graph.nodes()) {
      Computation key =
          new Computation(node.operator(), new ArrayList<>(rewriter.map(node.inputs())));
      Node twin = Uses.touchesVariable(node) ? null : seen.putIfAbsent(key, node);
      if (twin == null) {
        rewriter.copy(node);
      } else {
        for (int i = 0; i < node.outputs().size(); i++) {
          rewriter.replace(node.outputs().get(i), rewriter.map(twin.outputs().get(i)));
        }
      }
    }
    return rewriter.finish();
  }
}
