package dev.nimble.cuda.record;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import dev.nimble.cuda.driver.CudaContext;
import dev.nimble.cuda.driver.CudaEvent;
import dev.nimble.cuda.driver.CudaGraph;
import dev.nimble.cuda.driver.CudaStream;
import dev.nimble.cuda.driver.DeviceAddress;
import dev.nimble.cuda.driver.Resources;
import dev.nimble.cuda.op.CudaKernel;
import dev.nimble.cuda.op.CudaKernels;
import dev.nimble.cuda.op.Launch;
import dev.nimble.cuda.op.Operands;
import dev.nimble.device.BoundBuffers;
import dev.nimble.device.DeviceBuffer;
import dev.nimble.device.Recording;
import dev.nimble.error.DeviceException;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.error.Location;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import dev.nimble.op.KernelChoice;
import dev.nimble.plan.Command;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.plan.Timeline;
import dev.nimble.plan.Tuning;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A recorded step on a GPU. Recording allocates, compiles, preruns every node on the real streams,
 * captures the step across all streams of the plan, instantiates the CUDA graph, uploads it and
 * runs it once [Nimble, section 4.1]; a replay is one launch of it. Without CUDA graphs, a replay
 * enqueues the same launches stream by stream.
 */
public final class CudaRecording implements Recording {
  /** How a step is replayed. */
  public enum Mode {
    /** One launch of an instantiated CUDA graph. */
    GRAPH,
    /** Each launch by a call of its own, with the plan's events. */
    STREAMS
  }

  private final CudaContext context;
  private final Graph graph;
  private final Runnable onClose;
  private final Resources owned = new Resources();
  private final Map<Integer, BoundNode> nodes = new LinkedHashMap<>();
  private final StepMemory memory;
  private final StepStreams streams;
  private final BoundBuffers buffers;
  private final Tuning tuning;
  private CudaGraph.@Nullable Exec exec;
  private CudaGraph.@Nullable Contents contents;
  private boolean running;
  private boolean closed;

  /**
   * Records {@code plan}. The context must be current.
   *
   * @param resident inputs and outputs that no step copies
   * @param priority of its streams, within {@link CudaContext#streamPriorities}; the graph's nodes
   *     keep it
   * @param onClose called once, when the recording is closed
   */
  public CudaRecording(
      CudaContext context,
      CudaKernels kernels,
      ExecutionPlan plan,
      ImmutableSet<Value> resident,
      Mode mode,
      int priority,
      Runnable onClose) {
    this.context = context;
    this.graph = plan.graph();
    this.onClose = onClose;
    List<CudaKernel> chosen = chosen(kernels, plan);
    this.tuning = tuning(chosen);
    kernels.compile(chosen);
    try {
      this.memory = owned.own(new StepMemory(context, plan, resident));
      bind(plan, chosen);
      this.streams = owned.own(new StepStreams(context, plan, memory, nodes, priority));
      this.buffers =
          new BoundBuffers(
              graph,
              resident,
              memory::input,
              memory::output,
              value -> memory.resident(value, this::checkOpen));
      prerun();
      if (mode == Mode.GRAPH) {
        capture();
        launchOnce();
      }
      memory.resetVariables();
      memory.clearResults();
    } catch (Throwable failure) {
      owned.closeAfter(failure);
      throw failure;
    }
  }

  private static Tuning tuning(List<CudaKernel> chosen) {
    TreeMap<String, String> entries = new TreeMap<>();
    chosen.forEach(kernel -> entries.putAll(kernel.tuning()));
    return new Tuning(ImmutableSortedMap.copyOfSorted(entries));
  }

  private static List<CudaKernel> chosen(CudaKernels kernels, ExecutionPlan plan) {
    List<CudaKernel> chosen = new ArrayList<>();
    for (Node node : plan.graph().nodes()) {
      CudaKernel kernel = kernels.of(node);
      KernelChoice own = kernel.choice();
      KernelChoice planned = plan.kernels().of(node);
      if (!own.kernel().equals(planned.kernel())
          || own.workspaceBytes() != planned.workspaceBytes()
          || own.view() != planned.view()
          || !own.inPlaceInputs().equals(planned.inPlaceInputs())) {
        throw new InvalidArgumentException(
            "the plan has kernel '"
                + planned.kernel()
                + "', where this device has '"
                + own.kernel()
                + "'; plan with the kernels that this device selects",
            node.location());
      }
      chosen.add(kernel);
    }
    return chosen;
  }

  private void bind(ExecutionPlan plan, List<CudaKernel> chosen) {
    for (Command command : plan.commands()) {
      if (command instanceof Command.Launch) {
        Node node = ((Command.Launch) command).node();
        Operands operands =
            new Operands(
                addresses(node.inputs()),
                addresses(node.outputs()),
                memory.workspaceOf(node),
                node.id(),
                memory.report());
        try {
          nodes.put(
              node.id(), owned.own(new BoundNode(node, chosen.get(node.id()).bind(operands))));
        } catch (DeviceException e) {
          throw e.at(node.location());
        }
      }
    }
  }

  private ImmutableList<DeviceAddress> addresses(List<Value> values) {
    return values.stream().map(memory::at).collect(ImmutableList.toImmutableList());
  }

  /** Runs every node once, alone, so that whatever fails does so here and names its node. */
  private void prerun() {
    streams.enqueue(
        new StepStreams.Observer() {
          @Override
          public void before(BoundNode node, CudaStream stream) {}

          @Override
          public void after(BoundNode node, CudaStream stream) {
            try {
              stream.synchronize();
            } catch (DeviceException e) {
              throw e.at(node.node().location());
            }
          }
        });
    streams.synchronize();
  }

  private void capture() {
    CudaGraph captured;
    streams.origin().beginCapture();
    try {
      streams.enqueue();
      captured = streams.origin().endCapture();
    } catch (Throwable failure) {
      streams.origin().abandonCapture();
      throw failure;
    }
    try (captured) {
      contents = captured.contents();
      CudaGraph.Exec made = owned.own(captured.instantiate());
      made.upload(streams.origin());
      exec = made;
    }
    streams.origin().synchronize();
  }

  /** What was captured; null in mode STREAMS. */
  CudaGraph.@Nullable Contents contents() {
    return contents;
  }

  /** The priority of its streams, as the driver says. */
  int priority() {
    return streams.origin().priority();
  }

  /** How many launches {@code node} has. */
  int launchesOf(Node node) {
    BoundNode bound = nodes.get(node.id());
    return bound == null ? 0 : bound.count();
  }

  /** Nodes' launches of {@code kind}. */
  int launches(Launch.Kind kind) {
    return nodes.values().stream().mapToInt(node -> node.count(kind)).sum();
  }

  @Override
  public Tensor input(int index) {
    checkOpen();
    return buffers.input(index);
  }

  @Override
  public Tensor output(int index) {
    checkOpen();
    return buffers.output(index);
  }

  @Override
  public DeviceBuffer resident(Value value) {
    checkOpen();
    return buffers.resident(value);
  }

  @Override
  public Tuning tuning() {
    return tuning;
  }

  @Override
  public void replay() {
    launch();
    await();
  }

  @Override
  public void launch() {
    checkOpen();
    if (running) {
      throw new InvalidArgumentException("a step is running; await it before the next launch");
    }
    context.checkUsable();
    try {
      boolean entered = exec != null && context.isKept() && exec.launch(streams.origin());
      if (!entered) { // no graph, or a thread whose context is another or was changed
        launchInContext();
      }
    } catch (DeviceException e) {
      throw placed(e);
    }
    running = true;
  }

  private void launchInContext() {
    boolean token = context.enter();
    try {
      if (exec == null) {
        enqueueOrNone();
      } else if (!exec.launch(streams.origin())) {
        throw new DeviceException("the driver refuses the context that it made current itself");
      }
    } finally {
      context.leave(token);
    }
  }

  /** Enqueues a step; of one that fails midway, nothing goes on when this returns. */
  private void enqueueOrNone() {
    try {
      streams.enqueue();
    } catch (DeviceException failure) {
      if (!context.isPoisoned()) {
        try {
          streams.synchronize();
        } catch (DeviceException reason) { // work enqueued before failed, and then the call did
          reason.addSuppressed(failure);
          throw reason;
        }
      }
      throw failure;
    }
  }

  /**
   * A failure of a step, whose node is known only if its call was refused: work that fails does so
   * later, and then any call may say so.
   */
  private DeviceException placed(DeviceException failure) {
    return failure.location().equals(Location.NOWHERE) || context.isPoisoned()
        ? failure.at(new Location(null, graph.name(), "replay", graph.nodes().size() + " nodes"))
        : failure;
  }

  @Override
  public void await() {
    checkOpen();
    if (!running) {
      return;
    }
    running = false;
    try {
      streams.origin().synchronize();
    } catch (DeviceException e) {
      throw placed(e);
    }
    checkReport();
  }

  private void launchOnce() {
    launch();
    await();
  }

  private void checkReport() {
    long reported = memory.reportedNode();
    if (reported != 0) {
      Node node = graph.nodes().get((int) (reported - 1));
      throw new InvalidArgumentException(
          "index "
              + memory.reportedElement()
              + " is outside the axis; the step's outputs are undefined",
          node.location());
    }
  }

  @Override
  public Timeline replayTimed() {
    checkOpen();
    try {
      return context.within(this::timed);
    } catch (DeviceException e) {
      throw placed(e);
    }
  }

  private Timeline timed() {
    try (Resources events = new Resources()) {
      CudaEvent begin = event(events);
      Map<BoundNode, CudaEvent[]> around = new LinkedHashMap<>();
      for (BoundNode node : nodes.values()) {
        around.put(node, new CudaEvent[] {event(events), event(events)});
      }
      long before = System.nanoTime();
      begin.record(streams.origin());
      streams.enqueue(
          new StepStreams.Observer() {
            @Override
            public void before(BoundNode node, CudaStream stream) {
              eventOf(around, node, 0).record(stream);
            }

            @Override
            public void after(BoundNode node, CudaStream stream) {
              eventOf(around, node, 1).record(stream);
            }
          });
      streams.origin().synchronize();
      long total = System.nanoTime() - before;
      checkReport();
      List<Timeline.Span> spans = new ArrayList<>();
      for (Map.Entry<BoundNode, CudaEvent[]> entry : around.entrySet()) {
        long start = Math.max(0, entry.getValue()[0].nanosSince(begin));
        long end = Math.max(start, entry.getValue()[1].nanosSince(begin));
        int stream = streams.streamOf(entry.getKey());
        spans.add(new Timeline.Span(entry.getKey().node(), stream, stream, start, end));
        total = Math.max(total, end);
      }
      spans.sort(Comparator.comparingLong(Timeline.Span::startNanos));
      return new Timeline(ImmutableList.copyOf(spans), total);
    }
  }

  private CudaEvent event(Resources events) {
    return events.own(new CudaEvent(context, true));
  }

  private static CudaEvent eventOf(Map<BoundNode, CudaEvent[]> around, BoundNode node, int which) {
    CudaEvent[] events = around.get(node);
    if (events == null) {
      throw new IllegalStateException("no event for " + node.node());
    }
    return events[which];
  }

  @Override
  public void readVariable(int index, Tensor destination) {
    Value variable = variable(index, destination);
    onDevice(() -> memory.read(variable, destination));
  }

  @Override
  public void writeVariable(int index, Tensor source) {
    Value variable = variable(index, source);
    onDevice(() -> memory.write(variable, source));
  }

  private void onDevice(Runnable copy) {
    context.within(
        () -> {
          copy.run();
          return this;
        });
  }

  private Value variable(int index, Tensor tensor) {
    checkOpen();
    if (index < 0 || index >= graph.variables().size()) {
      throw new InvalidArgumentException(
          "there is no variable " + index + "; the recording has " + graph.variables().size());
    }
    Value variable = graph.variables().get(index);
    if (!tensor.type().equals(variable.type())) {
      throw new InvalidArgumentException(
          "cannot copy between " + variable.type() + " and " + tensor.type());
    }
    return variable;
  }

  private void checkOpen() {
    if (closed) {
      throw new InvalidArgumentException("the recording is closed");
    }
  }

  @Override
  public void close() {
    if (closed) {
      return;
    }
    Resources steps = Resources.of(onClose::run, owned, () -> closed = true);
    if (running && !context.isPoisoned()) {
      steps.own(this::await);
    }
    context.closing(steps::close);
  }
}
