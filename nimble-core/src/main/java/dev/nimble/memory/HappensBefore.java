package dev.nimble.memory;

import dev.nimble.error.InvalidPlanException;
import dev.nimble.graph.Node;
import dev.nimble.schedule.Schedule;
import dev.nimble.schedule.Sync;
import java.util.Arrays;
import java.util.List;

/**
 * The happens-before relation of a schedule: stream order and syncs, closed under transitivity.
 * Held as one vector clock a node (how many nodes of each stream have finished before it starts),
 * which nodes of a stream share until the next sync; so memory is {@code O(nodes + (streams +
 * syncs) * streams)} and a query is one comparison.
 */
final class HappensBefore {
  private final int[] streamOf;
  private final int[] position;
  private final int[] launchIndex;
  private final int[][] clocks;
  private final int[][] nodesOf;

  /**
   * Reads the relation off a schedule.
   *
   * @throws InvalidPlanException if the launch order does not hold every node once, or a sync leads
   *     backwards in it
   */
  HappensBefore(Schedule schedule) {
    int nodes = schedule.graph().nodes().size();
    int streams = schedule.streams();
    streamOf = schedule.streamOf().toArray();
    position = new int[nodes];
    launchIndex = new int[nodes];
    clocks = new int[nodes][];
    nodesOf = new int[streams][];
    List<Node> order = schedule.launchOrder();
    checkLaunchOrder(order, nodes);
    int[] counts = new int[streams];
    for (Node node : order) {
      position[node.id()] = counts[streamOf[node.id()]]++;
    }
    Arrays.setAll(nodesOf, s -> new int[counts[s]]);
    for (Node node : order) {
      nodesOf[streamOf[node.id()]][position[node.id()]] = node.id();
    }
    advanceClocks(order, syncsInto(schedule, nodes), streams);
  }

  private void checkLaunchOrder(List<Node> order, int nodes) {
    Arrays.fill(launchIndex, -1);
    for (int i = 0; i < order.size(); i++) {
      Node node = order.get(i);
      if (launchIndex[node.id()] >= 0) {
        throw new InvalidPlanException("the launch order holds this node twice", node.location());
      }
      launchIndex[node.id()] = i;
    }
    if (order.size() != nodes) {
      throw new InvalidPlanException(
          "the launch order holds " + order.size() + " of " + nodes + " nodes");
    }
  }

  private int[][] syncsInto(Schedule schedule, int nodes) {
    int[][] into = new int[nodes][];
    for (Sync sync : schedule.syncs()) {
      int from = sync.from().id();
      int to = sync.to().id();
      if (launchIndex[from] >= launchIndex[to]) {
        throw new InvalidPlanException(
            "it waits for node '" + sync.from().name() + "', which is launched later",
            sync.to().location());
      }
      int[] old = into[to];
      into[to] = old == null ? new int[1] : Arrays.copyOf(old, old.length + 1);
      into[to][into[to].length - 1] = from;
    }
    return into;
  }

  private void advanceClocks(List<Node> order, int[][] syncsInto, int streams) {
    int[][] current = new int[streams][streams];
    for (Node node : order) {
      int id = node.id();
      int stream = streamOf[id];
      if (syncsInto[id] != null) {
        int[] clock = current[stream].clone();
        for (int from : syncsInto[id]) {
          int[] seen = clocks[from];
          for (int s = 0; s < streams; s++) {
            clock[s] = Math.max(clock[s], seen[s]);
          }
          clock[streamOf[from]] = Math.max(clock[streamOf[from]], position[from] + 1);
        }
        current[stream] = clock;
      }
      clocks[id] = current[stream];
    }
  }

  /**
   * Whether node {@code first} has finished whenever node {@code second} starts; false if equal.
   */
  boolean before(int first, int second) {
    return before(streamOf[first], position[first], second);
  }

  /** As {@link #before(int, int)}, for the node at {@code position} of {@code stream}. */
  boolean before(int stream, int positionOfFirst, int second) {
    return stream == streamOf[second]
        ? positionOfFirst < position[second]
        : positionOfFirst < clocks[second][stream];
  }

  int launches() {
    return launchIndex.length;
  }

  int streams() {
    return nodesOf.length;
  }

  int streamOf(int node) {
    return streamOf[node];
  }

  /** The node's place within its stream. */
  int position(int node) {
    return position[node];
  }

  /** The node's place within the launch order. */
  int launchIndex(int node) {
    return launchIndex[node];
  }

  /** The nodes of a stream in launch order; not to be modified. */
  int[] nodesOf(int stream) {
    return nodesOf[stream];
  }
}
