package dev.nimble.view;

import dev.nimble.buffer.Slice;
import dev.nimble.graph.Node;
import dev.nimble.graph.Value;
import dev.nimble.plan.ExecutionPlan;

/** Draws the arena: a box for each value, from its definition to its last use in launch order. */
final class ArenaSvg {
  private static final double WIDTH = 1000;
  private static final double HEIGHT = 420;
  private static final double LEFT = 60;
  private static final double TOP = 40;

  private ArenaSvg() {}

  static String draw(ExecutionPlan plan) {
    int nodes = plan.graph().nodes().size();
    int[] position = new int[nodes];
    for (int i = 0; i < nodes; i++) {
      position[plan.schedule().launchOrder().get(i).id()] = i;
    }
    int[] lastUse = new int[plan.graph().values().size()];
    for (Node node : plan.graph().nodes()) {
      int at = position[node.id()];
      node.outputs().forEach(output -> lastUse[output.id()] = Math.max(lastUse[output.id()], at));
      node.inputs().forEach(input -> lastUse[input.id()] = Math.max(lastUse[input.id()], at));
    }
    long arena = Math.max(1, plan.memory().arenaBytes());
    double perNode = WIDTH / Math.max(1, nodes);
    double perByte = HEIGHT / arena;
    Svg svg = new Svg(LEFT + WIDTH + 20, TOP + HEIGHT + 40);
    svg.text(
        LEFT,
        20,
        String.format(
            "%s: arena %,d bytes, lower bound in launch order %,d, naive sum %,d",
            plan.graph().name(),
            plan.memory().arenaBytes(),
            plan.memory().lowerBoundBytes(),
            plan.memory().naiveBytes()));
    for (Value value : plan.graph().values()) {
      Slice slice = plan.sliceOf(value);
      Node producer = value.producer();
      if (slice.region() == Slice.Region.ARENA && producer != null && slice.size() > 0) {
        int from = position[producer.id()];
        box(
            svg,
            slice,
            from,
            lastUse[value.id()],
            perNode,
            perByte,
            Palette.ofStream(plan.schedule().streamOf(producer)),
            value.toString());
      }
    }
    plan.memory()
        .workspaces()
        .forEach(
            (node, slice) ->
                box(
                    svg,
                    slice,
                    position[node.id()],
                    position[node.id()],
                    perNode,
                    perByte,
                    "#bbbbbb",
                    "workspace of " + node.name()));
    svg.line(LEFT, TOP, LEFT, TOP + HEIGHT, "#333");
    svg.line(LEFT, TOP + HEIGHT, LEFT + WIDTH, TOP + HEIGHT, "#333");
    for (int i = 0; i <= 4; i++) {
      svg.text(4, TOP + HEIGHT * (4 - i) / 4 + 4, String.format("%.2f MB", arena * i / 4 / 1e6));
    }
    svg.text(
        LEFT,
        TOP + HEIGHT + 20,
        "launch order, " + nodes + " nodes; a colour a stream, workspaces grey");
    return svg.toString();
  }

  private static void box(
      Svg svg,
      Slice slice,
      int from,
      int to,
      double perNode,
      double perByte,
      String colour,
      String title) {
    double height = slice.size() * perByte;
    svg.box(
        LEFT + from * perNode,
        TOP + HEIGHT - slice.offset() * perByte - height,
        Math.max(1, (to - from + 1) * perNode),
        height,
        colour,
        title + "\n" + slice);
  }
}
