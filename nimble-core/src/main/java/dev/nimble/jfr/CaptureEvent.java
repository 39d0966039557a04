package dev.nimble.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A model has been made into a graph: {@code dev.nimble.Capture}. */
@Name("dev.nimble.Capture")
@Label("Capture")
@Description("A model file was imported, or a model written in Java was traced, into a graph")
@Category("Nimble")
@StackTrace(false)
public final class CaptureEvent extends Event {
  @Label("Source")
  @Description("The model file, or java for a traced model")
  private String source = "";

  @Label("Graph")
  private String graph = "";

  @Label("Nodes")
  private int nodes;

  private CaptureEvent() {}

  /** Starts the clock. */
  public static CaptureEvent start() {
    CaptureEvent event = new CaptureEvent();
    event.begin();
    return event;
  }

  /** Stops it and writes the event, where a recording asks for it. */
  public void done(String from, String graphName, int nodeCount) {
    source = from;
    graph = graphName;
    nodes = nodeCount;
    commit();
  }
}
