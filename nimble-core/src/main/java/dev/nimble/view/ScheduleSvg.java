package dev.nimble.view;

import dev.nimble.graph.Node;
import dev.nimble.schedule.Schedule;
import dev.nimble.schedule.Sync;

/** Draws a schedule: a column a stream, a row a level of the DAG. */
final class ScheduleSvg {
  private static final double COLUMN = 110;
  private static final double ROW = 26;
  private static final double BOX_WIDTH = 92;
  private static final double BOX_HEIGHT = 16;
  private static final double LEFT = 20;
  private static final double TOP = 56;

  private ScheduleSvg() {}

  static String draw(Schedule schedule) {
    int[] rows = rows(schedule);
    int lastRow = 0;
    for (int row : rows) {
      lastRow = Math.max(lastRow, row);
    }
    double width = Math.max(520, 2 * LEFT + schedule.streams() * COLUMN);
    Svg svg = new Svg(width, TOP + (lastRow + 1) * ROW + 20);
    svg.text(
        LEFT,
        18,
        String.format(
            "%s, policy %s: %d nodes, %d streams, %d syncs, degree of logical concurrency %d",
            schedule.graph().name(),
            schedule.policy(),
            schedule.graph().nodes().size(),
            schedule.streams(),
            schedule.syncs().size(),
            schedule.concurrencyDegree()));
    int[] lastRowOf = new int[schedule.streams()];
    java.util.Arrays.fill(lastRowOf, -1);
    for (int stream = 0; stream < schedule.streams(); stream++) {
      svg.centred(x(stream), TOP - 14, "stream " + stream);
    }
    for (Node node : schedule.launchOrder()) { // program order within each stream, as lines
      int stream = schedule.streamOf(node);
      int row = rows[node.id()];
      if (lastRowOf[stream] >= 0) {
        svg.line(x(stream), y(lastRowOf[stream]) + BOX_HEIGHT, x(stream), y(row), "#999");
      }
      lastRowOf[stream] = row;
    }
    for (Sync sync : schedule.syncs()) {
      svg.curve(
          x(schedule.streamOf(sync.from())),
          y(rows[sync.from().id()]) + BOX_HEIGHT,
          x(schedule.streamOf(sync.to())),
          y(rows[sync.to().id()]),
          "#c33");
    }
    for (Node node : schedule.launchOrder()) {
      int stream = schedule.streamOf(node);
      double top = y(rows[node.id()]);
      svg.box(
          x(stream) - BOX_WIDTH / 2,
          top,
          BOX_WIDTH,
          BOX_HEIGHT,
          Palette.ofStream(stream),
          node + "\n" + node.inputs() + " -> " + node.outputs());
      svg.centred(x(stream), top + 12, shortened(node.operator().name()));
    }
    return svg.toString();
  }

  /** A row for each node: below its predecessors, and below the node before it on its stream. */
  private static int[] rows(Schedule schedule) {
    int[] rows = new int[schedule.graph().nodes().size()];
    int[] nextRow = new int[schedule.streams()];
    for (Node node : schedule.launchOrder()) {
      int stream = schedule.streamOf(node);
      int row = nextRow[stream];
      for (Node predecessor : schedule.graph().predecessors(node)) {
        row = Math.max(row, rows[predecessor.id()] + 1);
      }
      rows[node.id()] = row;
      nextRow[stream] = row + 1;
    }
    return rows;
  }

  private static String shortened(String label) {
    return label.length() <= 15 ? label : label.substring(0, 14) + "…";
  }

  private static double x(int stream) {
    return LEFT + (stream + 0.5) * COLUMN;
  }

  private static double y(int row) {
    return TOP + row * ROW;
  }
}
