package dev.nimble.plan;

import dev.nimble.buffer.Slice;
import dev.nimble.buffer.Slice.Region;
import dev.nimble.graph.Node;
import dev.nimble.graph.Value;
import dev.nimble.op.KernelChoice;
import dev.nimble.schedule.Schedule;
import dev.nimble.schedule.Sync;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/** Writes a plan out in words: what each stage decided, and why. */
final class PlanExplanation {
  private static final int NAMES_IN_A_LIST = 12;
  private static final int LINES_IN_A_LIST = 24;

  private final ExecutionPlan plan;
  private final Schedule schedule;
  private final StringBuilder text = new StringBuilder();

  private PlanExplanation(ExecutionPlan plan) {
    this.plan = plan;
    this.schedule = plan.schedule();
  }

  static String of(ExecutionPlan plan) {
    PlanExplanation explanation = new PlanExplanation(plan);
    explanation.summary();
    explanation.kernels();
    explanation.schedule();
    explanation.memory();
    explanation.streams();
    explanation.syncs();
    return explanation.text.toString();
  }

  private void line(String format, Object... arguments) {
    text.append(String.format(Locale.ROOT, format, arguments)).append('\n');
  }

  private void summary() {
    line(
        "Plan of graph '%s': %s and %s in, %s out.",
        plan.graph().name(),
        count(plan.graph().nodes().size(), "node"),
        count(plan.graph().inputs().size(), "input"),
        count(plan.graph().outputs().size(), "output"));
    long launches = commands(Command.Launch.class);
    line(
        "Commands: %s, %s, %s recorded, %s.",
        count(launches, "launch"),
        count(commands(Command.View.class), "view"),
        count(commands(Command.RecordEvent.class), "event"),
        count(commands(Command.WaitEvent.class), "wait"));
  }

  private long commands(Class<? extends Command> kind) {
    return plan.commands().stream().filter(kind::isInstance).count();
  }

  private void kernels() {
    List<KernelChoice> all = plan.kernels().all();
    long workspaces = all.stream().filter(k -> k.workspaceBytes() > 0).count();
    long largest = all.stream().mapToLong(KernelChoice::workspaceBytes).max().orElse(0);
    line(
        "Kernels of %s: %d could be views, %d could run in place, %d want a workspace%s.",
        plan.kernels().device(),
        all.stream().filter(KernelChoice::view).count(),
        all.stream().filter(k -> !k.inPlaceInputs().isEmpty()).count(),
        workspaces,
        workspaces == 0 ? "" : " (the largest " + bytes(largest) + ")");
  }

  private void schedule() {
    line(
        "Schedule by %s: %s, %s, %s; at most %s can run at once.",
        schedule.policy(),
        count(plan.streams(), "stream"),
        count(schedule.syncs().size(), "sync"),
        count(plan.events(), "event"),
        count(schedule.concurrencyDegree(), "node"));
    if (!schedule.optimality().isEmpty()) {
      line("  %s", schedule.optimality());
    }
  }

  private void memory() {
    long arena = plan.bytesOf(Region.ARENA);
    long bound = plan.memory().lowerBoundBytes();
    long naive = plan.memory().naiveBytes();
    line(
        "Memory: an arena of %s: %s times the %s that are live at most when nodes run one after the"
            + " other, %s times the %s of giving each value its own.",
        bytes(arena), ratio(arena, bound), bytes(bound), ratio(arena, naive), bytes(naive));
    if (plan.streams() > 1 && arena > bound) {
      line("  more than that, since values on streams that nothing orders may be live together");
    }
    for (Region region : Region.values()) {
      if (region != Region.ARENA && plan.bytesOf(region) > 0) {
        line("  %s region: %s", region, bytes(plan.bytesOf(region)));
      }
    }
    list(
        "views",
        plan.commands().stream()
            .filter(Command.View.class::isInstance)
            .map(c -> ((Command.View) c).node().name())
            .toList());
    list("in place", inPlace());
    peak();
  }

  private void list(String what, List<String> names) {
    if (!names.isEmpty()) {
      line("  %s: %d (%s)", what, names.size(), shortened(names));
    }
  }

  private List<String> inPlace() {
    List<String> names = new ArrayList<>();
    for (Command command : plan.commands()) {
      if (command instanceof Command.Launch) {
        int operand = overwritten((Command.Launch) command);
        if (operand >= 0) {
          Node node = ((Command.Launch) command).node();
          names.add(node.name() + " over " + node.inputs().get(operand).name());
        }
      }
    }
    return names;
  }

  /** The operand whose bytes output 0 takes, or -1. */
  private static int overwritten(Command.Launch launch) {
    int inputs = launch.node().inputs().size();
    if (!launch.node().outputs().isEmpty()) {
      Slice output = launch.uses().get(inputs).slice();
      for (int i = 0; i < inputs; i++) {
        if (launch.uses().get(i).slice().overlaps(output)) {
          return i;
        }
      }
    }
    return -1;
  }

  /**
   * What is kept in some bytes of the arena from the first write to the last use, in launch order.
   */
  private static final class Tenancy {
    final String name;
    final long bytes;
    final int from;
    int to;

    Tenancy(String name, Slice slice, int from) {
      this.name = name;
      this.bytes = -Math.floorDiv(-slice.size(), (long) Slice.ALIGNMENT) * Slice.ALIGNMENT;
      this.from = from;
      this.to = from;
    }
  }

  private void peak() {
    List<Tenancy> tenancies = tenancies();
    int nodes = schedule.launchOrder().size();
    long[] change = new long[nodes + 1];
    for (Tenancy tenancy : tenancies) {
      change[tenancy.from] += tenancy.bytes;
      change[tenancy.to + 1] -= tenancy.bytes;
    }
    long live = 0;
    long peak = 0;
    int at = -1;
    for (int i = 0; i < nodes; i++) {
      live += change[i];
      if (live > peak) {
        peak = live;
        at = i;
      }
    }
    if (at < 0) {
      return;
    }
    int moment = at;
    List<Tenancy> there =
        tenancies.stream()
            .filter(t -> t.from <= moment && moment <= t.to && t.bytes > 0)
            .sorted(Comparator.comparingLong((Tenancy t) -> -t.bytes))
            .toList();
    line(
        "  peak: %s while %s runs, launch %d of %d in launch order; live then:",
        bytes(peak), schedule.launchOrder().get(at).name(), at + 1, nodes);
    lines(there.stream().map(t -> "    " + bytes(t.bytes) + " " + t.name).toList(), 8, "    ");
  }

  private List<Tenancy> tenancies() {
    List<Tenancy> tenancies = new ArrayList<>();
    Map<Value, Tenancy> tenancyOf = new HashMap<>();
    List<Node> order = schedule.launchOrder();
    for (int i = 0; i < order.size(); i++) {
      Node node = order.get(i);
      for (Value input : node.inputs()) {
        Tenancy read = tenancyOf.get(input);
        if (read != null) {
          read.to = i;
        }
      }
      for (Value output : node.outputs()) {
        Slice slice = plan.sliceOf(output);
        if (slice.region() == Region.ARENA) {
          Tenancy tenancy = null;
          for (Value input : node.inputs()) {
            if (tenancy == null && plan.sliceOf(input).overlaps(slice)) {
              tenancy = tenancyOf.get(input);
            }
          }
          if (tenancy == null) {
            tenancy = new Tenancy("'" + output.name() + "' " + output.type(), slice, i);
            tenancies.add(tenancy);
          }
          tenancyOf.put(output, tenancy);
        }
      }
      Slice workspace = plan.memory().workspaceOf(node);
      if (workspace != null) {
        tenancies.add(new Tenancy("workspace of " + node.name(), workspace, i));
      }
    }
    return tenancies;
  }

  private void streams() {
    line("Streams:");
    List<String> lines = new ArrayList<>();
    for (int s = 0; s < plan.streams(); s++) {
      List<String> names = schedule.nodesOf(s).stream().map(Node::name).toList();
      lines.add("  stream " + s + ", " + count(names.size(), "node") + ": " + shortened(names));
    }
    lines(lines, LINES_IN_A_LIST, "  ");
  }

  private void syncs() {
    if (!schedule.syncs().isEmpty()) {
      line("Syncs:");
      lines(schedule.syncs().stream().map(this::describe).toList(), LINES_IN_A_LIST, "  ");
    }
  }

  private String describe(Sync sync) {
    return "  stream "
        + schedule.streamOf(sync.to())
        + " waits before "
        + sync.to().name()
        + " for "
        + sync.from().name()
        + " on stream "
        + schedule.streamOf(sync.from())
        + ": "
        + reason(sync);
  }

  private static String reason(Sync sync) {
    List<Value> updatedBefore = sync.from().mutatedVariables();
    for (Value input : sync.to().inputs()) {
      if (input.producer() == sync.from()) {
        return "it reads '" + input.name() + "'";
      }
      if (updatedBefore.contains(input)) {
        return "it uses variable '" + input.name() + "' as updated";
      }
    }
    for (Value variable : sync.to().mutatedVariables()) {
      if (sync.from().inputs().contains(variable)) {
        return "it updates variable '" + variable.name() + "', which must be read first";
      }
    }
    return "a dependency leads through both";
  }

  private void lines(List<String> lines, int most, String indent) {
    int shown = lines.size() > most ? most - 1 : lines.size();
    lines.subList(0, shown).forEach(l -> text.append(l).append('\n'));
    if (shown < lines.size()) {
      line("%sand %d more", indent, lines.size() - shown);
    }
  }

  private static String shortened(List<String> names) {
    if (names.size() <= NAMES_IN_A_LIST) {
      return String.join(", ", names);
    }
    int head = NAMES_IN_A_LIST / 2;
    return names.stream().limit(head).collect(Collectors.joining(", "))
        + ", ... "
        + (names.size() - head - 1)
        + " more ..., "
        + names.get(names.size() - 1);
  }

  private static String count(long count, String noun) {
    String plural = noun.endsWith("ch") ? noun + "es" : noun + "s";
    return count + " " + (count == 1 ? noun : plural);
  }

  private static String ratio(long part, long whole) {
    return whole == 0 ? "1" : String.format(Locale.ROOT, "%.3f", (double) part / whole);
  }

  /** For example {@code 512 B}, {@code 1.5 KiB}. */
  private static String bytes(long bytes) {
    if (bytes < 1024) {
      return bytes + " B";
    }
    double scaled = bytes;
    int unit = -1;
    while (scaled >= 1024 && unit < 5) {
      scaled /= 1024;
      unit++;
    }
    return String.format(Locale.ROOT, "%.1f %ciB", scaled, "KMGTPE".charAt(unit));
  }
}
