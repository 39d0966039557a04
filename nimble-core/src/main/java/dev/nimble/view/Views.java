package dev.nimble.view;

import dev.nimble.plan.ExecutionPlan;
import dev.nimble.plan.Timeline;
import dev.nimble.schedule.Schedule;

/** Draws schedules, memory plans and timelines. */
public final class Views {
  private Views() {}

  /** The DAG in Graphviz's language: a colour a stream; syncs dashed, other dependencies solid. */
  public static String dot(Schedule schedule) {
    return DotView.draw(schedule);
  }

  /**
   * The schedule as a picture: a column a stream, a row a level of the DAG; syncs are curves
   * between columns. Titles show each node's operator and types when hovered over.
   */
  public static String scheduleSvg(Schedule schedule) {
    return ScheduleSvg.draw(schedule);
  }

  /** The arena as a picture: launch order from left to right, bytes from bottom to top. */
  public static String arenaSvg(ExecutionPlan plan) {
    return ArenaSvg.draw(plan);
  }

  /**
   * A replay in the Trace Event Format that Perfetto and Chrome's tracing page open: a process for
   * the streams of the plan and one for the workers that ran them; times in microseconds.
   */
  public static String traceJson(Timeline timeline) {
    return TraceJson.write(timeline);
  }
}
