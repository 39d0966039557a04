package dev.nimble.verify;

import dev.nimble.buffer.BufferUse;
import dev.nimble.buffer.BufferUse.Access;
import dev.nimble.graph.Node;
import dev.nimble.plan.Command;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.testkit.SymbolicReplay;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What is wrong with a plan, by the textbook and by brute force: without data races every
 * interleaving equals the issue order, so a plan is right if no two conflicting accesses are
 * unordered and the issue order computes the right thing. Happens-before is a transitive closure
 * over single commands.
 */
final class RaceOracle {
  private final ExecutionPlan plan;
  private final List<Command> commands;
  private final BitSet[] after;

  private RaceOracle(ExecutionPlan plan) {
    this.plan = plan;
    this.commands = plan.commands();
    this.after = closure();
  }

  /** The first fault that could show in a result, or null. */
  static @Nullable String harm(ExecutionPlan plan) {
    String race = new RaceOracle(plan).race();
    return race == null ? SymbolicReplay.runInOrder(plan) : race;
  }

  /** A dependency of the graph that the commands leave open, harmful or not; or null. */
  static @Nullable String openDependency(ExecutionPlan plan) {
    RaceOracle oracle = new RaceOracle(plan);
    Map<Node, Integer> place = new HashMap<>();
    for (int i = 0; i < oracle.commands.size(); i++) {
      Node node = nodeOf(oracle.commands.get(i));
      if (node != null) {
        place.put(node, i);
      }
    }
    for (Node node : plan.graph().nodes()) {
      for (Node predecessor : plan.graph().predecessors(node)) {
        Integer first = place.get(predecessor);
        Integer second = place.get(node);
        if (first == null || second == null || !oracle.after[first].get(second)) {
          return predecessor.name() + " -> " + node.name();
        }
      }
    }
    return null;
  }

  static @Nullable Node nodeOf(Command command) {
    if (command instanceof Command.Launch) {
      return ((Command.Launch) command).node();
    }
    return command instanceof Command.View ? ((Command.View) command).node() : null;
  }

  private BitSet[] closure() {
    int count = commands.size();
    Map<Integer, Integer> lastOf = new HashMap<>();
    Map<Integer, Integer> recordOf = new HashMap<>();
    List<List<Integer>> next = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      next.add(new ArrayList<>());
      Integer last = lastOf.put(commands.get(i).stream(), i);
      if (last != null) {
        next.get(last).add(i);
      }
      if (commands.get(i) instanceof Command.RecordEvent) {
        recordOf.put(((Command.RecordEvent) commands.get(i)).event(), i);
      } else if (commands.get(i) instanceof Command.WaitEvent) {
        Integer record = recordOf.get(((Command.WaitEvent) commands.get(i)).event());
        if (record != null) {
          next.get(record).add(i);
        }
      }
    }
    BitSet[] reached = new BitSet[count];
    for (int i = count - 1; i >= 0; i--) {
      reached[i] = new BitSet(count);
      for (int j : next.get(i)) {
        reached[i].set(j);
        reached[i].or(reached[j]);
      }
    }
    return reached;
  }

  private @Nullable String race() {
    for (int i = 0; i < commands.size(); i++) {
      for (int j = i + 1; j < commands.size(); j++) {
        if (commands.get(i) instanceof Command.Launch
            && commands.get(j) instanceof Command.Launch
            && !after[i].get(j)
            && conflict((Command.Launch) commands.get(i), (Command.Launch) commands.get(j))) {
          return "race of " + commands.get(i) + " and " + commands.get(j);
        }
      }
    }
    return null;
  }

  private static boolean conflict(Command.Launch a, Command.Launch b) {
    for (BufferUse p : a.uses()) {
      for (BufferUse q : b.uses()) {
        if ((p.access() != Access.READ || q.access() != Access.READ)
            && p.slice().overlaps(q.slice())) {
          return true;
        }
      }
    }
    return false;
  }
}
