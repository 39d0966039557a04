package dev.nimble.jfr;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/**
 * A step has been replayed: {@code dev.nimble.Replay}. One object serves all steps of an engine, so
 * that a step allocates nothing, recorded or not; whoever holds it serialises {@link #begin} to
 * {@link #done}.
 */
@Name("dev.nimble.Replay")
@Label("Replay")
@Description("A recorded step was replayed, from its first launch until its outputs were complete")
@Category("Nimble")
@StackTrace(false)
public final class ReplayEvent extends Event {
  @Label("Graph")
  private final String graph;

  @Label("Nodes")
  private final int nodes;

  @Label("Streams")
  private final int streams;

  /** The event of an engine's steps. */
  public ReplayEvent(String graph, int nodes, int streams) {
    this.graph = graph;
    this.nodes = nodes;
    this.streams = streams;
  }

  /** Stops the clock that {@link #begin} started and writes the event. */
  public void done() {
    end(); // always: else a second use would keep the first one's duration
    commit();
  }
}
