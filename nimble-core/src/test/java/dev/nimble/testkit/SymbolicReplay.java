package dev.nimble.testkit;

import dev.nimble.buffer.BufferUse;
import dev.nimble.buffer.BufferUse.Access;
import dev.nimble.buffer.Slice;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Value;
import dev.nimble.plan.Command;
import dev.nimble.plan.ExecutionPlan;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Replays a plan on memory that holds, for every block of 256 bytes, not a number but the name of
 * what was written there; so a kernel sees at once whether it was given the right operands. A
 * launch takes time: it looks at its operands when it starts and again when it ends, and its
 * results are rubbish in between.
 */
public final class SymbolicReplay {
  private static final int CELL = Slice.ALIGNMENT;

  private final ExecutionPlan plan;
  private final Map<Slice.Region, String[]> memory = new EnumMap<>(Slice.Region.class);
  private final Map<Node, List<String>> expected = new HashMap<>();
  private final Map<Value, String> finalContents = new HashMap<>();
  private final Map<Value, String> shown = new HashMap<>();
  private final List<String> faults = new ArrayList<>();

  private SymbolicReplay(ExecutionPlan plan) {
    this.plan = plan;
    expect();
  }

  /**
   * Replays once, streams interleaved at random, and returns the first thing that went wrong, or
   * null.
   */
  public static @Nullable String run(ExecutionPlan plan, Random random) {
    SymbolicReplay replay = new SymbolicReplay(plan);
    replay.interleave(random);
    return replay.faults.isEmpty() ? null : replay.faults.get(0);
  }

  /** Replays once, command by command in issue order. */
  public static @Nullable String runInOrder(ExecutionPlan plan) {
    SymbolicReplay replay = new SymbolicReplay(plan);
    Set<Integer> fired = new HashSet<>();
    for (Command command : plan.commands()) {
      if (command instanceof Command.WaitEvent
          && !fired.contains(((Command.WaitEvent) command).event())) {
        replay.faults.add("waits for ever: " + command);
      } else if (command instanceof Command.RecordEvent) {
        fired.add(((Command.RecordEvent) command).event());
      } else if (command instanceof Command.Launch) {
        replay.start((Command.Launch) command);
        replay.finish((Command.Launch) command);
      }
    }
    replay.checkEnd();
    return replay.faults.isEmpty() ? null : replay.faults.get(0);
  }

  /** Derives from the graph alone what each operand is called. */
  private void expect() {
    Set<Node> views = new HashSet<>();
    for (Command command : plan.commands()) {
      if (command instanceof Command.View) {
        views.add(((Command.View) command).node());
      }
    }
    Graph graph = plan.graph();
    for (Value value : graph.values()) {
      if (value.kind() != Value.Kind.RESULT) {
        shown.put(value, value.name());
        write(plan.sliceOf(value), value.name());
      }
    }
    for (Node node : graph.nodes()) {
      expected.put(node, node.inputs().stream().map(v -> name(v)).toList());
      node.mutatedVariables().forEach(v -> shown.put(v, v.name() + " after " + node.name()));
      for (Value output : node.outputs()) {
        shown.put(output, views.contains(node) ? name(node.inputs().get(0)) : output.name());
      }
    }
    graph.inputs().forEach(v -> finalContents.put(v, name(v)));
    graph.variables().forEach(v -> finalContents.put(v, name(v)));
    graph.outputs().forEach(v -> finalContents.put(v, name(v)));
    for (Value value : graph.values()) {
      if (value.kind() == Value.Kind.CONSTANT) {
        finalContents.put(value, name(value));
      }
    }
  }

  private String name(Value value) {
    String name = shown.get(value);
    if (name == null) {
      throw new IllegalStateException(value + " has no contents");
    }
    return name;
  }

  private String[] cells(Slice slice) {
    int needed = Math.toIntExact((slice.end() + CELL - 1) / CELL);
    String[] cells = memory.computeIfAbsent(slice.region(), r -> new String[needed]);
    if (cells.length < needed) {
      cells = Arrays.copyOf(cells, needed);
      memory.put(slice.region(), cells);
    }
    return cells;
  }

  private void write(Slice slice, String name) {
    String[] cells = cells(slice);
    for (long i = slice.offset() / CELL; i * CELL < slice.end(); i++) {
      cells[(int) i] = name;
    }
  }

  private void check(Slice slice, String name, String who) {
    String[] cells = cells(slice);
    for (long i = slice.offset() / CELL; i * CELL < slice.end(); i++) {
      if (!name.equals(cells[(int) i])) {
        faults.add(who + " finds " + cells[(int) i] + " for " + name + " at " + slice);
        return;
      }
    }
  }

  private void start(Command.Launch launch) {
    Node node = launch.node();
    checkOperands(launch, false);
    for (BufferUse use : launch.uses()) {
      if (use.access() != Access.READ) {
        write(use.slice(), "rubbish of " + node.name());
      }
    }
  }

  private void finish(Command.Launch launch) {
    Node node = launch.node();
    checkOperands(launch, true);
    for (BufferUse use : launch.uses()) {
      if (use.access() != Access.READ) {
        check(use.slice(), "rubbish of " + node.name(), node.name());
      }
    }
    int inputs = node.inputs().size();
    for (int i = 0; i < launch.uses().size(); i++) {
      BufferUse use = launch.uses().get(i);
      if (use.access() == Access.UPDATE) {
        write(use.slice(), node.inputs().get(i).name() + " after " + node.name());
      } else if (use.access() == Access.WRITE) {
        write(use.slice(), node.outputs().get(i - inputs).name());
      } else if (use.access() == Access.SCRATCH) {
        write(use.slice(), "scratch of " + node.name());
      }
    }
    for (int i = inputs; i < inputs + node.outputs().size(); i++) {
      check(launch.uses().get(i).slice(), node.outputs().get(i - inputs).name(), node.name());
    }
  }

  /** At the end, all but those operands that the kernel may have overwritten meanwhile. */
  private void checkOperands(Command.Launch launch, boolean atEnd) {
    Node node = launch.node();
    for (int i = 0; i < node.inputs().size(); i++) {
      BufferUse operand = launch.uses().get(i);
      if (!atEnd || !mayOverwrite(launch, i)) {
        check(operand.slice(), expected.get(node).get(i), node.name());
      }
    }
  }

  private boolean mayOverwrite(Command.Launch launch, int operand) {
    Node node = launch.node();
    Slice slice = launch.uses().get(operand).slice();
    boolean inPlace =
        !node.outputs().isEmpty()
            && plan.kernels().of(node).inPlaceInputs().contains(operand)
            && launch.uses().get(node.inputs().size()).slice().equals(slice);
    return inPlace || node.mutatedVariables().contains(node.inputs().get(operand));
  }

  private void interleave(Random random) {
    int streams = plan.streams();
    List<List<Command>> queues = new ArrayList<>();
    for (int s = 0; s < streams; s++) {
      queues.add(new ArrayList<>());
    }
    plan.commands().forEach(c -> queues.get(c.stream()).add(c));
    int[] next = new int[streams];
    boolean[] running = new boolean[streams];
    boolean[] fired = new boolean[plan.events()];
    int[] eagerness = new int[streams];
    while (faults.isEmpty()) {
      int chosen = -1;
      for (int s = 0; s < streams; s++) {
        if (random.nextInt(6) == 0) {
          eagerness[s] = random.nextInt(100);
        }
        if (next[s] < queues.get(s).size()
            && !blocked(queues.get(s).get(next[s]), fired)
            && (chosen < 0 || eagerness[s] > eagerness[chosen])) {
          chosen = s;
        }
      }
      if (chosen < 0) {
        break;
      }
      Command command = queues.get(chosen).get(next[chosen]);
      if (command instanceof Command.Launch && !running[chosen]) {
        start((Command.Launch) command);
        running[chosen] = true;
        continue;
      }
      if (command instanceof Command.Launch) {
        finish((Command.Launch) command);
        running[chosen] = false;
      } else if (command instanceof Command.RecordEvent) {
        fired[((Command.RecordEvent) command).event()] = true;
      }
      next[chosen]++;
    }
    for (int s = 0; s < streams; s++) {
      if (next[s] < queues.get(s).size()) {
        faults.add("stream " + s + " waits for ever at " + queues.get(s).get(next[s]));
      }
    }
    checkEnd();
  }

  private static boolean blocked(Command command, boolean[] fired) {
    return command instanceof Command.WaitEvent && !fired[((Command.WaitEvent) command).event()];
  }

  private void checkEnd() {
    finalContents.forEach((value, name) -> check(plan.sliceOf(value), name, "the end"));
  }
}
