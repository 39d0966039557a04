package dev.nimble.plan;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ListMultimap;
import com.google.common.collect.Multimaps;
import dev.nimble.buffer.BufferUse;
import dev.nimble.buffer.BufferUse.Access;
import dev.nimble.buffer.Slice;
import dev.nimble.error.InvalidPlanException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Value;
import dev.nimble.memory.MemoryPlan;
import dev.nimble.op.KernelChoices;
import dev.nimble.schedule.Schedule;
import dev.nimble.schedule.Sync;
import java.util.Arrays;

/**
 * Writes a schedule and a memory plan out as commands, in launch order: before a node the waits of
 * the syncs that lead to it, after it one event if any sync starts there, however many wait for it.
 */
public final class PlanAssembler {
  private PlanAssembler() {}

  /**
   * Assembles a plan; it decides nothing.
   *
   * @throws InvalidPlanException if a sync starts at a node that is launched after its end
   */
  public static ExecutionPlan assemble(
      Graph graph, KernelChoices kernels, Schedule schedule, MemoryPlan memory) {
    ListMultimap<Node, Sync> syncsFrom = Multimaps.index(schedule.syncs(), Sync::from);
    ListMultimap<Node, Sync> syncsTo = Multimaps.index(schedule.syncs(), Sync::to);
    int[] eventOf = new int[graph.nodes().size()];
    Arrays.fill(eventOf, -1);
    int events = 0;
    ImmutableList.Builder<Command> commands = ImmutableList.builder();
    for (Node node : schedule.launchOrder()) {
      int stream = schedule.streamOf(node);
      for (Sync sync : syncsTo.get(node)) {
        int event = eventOf[sync.from().id()];
        if (event < 0) {
          throw new InvalidPlanException(
              "it waits for node '" + sync.from().name() + "', which is launched later",
              node.location());
        }
        commands.add(new Command.WaitEvent(stream, event));
      }
      commands.add(
          memory.views().contains(node)
              ? new Command.View(stream, node)
              : new Command.Launch(stream, node, uses(node, memory)));
      if (syncsFrom.containsKey(node)) {
        eventOf[node.id()] = events;
        commands.add(new Command.RecordEvent(stream, events++));
      }
    }
    return new ExecutionPlan(
        graph, kernels, schedule, memory, schedule.streams(), events, commands.build());
  }

  private static ImmutableList<BufferUse> uses(Node node, MemoryPlan memory) {
    ImmutableList.Builder<BufferUse> uses = ImmutableList.builder();
    for (int i = 0; i < node.inputs().size(); i++) {
      boolean updated = node.operator().mutatedInputs().contains(i);
      uses.add(
          new BufferUse(updated ? Access.UPDATE : Access.READ, memory.of(node.inputs().get(i))));
    }
    for (Value output : node.outputs()) {
      uses.add(new BufferUse(Access.WRITE, memory.of(output)));
    }
    Slice workspace = memory.workspaceOf(node);
    if (workspace != null) {
      uses.add(new BufferUse(Access.SCRATCH, workspace));
    }
    return uses.build();
  }
}
