package dev.nimble.view;

import dev.nimble.graph.Node;
import dev.nimble.schedule.Schedule;
import dev.nimble.schedule.Sync;
import java.util.HashSet;
import java.util.Set;

/** Writes a schedule in Graphviz's language. */
final class DotView {
  private DotView() {}

  static String draw(Schedule schedule) {
    StringBuilder dot = new StringBuilder("digraph ").append(quoted(schedule.graph().name()));
    dot.append(" {\n  node [shape=box, style=filled, fontname=\"sans-serif\", fontsize=10];\n");
    for (Node node : schedule.graph().nodes()) {
      int stream = schedule.streamOf(node);
      dot.append("  n").append(node.id());
      dot.append(" [label=").append(quoted(node.name() + "\n" + node.operator().name()));
      dot.append(", tooltip=").append(quoted(node.outputs() + "\nstream " + stream));
      dot.append(", fillcolor=\"").append(Palette.ofStream(stream)).append("\"];\n");
    }
    Set<Sync> syncs = new HashSet<>(schedule.syncs());
    for (Node to : schedule.graph().nodes()) {
      for (Node from : schedule.graph().predecessors(to)) {
        dot.append("  n").append(from.id()).append(" -> n").append(to.id());
        dot.append(syncs.remove(new Sync(from, to)) ? " [style=dashed, color=red];\n" : ";\n");
      }
    }
    for (Sync sync : schedule.syncs()) {
      if (syncs.contains(sync)) { // a sync that stands for an implied order, not for a direct edge
        dot.append("  n").append(sync.from().id()).append(" -> n").append(sync.to().id());
        dot.append(" [style=dashed, color=red, constraint=false];\n");
      }
    }
    return dot.append("}\n").toString();
  }

  private static String quoted(String text) {
    return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n") + '"';
  }
}
