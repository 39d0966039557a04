package dev.nimble.transform;

import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Computes equal nodes once, and holds equal constants once. Readers of a variable are equal only
 * if no update lies between them.
 */
final class CommonSubexpressions {
  private static final int MOST_HASHED_BYTES = 256;

  private CommonSubexpressions() {}

  /** A constant, compared by its bytes. */
  private record Contents(Tensor tensor) {
    @Override
    public boolean equals(Object other) {
      return other instanceof Contents && tensor.bitwiseEquals(((Contents) other).tensor);
    }

    /** Of the type and some of the bytes: weights are large, and equality looks at all of them. */
    @Override
    public int hashCode() {
      ByteBuffer bytes = tensor.bytes();
      int hash = tensor.type().hashCode();
      int step = Math.max(1, bytes.limit() / MOST_HASHED_BYTES);
      for (int i = 0; i < bytes.limit(); i += step) {
        hash = 31 * hash + bytes.get(i);
      }
      return hash;
    }
  }

  /** What a node computes, on values of the new graph, after which updates of these. */
  private record Computation(Operator operator, List<Value> inputs, List<Integer> versions) {}

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
      List<Value> inputs = rewriter.map(node.inputs());
      Computation key = new Computation(node.operator(), inputs, rewriter.versions(inputs));
      boolean pure = node.operator().mutatedInputs().isEmpty();
      Node twin = pure ? seen.putIfAbsent(key, node) : null;
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
