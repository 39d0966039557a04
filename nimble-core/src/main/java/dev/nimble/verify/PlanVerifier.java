package dev.nimble.verify;

import com.google.common.collect.ImmutableList;
import dev.nimble.buffer.BufferUse;
import dev.nimble.buffer.BufferUse.Access;
import dev.nimble.buffer.Slice;
import dev.nimble.buffer.Slice.Region;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Value;
import dev.nimble.op.KernelChoice;
import dev.nimble.plan.Command;
import dev.nimble.plan.ExecutionPlan;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Proves that a plan computes its graph, whatever the timing of its streams. Everything is derived
 * anew from the graph and the commands: what orders what, which contents a node must find, and who
 * writes which bytes. {@code O(n log n)} beside the clocks.
 *
 * <p>The proof: for each byte, the contents that it holds over a step form a sequence by issue
 * order of their writers. If each access to one of them happens before the next is written, then,
 * by transitivity, no two are ever mixed up; and since each reader comes after the writer of what
 * it reads, it finds just that. A step is taken to start after the step before has ended.
 */
public final class PlanVerifier {
  private final ExecutionPlan plan;
  private final Graph graph;
  private final Violations violations = new Violations();
  private final CommandOrder order;

  /** What each value shows; null for variables, whose contents change. */
  private final @Nullable Contents[] shown;

  /** For each node and operand, the contents that it must find there. */
  private final Contents[][] operands;

  private final List<Contents> all = new ArrayList<>();

  private PlanVerifier(ExecutionPlan plan) {
    this.plan = plan;
    this.graph = plan.graph();
    this.order = CommandOrder.of(plan, violations);
    this.shown = new Contents[graph.values().size()];
    this.operands = new Contents[graph.nodes().size()][];
  }

  /**
   * Returns if {@code plan} is right. Checked are: each node is issued once, and events are
   * recorded once and before their waits; operands are computed before they are read; reads and
   * updates of variables keep program order; launches use the slices of their operands, of the
   * right size, aligned, within the right region; no bytes are written while others still need what
   * they hold, in-place kernels excepted where the kernel allows it; inputs, constants and, at the
   * end, outputs and variables are intact.
   *
   * @throws dev.nimble.error.InvalidPlanException if not: names the first violations, their nodes,
   *     streams and bytes
   */
  public static void verify(ExecutionPlan plan) {
    PlanVerifier verifier = new PlanVerifier(plan);
    verifier.violations.check();
    verifier.checkSlices();
    verifier.checkDependencies();
    verifier.checkVariables();
    verifier.checkCommands();
    verifier.violations.check();
    verifier.traceContents();
    verifier.checkBytes();
    verifier.violations.check();
  }

  // Slices.

  private void checkSlices() {
    for (Value value : graph.values()) {
      Slice slice = plan.sliceOf(value);
      if (slice.size() != value.type().sizeBytes()) {
        violations.add("'" + value + "' lies in " + slice + ", which is not of its size");
      }
      checkBounds("'" + value + "'", slice);
      Region home = homeOf(value);
      if (home != null && slice.region() != home) {
        violations.add("'" + value + "' lies in " + slice + ", outside the region " + home);
      }
    }
    for (Value output : graph.outputs()) {
      if (plan.sliceOf(output).region() != Region.OUTPUT) {
        violations.add(
            "output '"
                + output
                + "' lies in "
                + plan.sliceOf(output)
                + ", outside the region OUTPUT");
      }
    }
  }

  private void checkBounds(String what, Slice slice) {
    long bytes = plan.bytesOf(slice.region());
    if (slice.offset() < 0 || slice.size() < 0 || slice.offset() > bytes - slice.size()) {
      violations.add(what + " lies in " + slice + ", beyond the region's " + bytes + " bytes");
    }
    if (slice.offset() % Slice.ALIGNMENT != 0) {
      violations.add(what + " lies in " + slice + ", not aligned to " + Slice.ALIGNMENT);
    }
  }

  /** The region in which a value that no node computes must lie; null for others. */
  private static @Nullable Region homeOf(Value value) {
    switch (value.kind()) {
      case INPUT:
        return Region.INPUT;
      case CONSTANT:
        return Region.CONSTANT;
      case VARIABLE:
        return Region.VARIABLE;
      default:
        return null;
    }
  }

  // What the graph says must come before what.

  private void checkDependencies() {
    for (Node node : graph.nodes()) {
      for (Value input : node.inputs()) {
        Node producer = input.producer();
        if (producer != null) {
          checkBefore(producer, node, "reads '" + input.name() + "' of");
        }
      }
    }
  }

  private void checkVariables() {
    Map<Value, Node> lastUpdate = new HashMap<>();
    Map<Value, List<Node>> readers = new HashMap<>();
    for (Node node : graph.nodes()) {
      for (int i = 0; i < node.inputs().size(); i++) {
        Value variable = node.inputs().get(i);
        Node update = lastUpdate.get(variable);
        if (update != null && update != node) {
          checkBefore(update, node, "finds variable '" + variable.name() + "' as left by");
        }
        if (variable.kind() == Value.Kind.VARIABLE && !updates(node, i)) {
          readers.computeIfAbsent(variable, v -> new ArrayList<>()).add(node);
        }
      }
      for (int i : node.operator().mutatedInputs()) {
        Value variable = node.inputs().get(i);
        for (Node reader : readers.getOrDefault(variable, List.of())) {
          if (reader != node) {
            checkBefore(reader, node, "updates variable '" + variable.name() + "' read by");
          }
        }
        readers.remove(variable);
        lastUpdate.put(variable, node);
      }
    }
  }

  private static boolean updates(Node node, int operand) {
    return node.operator().mutatedInputs().contains(operand);
  }

  private void checkBefore(Node first, Node second, String why) {
    if (!order.before(first.id(), second.id())) {
      violations.add(
          second, why + " " + place(first.id()) + ", but may start before that has finished");
    }
  }

  private String place(int node) {
    return "node '" + graph.nodes().get(node).name() + "' (stream " + order.streamOf(node) + ")";
  }

  // What the commands say of their nodes.

  private void checkCommands() {
    for (Node node : graph.nodes()) {
      Command command = order.commandOf(node.id());
      if (command instanceof Command.View) {
        checkView(node);
      } else if (command instanceof Command.Launch) {
        checkLaunch(node, ((Command.Launch) command).uses());
      }
    }
  }

  private void checkView(Node node) {
    if (!plan.kernels().of(node).view()
        || node.outputs().size() != 1
        || node.inputs().isEmpty()
        || !node.operator().mutatedInputs().isEmpty()) {
      violations.add(node, "is shown as a view, but its kernel computes something");
      return;
    }
    Slice input = plan.sliceOf(node.inputs().get(0));
    Slice output = plan.sliceOf(node.output());
    if (!input.equals(output)) {
      violations.add(node, "shows " + input + " as " + output + ", and no kernel copies it");
    }
  }

  private void checkLaunch(Node node, ImmutableList<BufferUse> uses) {
    int inputs = node.inputs().size();
    int values = inputs + node.outputs().size();
    long workspaceBytes = plan.kernels().of(node).workspaceBytes();
    if (uses.size() < values || uses.size() > values + 1) {
      violations.add(
          node, "is launched with " + uses.size() + " slices for " + values + " operands");
      return;
    }
    for (int i = 0; i < values; i++) {
      Value value = i < inputs ? node.inputs().get(i) : node.outputs().get(i - inputs);
      Access access = i >= inputs ? Access.WRITE : updates(node, i) ? Access.UPDATE : Access.READ;
      if (uses.get(i).access() != access || !uses.get(i).slice().equals(plan.sliceOf(value))) {
        violations.add(
            node,
            "is launched with "
                + uses.get(i).access()
                + " of "
                + uses.get(i).slice()
                + ", where '"
                + value.name()
                + "' takes "
                + access
                + " of "
                + plan.sliceOf(value));
      }
      if (i >= inputs
          && plan.sliceOf(value).region() != Region.ARENA
          && plan.sliceOf(value).region() != Region.OUTPUT) {
        violations.add(node, "computes '" + value.name() + "' into " + plan.sliceOf(value));
      }
    }
    Slice workspace = uses.size() > values ? uses.get(values).slice() : null;
    if (workspace != null) {
      checkBounds("the workspace of node '" + node.name() + "'", workspace);
      if (uses.get(values).access() != Access.SCRATCH || workspace.region() != Region.ARENA) {
        violations.add(node, "has a workspace that is no scratch in the arena: " + workspace);
      }
    }
    if (workspaceBytes > (workspace == null ? 0 : workspace.size())) {
      violations.add(
          node,
          "needs a workspace of "
              + workspaceBytes
              + " bytes and has "
              + (workspace == null ? "none" : workspace));
    }
  }

  // What each byte holds, when.

  /** Walks the graph in program order and notes what each node writes and must find. */
  private void traceContents() {
    Map<Value, Contents> variables = new HashMap<>();
    for (Value value : graph.values()) {
      if (value.kind() != Value.Kind.RESULT) {
        Contents initial = add(value.kind() + " '" + value.name() + "'", value, Contents.START, -1);
        if (value.kind() == Value.Kind.VARIABLE) {
          variables.put(value, initial);
        } else {
          initial.kept = true;
          shown[value.id()] = initial;
        }
      }
    }
    for (Node node : graph.nodes()) {
      trace(node, variables);
    }
    for (Value output : graph.outputs()) {
      Contents contents = shown[output.id()];
      if (contents != null) {
        contents.kept = true;
      }
    }
    variables.values().forEach(last -> last.kept = true);
  }

  private void trace(Node node, Map<Value, Contents> variables) {
    Contents[] found = new Contents[node.inputs().size()];
    for (int i = 0; i < found.length; i++) {
      Value input = node.inputs().get(i);
      Contents contents = shown[input.id()];
      found[i] = contents == null ? variables.get(input) : contents;
    }
    operands[node.id()] = found;
    if (order.commandOf(node.id()) instanceof Command.View) {
      shown[node.output().id()] = found[0];
      return;
    }
    for (Contents contents : found) {
      contents.readBy(node.id(), order);
    }
    for (int i : node.operator().mutatedInputs()) {
      Value variable = node.inputs().get(i);
      variables.put(
          variable, add("variable '" + variable.name() + "' updated", variable, node.id(), -1));
    }
    for (Value output : node.outputs()) {
      shown[output.id()] = add("'" + output.name() + "'", output, node.id(), output.outputIndex());
    }
    ImmutableList<BufferUse> uses =
        ((Command.Launch) Objects.requireNonNull(order.commandOf(node.id()))).uses();
    if (uses.size() > node.inputs().size() + node.outputs().size()) {
      all.add(new Contents("a workspace", uses.get(uses.size() - 1).slice(), node.id(), -1));
    }
  }

  private Contents add(String what, Value value, int writer, int outputIndex) {
    Contents contents = new Contents(what, plan.sliceOf(value), writer, outputIndex);
    all.add(contents);
    return contents;
  }

  /** A run of bytes and what was last written there. */
  private record Run(long end, Contents contents) {}

  /**
   * Lays down all contents in issue order of their writers and checks each against what it covers.
   */
  private void checkBytes() {
    all.sort(Comparator.comparingInt(c -> c.writer < 0 ? -1 : order.issued(c.writer)));
    Map<Region, TreeMap<Long, Run>> memory = new HashMap<>();
    for (Contents contents : all) {
      if (contents.slice.size() > 0) {
        lay(contents, memory.computeIfAbsent(contents.slice.region(), r -> new TreeMap<>()));
      }
    }
  }

  private void lay(Contents contents, TreeMap<Long, Run> runs) {
    long from = contents.slice.offset();
    long to = contents.slice.end();
    Map.Entry<Long, Run> run = runs.lowerEntry(to);
    Contents checked = null;
    while (run != null && run.getValue().end > from) {
      long start = run.getKey();
      Run covered = run.getValue();
      runs.remove(start);
      if (covered.end > to) {
        runs.put(to, new Run(covered.end, covered.contents));
      }
      if (start < from) {
        runs.put(start, new Run(from, covered.contents));
      }
      if (covered.contents != checked) {
        checkOverwrite(covered.contents, contents);
        checked = covered.contents;
      }
      run = runs.lowerEntry(Math.max(start, from));
    }
    runs.put(from, new Run(to, contents));
  }

  /** Checks that {@code old} is needed no more whenever {@code next} is written over part of it. */
  private void checkOverwrite(Contents old, Contents next) {
    String bytes = ": " + old.slice + " and " + next.slice + " overlap";
    if (next.writer == Contents.START) {
      violations.add(old.what + " and " + next.what + " share bytes" + bytes);
      return;
    }
    Node writer = graph.nodes().get(next.writer);
    String overwrites =
        "on stream " + order.streamOf(next.writer) + " writes " + next.what + " over " + old.what;
    if (old.kept) {
      violations.add(writer, overwrites + ", which must outlast the step" + bytes);
    }
    if (old.writer != Contents.START && !order.before(old.writer, next.writer)) {
      violations.add(
          writer,
          overwrites
              + (old.writer == next.writer
                  ? ", which it writes too"
                  : " of " + place(old.writer) + ", which need not have finished")
              + bytes);
    }
    for (int reader : old.lastReaders()) {
      if (reader == next.writer) {
        checkInPlace(writer, old, next, overwrites);
      } else if (!order.before(reader, next.writer)) {
        violations.add(
            writer, overwrites + ", which " + place(reader) + " may not have read yet" + bytes);
      }
    }
  }

  /** Checks that a node may write {@code next} over {@code old}, which is an operand of its own. */
  private void checkInPlace(Node node, Contents old, Contents next, String overwrites) {
    KernelChoice kernel = plan.kernels().of(node);
    for (int i = 0; i < node.inputs().size(); i++) {
      if (operands[node.id()][i] == old) {
        boolean variable =
            node.inputs().get(i).kind() == Value.Kind.VARIABLE && next.outputIndex < 0;
        boolean allowed = next.outputIndex == 0 && kernel.inPlaceInputs().contains(i);
        if (!old.slice.equals(next.slice) || !(variable || allowed)) {
          violations.add(
              node,
              overwrites
                  + ", its own operand "
                  + i
                  + ", which kernel '"
                  + kernel.kernel()
                  + "' may not overwrite so: "
                  + old.slice
                  + " and "
                  + next.slice
                  + " overlap");
        }
      }
    }
  }
}
