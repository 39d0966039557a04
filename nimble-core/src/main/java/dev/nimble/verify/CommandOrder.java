package dev.nimble.verify;

import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.plan.Command;
import dev.nimble.plan.ExecutionPlan;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Happens-before among nodes, rebuilt from the commands alone: commands of a stream in order, and a
 * record before each of its waits. A vector clock counts, for each stream, the launches that are
 * known to have finished; a stream's clock is replaced only when a wait teaches it something, so
 * nodes share it.
 */
final class CommandOrder {
  private final int[] stream;
  private final int[] turn;
  private final int[] issued;
  private final int[] @Nullable [] known;
  private final @Nullable Command[] commandOf;

  private CommandOrder(int nodes) {
    stream = new int[nodes];
    turn = new int[nodes];
    issued = new int[nodes];
    known = new int[nodes][];
    commandOf = new Command[nodes];
    Arrays.fill(issued, -1);
  }

  /**
   * Walks the commands; tells {@code violations} of nodes and events that are not as they must be.
   */
  static CommandOrder of(ExecutionPlan plan, Violations violations) {
    CommandOrder order = new CommandOrder(plan.graph().nodes().size());
    order.walk(plan, violations);
    for (Node node : plan.graph().nodes()) {
      if (order.issued[node.id()] < 0) {
        violations.add(node, "is never launched");
      }
    }
    return order;
  }

  private void walk(ExecutionPlan plan, Violations violations) {
    int streams = plan.streams();
    int[] launched = new int[streams];
    int[][] clock = new int[streams][streams];
    int[] @Nullable [] recorded = new int[plan.events()][];
    List<Command> commands = plan.commands();
    for (int index = 0; index < commands.size(); index++) {
      Command command = commands.get(index);
      int s = command.stream();
      if (s < 0 || s >= streams) {
        violations.add("command " + index + " is on stream " + s + " of " + streams);
      } else if (command instanceof Command.RecordEvent) {
        int event = ((Command.RecordEvent) command).event();
        if (isEvent(event, index, plan, violations)) {
          if (recorded[event] != null) {
            violations.add("event " + event + " is recorded twice, again by command " + index);
          }
          recorded[event] = clock[s].clone();
          recorded[event][s] = launched[s];
        }
      } else if (command instanceof Command.WaitEvent) {
        int event = ((Command.WaitEvent) command).event();
        if (isEvent(event, index, plan, violations)) {
          int[] seen = recorded[event];
          if (seen == null) {
            violations.add(
                "command "
                    + index
                    + " makes stream "
                    + s
                    + " wait for event "
                    + event
                    + ", which is not recorded before");
          } else {
            clock[s] = later(clock[s], seen);
          }
        }
      } else {
        Node node = nodeOf(command);
        if (belongs(node, plan.graph(), violations)) {
          if (issued[node.id()] >= 0) {
            violations.add(node, "is launched twice, again by command " + index);
          }
          stream[node.id()] = s;
          turn[node.id()] = launched[s]++;
          issued[node.id()] = index;
          known[node.id()] = clock[s];
          commandOf[node.id()] = command;
        }
      }
    }
  }

  private static boolean isEvent(int event, int index, ExecutionPlan plan, Violations violations) {
    if (event >= 0 && event < plan.events()) {
      return true;
    }
    violations.add("command " + index + " names event " + event + " of " + plan.events());
    return false;
  }

  private static boolean belongs(Node node, Graph graph, Violations violations) {
    if (node.id() < graph.nodes().size() && graph.nodes().get(node.id()) == node) {
      return true;
    }
    violations.add(node, "is launched but belongs to another graph");
    return false;
  }

  private static Node nodeOf(Command command) {
    return command instanceof Command.Launch
        ? ((Command.Launch) command).node()
        : ((Command.View) command).node();
  }

  private static int[] later(int[] a, int[] b) {
    int[] both = a.clone();
    for (int s = 0; s < both.length; s++) {
      both[s] = Math.max(both[s], b[s]);
    }
    return both;
  }

  /**
   * Whether node {@code a} has finished whenever node {@code b} starts; false if they are the same.
   */
  boolean before(int a, int b) {
    int[] clock = known[b];
    if (issued[a] < 0 || clock == null) {
      return false;
    }
    return stream[a] == stream[b] ? turn[a] < turn[b] : turn[a] < clock[stream[a]];
  }

  /** The stream of a node that has been issued. */
  int streamOf(int node) {
    return stream[node];
  }

  /** The place of its command in the plan, or -1. */
  int issued(int node) {
    return issued[node];
  }

  /** The command that launches or shows the node, or null. */
  @Nullable Command commandOf(int node) {
    return commandOf[node];
  }
}
