package dev.nimble.device.cpu;

import com.google.common.collect.ImmutableList;
import dev.nimble.device.BoundBuffers;
import dev.nimble.device.DeviceBuffer;
import dev.nimble.device.RecordOptions;
import dev.nimble.device.Recording;
import dev.nimble.error.DeviceException;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.error.NimbleException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.plan.Timeline;
import dev.nimble.plan.Tuning;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * A recorded step on host threads. Recording binds every kernel to its memory, places the plan's
 * streams on workers, writes one program for each worker and preruns them; a replay walks the
 * programs. With tuning of an earlier recording nothing is measured and nothing prerun.
 *
 * <p>A step whose kernel throws stops: its outputs are undefined, and variables hold whatever the
 * kernels that ran have left there. The next replay is an ordinary one.
 */
final class CpuRecording implements Recording {
  private final AtomicInteger open;
  private BoundStep.Launch[] launches;
  private @Nullable BoundBuffers buffers;
  private List<Tensor> variables;
  private final Tuning tuning;
  private @Nullable Workers workers;

  CpuRecording(
      ExecutionPlan plan,
      StreamPlacement placement,
      RecordOptions options,
      int mostWorkers,
      AtomicInteger open) {
    this.open = open;
    Graph graph = plan.graph();
    BoundStep step = new BoundStep(plan);
    this.launches = step.launches();
    this.buffers =
        new BoundBuffers(
            graph,
            options.resident(),
            step::tensorOf,
            step::tensorOf,
            value -> new HostBuffer(step.tensorOf(value), this::buffers));
    this.variables = step.tensorsOf(graph.variables());
    int used = Math.min(mostWorkers, Math.max(1, plan.streams()));
    int[] tuned = PlacementTuning.read(options.tuning(), plan.streams(), used);
    int[] workerOf = tuned == null ? new int[plan.streams()] : tuned;
    if (tuned == null && used > 1) {
      workerOf = placement.place(plan, step, used);
      step.reset();
    }
    this.tuning = PlacementTuning.of(workerOf, used);
    Workers made = new Workers(plan, launches, workerOf);
    if (tuned == null) { // a plan that was loaded is wanted soon, and its first step does as well
      made.run(); // so that each worker has its scratch; inputs are zeros, and errors come again
      step.reset();
    }
    this.workers = made;
    open.incrementAndGet();
  }

  private Workers workers() {
    Workers own = workers;
    if (own == null) {
      throw new InvalidArgumentException("the recording is closed");
    }
    return own;
  }

  private BoundBuffers buffers() {
    BoundBuffers own = buffers;
    if (own == null) {
      throw new InvalidArgumentException("the recording is closed");
    }
    return own;
  }

  @Override
  public Tensor input(int index) {
    return buffers().input(index);
  }

  @Override
  public Tensor output(int index) {
    return buffers().output(index);
  }

  @Override
  public DeviceBuffer resident(Value value) {
    return buffers().resident(value);
  }

  @Override
  public Tuning tuning() {
    return tuning;
  }

  @Override
  public void replay() {
    Workers own = workers();
    if (!own.run()) {
      throw failure(own);
    }
  }

  @Override
  public Timeline replayTimed() {
    Workers own = workers();
    long[] starts = new long[launches.length];
    long[] ends = new long[launches.length];
    long start = System.nanoTime();
    if (!own.runTimed(starts, ends)) {
      throw failure(own);
    }
    long total = System.nanoTime() - start;
    List<Timeline.Span> spans = new ArrayList<>();
    for (int i = 0; i < launches.length; i++) {
      int stream = launches[i].stream();
      spans.add(
          new Timeline.Span(
              launches[i].node(),
              stream,
              own.workerOf(stream),
              starts[i] - start,
              ends[i] - start));
    }
    spans.sort(Comparator.comparingLong(Timeline.Span::startNanos));
    return new Timeline(ImmutableList.copyOf(spans), total);
  }

  private static NimbleException failure(Workers workers) {
    Throwable cause = workers.failure();
    @Nullable Node node = workers.failedNode();
    if (node == null || cause == null) {
      throw new IllegalStateException("a replay failed without a reason", cause);
    }
    return failure(node, cause);
  }

  /** What the caller is told when the kernel of {@code node} throws. */
  private static NimbleException failure(Node node, Throwable cause) {
    if (cause instanceof InvalidArgumentException) { // contents that no kernel can use
      return new InvalidArgumentException(
          ((InvalidArgumentException) cause).what(), node.location(), cause);
    }
    return new DeviceException("the kernel failed: " + cause, node.location(), cause);
  }

  @Override
  public void readVariable(int index, Tensor destination) {
    destination.copyFrom(variable(index));
  }

  @Override
  public void writeVariable(int index, Tensor source) {
    variable(index).copyFrom(source);
  }

  private Tensor variable(int index) {
    workers();
    if (index < 0 || index >= variables.size()) {
      throw new InvalidArgumentException(
          "there is no variable " + index + "; the recording has " + variables.size());
    }
    return variables.get(index);
  }

  @Override
  public void close() {
    Workers own = workers;
    if (own != null) {
      workers = null;
      own.close();
      launches = new BoundStep.Launch[0]; // so that memory is freed although this is still held
      buffers = null;
      variables = List.of();
      open.decrementAndGet();
    }
  }
}
