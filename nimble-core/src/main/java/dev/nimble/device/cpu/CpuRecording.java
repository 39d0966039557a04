package dev.nimble.device.cpu;

import com.google.common.collect.ImmutableList;
import dev.nimble.buffer.Slice;
import dev.nimble.device.Recording;
import dev.nimble.error.DeviceException;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.error.NimbleException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Operand;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.plan.Command;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.plan.Timeline;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A recorded step on host threads. Recording binds every kernel to its memory, measures each,
 * places the plan's streams on workers and writes one program for each worker; a replay walks the
 * programs.
 */
final class CpuRecording implements Recording {
  private final AtomicInteger open;
  private final Graph graph;
  private final Map<Slice.Region, ByteBuffer> regions = new EnumMap<>(Slice.Region.class);
  private final Tensor[] tensors;
  private final Tensor[] inputs;
  private final Tensor[] outputs;
  private final Tensor[] variables;
  private final Launch[] launches;
  private final Workers workers;
  private boolean closed;

  /**
   * A kernel with its operands.
   *
   * @param node for reports
   * @param stream the plan's stream
   * @param kernel runs it
   */
  record Launch(Node node, int stream, Runnable kernel) {}

  CpuRecording(ExecutionPlan plan, int mostWorkers, AtomicInteger open) {
    this.open = open;
    this.graph = plan.graph();
    for (Slice.Region region : Slice.Region.values()) {
      if (region != Slice.Region.CONSTANT) { // constants are used where they are
        regions.put(region, HostMemory.allocate(plan.bytesOf(region)));
      }
    }
    this.tensors = tensors(plan);
    this.inputs = tensorsOf(graph.inputs());
    this.outputs = tensorsOf(graph.outputs());
    this.variables = tensorsOf(graph.variables());
    resetVariables();
    this.launches = launches(plan);
    int used = Math.min(mostWorkers, plan.streams());
    int[] workerOf = used <= 1 ? new int[plan.streams()] : placed(plan, used);
    this.workers = new Workers(plan.commands(), launches, workerOf, plan.events());
    open.incrementAndGet();
  }

  private Tensor[] tensors(ExecutionPlan plan) {
    Map<Slice, Tensor> constants = new HashMap<>();
    for (Value value : graph.values()) {
      if (value.kind() == Value.Kind.CONSTANT) {
        constants.put(plan.sliceOf(value), value.contents());
      }
    }
    Tensor[] all = new Tensor[graph.values().size()];
    for (Value value : graph.values()) {
      Slice slice = plan.sliceOf(value);
      if (slice.region() == Slice.Region.CONSTANT) {
        Tensor contents = constants.get(slice); // a value of this region may also be a view of one
        if (contents == null) {
          throw new IllegalStateException(value + " shows no constant");
        }
        all[value.id()] = Tensor.wrap(value.type(), contents.bytes());
      } else {
        all[value.id()] = at(slice, value.type());
      }
    }
    return all;
  }

  private Tensor at(Slice slice, TensorType type) {
    return Tensor.wrap(
        type, memoryOf(slice.region()).duplicate().position(Math.toIntExact(slice.offset())));
  }

  private ByteBuffer memoryOf(Slice.Region region) {
    return Objects.requireNonNull(regions.get(region), region::name);
  }

  private Tensor[] tensorsOf(ImmutableList<Value> values) {
    return values.stream().map(v -> tensors[v.id()]).toArray(Tensor[]::new);
  }

  private void resetVariables() {
    for (int i = 0; i < variables.length; i++) {
      variables[i].copyFrom(graph.variables().get(i).contents());
    }
  }

  private Launch[] launches(ExecutionPlan plan) {
    List<Launch> all = new ArrayList<>();
    for (Command command : plan.commands()) {
      if (command instanceof Command.Launch) {
        Command.Launch launch = (Command.Launch) command;
        Node node = launch.node();
        CpuKernel kernel =
            CpuKernels.of(
                node.operator(),
                node.inputs().stream().map(Operand::type).toList(),
                node.outputs().stream().map(Operand::type).toList());
        Slice workspace = plan.memory().workspaceOf(node);
        all.add(
            new Launch(
                node,
                launch.stream(),
                kernel.bind(
                    node.inputs().stream().map(v -> tensors[v.id()]).toList(),
                    node.outputs().stream().map(v -> tensors[v.id()]).toList(),
                    workspace == null
                        ? null
                        : at(
                            workspace,
                            TensorType.of(DataType.U8, Math.toIntExact(workspace.size()))))));
      }
    }
    return all.toArray(Launch[]::new);
  }

  private int[] placed(ExecutionPlan plan, int used) {
    long[] nanos = Prerun.measure(launches);
    resetVariables();
    clearArena();
    return StreamPlacement.of(plan.commands(), nanos, plan.streams(), used);
  }

  /** Leaves nothing of the prerun behind that a later step could read by mistake. */
  private void clearArena() {
    for (Slice.Region region : new Slice.Region[] {Slice.Region.ARENA, Slice.Region.OUTPUT}) {
      ByteBuffer memory = memoryOf(region).duplicate();
      while (memory.remaining() >= 8) {
        memory.putLong(0);
      }
      while (memory.hasRemaining()) {
        memory.put((byte) 0);
      }
    }
  }

  @Override
  public Tensor input(int index) {
    return inputs[index];
  }

  @Override
  public Tensor output(int index) {
    return outputs[index];
  }

  @Override
  public void replay() {
    checkOpen();
    if (!workers.run()) {
      throw failure();
    }
  }

  @Override
  public Timeline replayTimed() {
    checkOpen();
    long start = System.nanoTime();
    long[] starts = new long[launches.length];
    long[] ends = new long[launches.length];
    if (!workers.runTimed(starts, ends)) {
      throw failure();
    }
    long total = System.nanoTime() - start;
    List<Timeline.Span> spans = new ArrayList<>();
    for (int i = 0; i < launches.length; i++) {
      spans.add(
          new Timeline.Span(
              launches[i].node(),
              launches[i].stream(),
              workers.workerOf(launches[i].stream()),
              starts[i] - start,
              ends[i] - start));
    }
    spans.sort(Comparator.comparingLong(Timeline.Span::startNanos));
    return new Timeline(ImmutableList.copyOf(spans), total);
  }

  private NimbleException failure() {
    Throwable cause = workers.failure();
    @Nullable Node node = workers.failedNode();
    if (node == null || cause == null) {
      throw new IllegalStateException("a replay failed without a reason", cause);
    }
    if (cause
        instanceof
        InvalidArgumentException) { // contents that no kernel can use: the caller's fault
      return new InvalidArgumentException(
          ((InvalidArgumentException) cause).what(), node.location(), cause);
    }
    return new DeviceException("the kernel failed: " + cause, node.location(), cause);
  }

  @Override
  public void readVariable(int index, Tensor destination) {
    checkOpen();
    destination.copyFrom(variables[index]);
  }

  @Override
  public void writeVariable(int index, Tensor source) {
    checkOpen();
    variables[index].copyFrom(source);
  }

  private void checkOpen() {
    if (closed) {
      throw new InvalidArgumentException("the recording is closed");
    }
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      workers.close();
      open.decrementAndGet();
    }
  }
}
