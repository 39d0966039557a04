package dev.nimble.jfr;

import jdk.jfr.Category;
import jdk.jfr.DataAmount;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** An engine has been prepared, or loaded from a plan file: {@code dev.nimble.Prepare}. */
@Name("dev.nimble.Prepare")
@Label("Prepare")
@Description("A graph was planned, or its plan loaded; verified and recorded on a device")
@Category("Nimble")
@StackTrace(false)
public final class PrepareEvent extends Event {
  @Label("Graph")
  private String graph = "";

  @Label("Plan file")
  @Description("That the plan was loaded from; empty if it was made")
  private String planFile = "";

  @Label("Device")
  private String device = "";

  @Label("Policy")
  private String policy = "";

  @Label("Nodes")
  @Description("After transforms")
  private int nodes;

  @Label("Streams")
  private int streams;

  @Label("Syncs")
  private int syncs;

  @Label("Arena")
  @DataAmount
  private long arenaBytes;

  private PrepareEvent() {}

  /** Starts the clock. */
  public static PrepareEvent start() {
    PrepareEvent event = new PrepareEvent();
    event.begin();
    return event;
  }

  /** Starts the clock of loading a plan from {@code file}. */
  public static PrepareEvent startOfLoad(String file) {
    PrepareEvent event = start();
    event.planFile = file;
    return event;
  }

  /** What was prepared, and on what. */
  public PrepareEvent of(String graphName, String deviceName, String policyName) {
    graph = graphName;
    device = deviceName;
    policy = policyName;
    return this;
  }

  /** Stops the clock and writes the event, where a recording asks for it. */
  public void done(int nodeCount, int streamCount, int syncCount, long bytesOfArena) {
    nodes = nodeCount;
    streams = streamCount;
    syncs = syncCount;
    arenaBytes = bytesOfArena;
    commit();
  }
}
