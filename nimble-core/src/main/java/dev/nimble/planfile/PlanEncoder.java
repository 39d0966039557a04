package dev.nimble.planfile;

import com.google.common.collect.ImmutableList;
import dev.nimble.buffer.BufferUse;
import dev.nimble.buffer.Slice;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Value;
import dev.nimble.memory.MemoryPlan;
import dev.nimble.op.KernelChoice;
import dev.nimble.plan.Command;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.schedule.Schedule;
import dev.nimble.schedule.Sync;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/** Writes the structure of a plan: all but the weights. {@link PlanDecoder} mirrors it. */
final class PlanEncoder {
  private final Encoder out = new Encoder();
  private final RecordCodec records;
  private final Weights weights;

  PlanEncoder(RecordCodec records, Weights weights) {
    this.records = records;
    this.weights = weights;
  }

  /**
   * The structure.
   *
   * @param weightFile the path, relative to the plan file, of the file to which weights refer
   */
  byte[] encode(SavedPlan saved, @Nullable String weightFile) {
    ExecutionPlan plan = saved.plan();
    out.text(saved.target());
    out.number(saved.tuning().entries().size());
    saved
        .tuning()
        .entries()
        .forEach(
            (name, value) -> {
              out.text(name);
              out.text(value);
            });
    weights(weightFile);
    graph(plan.graph());
    kernels(plan);
    schedule(plan.schedule());
    memory(plan.memory());
    commands(plan);
    return out.toByteArray();
  }

  private void weights(@Nullable String weightFile) {
    out.text(ByteOrder.nativeOrder().toString());
    out.flag(weightFile != null);
    if (weightFile != null) {
      out.text(weightFile);
    }
    out.number(weights.blobs().size());
    for (Weights.Blob blob : weights.blobs()) {
      out.number(blob.length());
      out.fixed(blob.checksum(), 4);
      out.flag(!blob.isInline());
      if (!blob.isInline()) {
        out.number(blob.offset());
      }
    }
  }

  private void graph(Graph graph) {
    out.text(graph.name());
    out.number(graph.nodes().size());
    out.number(graph.values().size());
    int next = 0; // the next value to be declared
    for (Node node : graph.nodes()) {
      int before = -1; // values up to this one must have been declared
      for (Value input : node.inputs()) {
        before = Math.max(before, input.id());
      }
      before = node.outputs().isEmpty() ? before : node.outputs().get(0).id() - 1;
      for (; next <= before; next++) {
        source(graph.values().get(next));
      }
      node(node);
      next += node.outputs().size();
    }
    for (; next < graph.values().size(); next++) {
      source(graph.values().get(next));
    }
    out.number(graph.outputs().size());
    for (int i = 0; i < graph.outputs().size(); i++) {
      out.text(graph.outputNames().get(i));
      out.number(graph.outputs().get(i).id());
    }
  }

  private void source(Value value) {
    out.number(value.kind().ordinal());
    out.text(value.name());
    ComponentCodec.writeType(value.type(), out);
    if (value.kind() != Value.Kind.INPUT) {
      out.number(weights.indexOf()[value.id()]);
    }
  }

  private void node(Node node) {
    out.number(Value.Kind.RESULT.ordinal());
    out.text(node.name());
    try {
      records.write(node.operator(), out);
    } catch (InvalidArgumentException e) {
      throw new InvalidArgumentException(
          "the plan cannot be saved: " + e.what(), node.location(), e);
    }
    out.number(node.inputs().size());
    node.inputs().forEach(input -> out.number(input.id()));
    out.number(node.outputs().size());
    for (Value output : node.outputs()) {
      out.text(output.name());
      ComponentCodec.writeType(output.type(), out);
    }
  }

  private void kernels(ExecutionPlan plan) {
    out.text(plan.kernels().device());
    for (KernelChoice choice : plan.kernels().all()) {
      out.text(choice.kernel());
      out.number(choice.workspaceBytes());
      out.flag(choice.view());
      out.number(choice.inPlaceInputs().size());
      choice.inPlaceInputs().forEach(out::number);
      out.signed(choice.demand().floatingPointOperations());
      out.signed(choice.demand().bytesMoved());
      out.signed(choice.demand().estimatedNanos());
    }
  }

  private void schedule(Schedule schedule) {
    out.text(schedule.policy());
    out.text(schedule.optimality());
    out.number(schedule.concurrencyDegree());
    out.number(schedule.streams());
    schedule.streamOf().forEach(out::number);
    schedule.launchOrder().forEach(node -> out.number(node.id()));
    out.number(schedule.syncs().size());
    for (Sync sync : schedule.syncs()) {
      out.number(sync.from().id());
      out.number(sync.to().id());
    }
  }

  private void memory(MemoryPlan memory) {
    for (Slice.Region region : Slice.Region.values()) {
      out.number(memory.bytesOf(region));
    }
    out.number(memory.lowerBoundBytes());
    out.number(memory.naiveBytes());
    memory.slices().forEach(this::slice);
    out.number(memory.workspaces().size());
    memory
        .workspaces()
        .forEach(
            (node, slice) -> {
              out.number(node.id());
              slice(slice);
            });
    out.number(memory.views().size());
    memory.views().forEach(node -> out.number(node.id()));
  }

  private void slice(Slice slice) {
    out.number(slice.region().ordinal());
    out.number(slice.offset());
    out.number(slice.size());
  }

  private void commands(ExecutionPlan plan) {
    out.number(plan.streams());
    out.number(plan.events());
    ImmutableList<Command> commands = plan.commands();
    out.number(commands.size());
    for (Command command : commands) {
      if (command instanceof Command.Launch) {
        Command.Launch launch = (Command.Launch) command;
        out.number(PlanDecoder.LAUNCH);
        out.number(launch.stream());
        out.number(launch.node().id());
        out.number(launch.uses().size());
        for (BufferUse use : launch.uses()) {
          out.number(use.access().ordinal());
          slice(use.slice());
        }
      } else if (command instanceof Command.View) {
        command(PlanDecoder.VIEW, command, ((Command.View) command).node().id());
      } else if (command instanceof Command.RecordEvent) {
        command(PlanDecoder.RECORD, command, ((Command.RecordEvent) command).event());
      } else {
        command(PlanDecoder.WAIT, command, ((Command.WaitEvent) command).event());
      }
    }
  }

  private void command(int kind, Command command, int argument) {
    out.number(kind);
    out.number(command.stream());
    out.number(argument);
  }
}
