package dev.nimble.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** One stage of a preparation has ended: {@code dev.nimble.Stage}. */
@Name("dev.nimble.Stage")
@Label("Stage of prepare")
@Description("One stage of a preparation: transform, select, schedule, memory, verify or record")
@Category("Nimble")
@StackTrace(false)
public final class StageEvent extends Event {
  @Label("Graph")
  private final String graph;

  @Label("Stage")
  private String stage = "";

  private StageEvent(String graph) {
    this.graph = graph;
  }

  /** Starts the clock of the first stage. */
  public static StageEvent start(String graphName) {
    StageEvent event = new StageEvent(graphName);
    event.begin();
    return event;
  }

  /** Ends this stage, {@code name}, and starts the next. */
  public StageEvent next(String name) {
    stage = name;
    commit();
    return start(graph);
  }
}
