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

  /**
   * Everything at once, as one HTML page that needs nothing else: the DAG, the timeline of a
   * replay, the arena over the same time, the critical path, and what bounds the step. It is safe
   * to open whatever names the model has: text is escaped, and the page forbids itself every script
   * but its own and all network access. Write it as UTF-8 or ASCII.
   *
   * @param plan what was replayed
   * @param timeline one replay of it
   * @param replayNanos what a replay without timing takes, for comparison; 0 if not measured
   * @throws dev.nimble.error.InvalidArgumentException if the timeline is of another plan
   */
  public static String planHtml(ExecutionPlan plan, Timeline timeline, long replayNanos) {
    return PlanPage.write(plan, timeline, replayNanos);
  }
}
