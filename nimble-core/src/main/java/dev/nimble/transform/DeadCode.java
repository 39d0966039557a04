package dev.nimble.transform;

import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Value;

/** Keeps what an output, or an update of a variable, depends on. */
final class DeadCode {
  private DeadCode() {}

  static Graph apply(Graph graph) {
    boolean[] live = new boolean[graph.nodes().size()];
    graph.outputs().forEach(output -> mark(output, live));
    for (int i = live.length - 1; i >= 0; i--) { // readers come later, so they are decided already
      Node node = graph.nodes().get(i);
      live[i] |= !node.operator().mutatedInputs().isEmpty();
      if (live[i]) {
        node.inputs().forEach(input -> mark(input, live));
      }
    }
    Rewriter rewriter = new Rewriter(graph);
    for (Node node : graph.nodes()) {
      if (live[node.id()]) {
        rewriter.copy(node);
      }
    }
    return rewriter.finish();
  }

  private static void mark(Value value, boolean[] live) {
    Node producer = value.producer();
    if (producer != null) {
      live[producer.id()] = true;
    }
  }
}
