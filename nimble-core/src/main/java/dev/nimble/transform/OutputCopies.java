package dev.nimble.transform;

import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Value;
import dev.nimble.op.Identity;
import java.util.HashSet;
import java.util.Set;

/**
 * Makes every graph output the result of a node, and no two outputs the same value, by copies at
 * the end of program order: planning gives each output memory of its own. Required before planning;
 * not a choice.
 */
public final class OutputCopies {
  private OutputCopies() {}

  /** Returns {@code graph} itself if it has that form already. */
  public static Graph apply(Graph graph) {
    Set<Value> seen = new HashSet<>();
    boolean fits = true;
    for (Value output : graph.outputs()) {
      fits &= output.kind() == Value.Kind.RESULT && seen.add(output);
    }
    if (fits) {
      return graph;
    }
    Rewriter rewriter = new Rewriter(graph);
    graph.nodes().forEach(rewriter::copy);
    seen.clear();
    for (int i = 0; i < graph.outputs().size(); i++) {
      Value output = graph.outputs().get(i);
      String name = graph.outputNames().get(i);
      Value value = rewriter.map(output);
      if (output.kind() != Value.Kind.RESULT || !seen.add(output)) {
        Node copy =
            rewriter.builder().add("output " + name, new Identity(), java.util.List.of(value));
        value = copy.output();
      }
      rewriter.builder().output(name, value);
    }
    return rewriter.builder().build();
  }
}
