package dev.nimble.plan;

import com.google.common.collect.ImmutableList;
import dev.nimble.buffer.Slice;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Value;
import dev.nimble.memory.MemoryPlan;
import dev.nimble.op.KernelChoices;
import dev.nimble.schedule.Schedule;

/**
 * Everything that a device needs to record a step. Immutable.
 *
 * @param graph what is computed
 * @param kernels the kernel of each node
 * @param schedule where the commands came from, for reports; devices read only {@code commands}
 * @param memory the slice of each value
 * @param streams how many streams the commands use
 * @param events how many events the commands use
 * @param commands in issue order: every event is recorded before it is waited for
 */
public record ExecutionPlan(
    Graph graph,
    KernelChoices kernels,
    Schedule schedule,
    MemoryPlan memory,
    int streams,
    int events,
    ImmutableList<Command> commands) {

  /** Where {@code value} lives. */
  public Slice sliceOf(Value value) {
    return memory.of(value);
  }

  /** The size of {@code region} in bytes. */
  public long bytesOf(Slice.Region region) {
    return memory.bytesOf(region);
  }

  /**
   * This plan in words, some tens of lines: what each stage decided, which nodes run on which
   * stream, what each sync is for, and what fills the arena at its peak.
   */
  public String explain() {
    return PlanExplanation.of(this);
  }
}
