package dev.nimble.transform;

import dev.nimble.graph.Graph;
import dev.nimble.graph.Value;
import dev.nimble.op.Identity;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
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
    List<Value> outputs = new ArrayList<>();
    for (int i = 0; i < graph.outputs().size(); i++) {
      Value output = graph.outputs().get(i);
      Value value = rewriter.map(output);
      boolean owned = output.kind() == Value.Kind.RESULT && seen.add(output);
      String name = "output " + graph.outputNames().get(i);
      outputs.add(owned ? value : rewriter.add(name, new Identity(), List.of(value)));
    }
    return rewriter.finish(outputs);
  }
}
