package dev.nimble.cuda.record;

import dev.nimble.buffer.Slice;
import dev.nimble.cuda.driver.CudaContext;
import dev.nimble.cuda.driver.CudaStream;
import dev.nimble.cuda.driver.DeviceAddress;
import dev.nimble.cuda.driver.DeviceMemory;
import dev.nimble.cuda.driver.Resources;
import dev.nimble.error.DeviceException;
import dev.nimble.error.InvalidPlanException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import dev.nimble.plan.ExecutionPlan;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * The memory of a recording: one allocation on the GPU that holds every region, and pinned host
 * memory that mirrors inputs and outputs, except those that are resident.
 *
 * <p>Between inputs and outputs lie two words for reports of bad contents. The copy of the inputs
 * clears them and the copy of the outputs fetches them, so that a step has one copy each way, and
 * one more for each gap that residents make.
 */
final class StepMemory implements AutoCloseable {
  private static final int REPORT_BYTES = Slice.ALIGNMENT;

  private final CudaContext context;
  private final ExecutionPlan plan;
  private final Graph graph;
  private final Resources owned = new Resources();
  private final DeviceMemory device;
  private final Staging toDevice;
  private final Staging toHost;
  private final ByteBuffer reported;
  private final Map<Slice.Region, Long> bases = new EnumMap<>(Slice.Region.class);
  private final DeviceAddress report;
  private final long reportBase;
  private final long outputBytes;

  /**
   * Allocates, and uploads constants and the initial contents of variables.
   *
   * @param resident inputs and outputs that no step copies
   * @throws DeviceException if memory runs out; nothing is leaked
   */
  StepMemory(CudaContext context, ExecutionPlan plan, Set<Value> resident) {
    this.context = context;
    this.plan = plan;
    this.graph = plan.graph();
    long inputBytes = aligned(plan.bytesOf(Slice.Region.INPUT));
    this.outputBytes = aligned(plan.bytesOf(Slice.Region.OUTPUT));
    long base = 0;
    bases.put(Slice.Region.INPUT, base);
    reportBase = inputBytes;
    base = reportBase + REPORT_BYTES;
    bases.put(Slice.Region.OUTPUT, base);
    base += outputBytes;
    for (Slice.Region region :
        List.of(Slice.Region.VARIABLE, Slice.Region.CONSTANT, Slice.Region.ARENA)) {
      bases.put(region, base);
      base += aligned(plan.bytesOf(region));
    }
    try {
      device = owned.own(new DeviceMemory(context, base));
      toDevice = owned.own(new Staging(context, device, staged(graph.inputs(), resident)));
      toHost = owned.own(new Staging(context, device, staged(graph.outputs(), resident)));
      report = device.at(reportBase);
      reported = toHost.at(reportBase).slice().order(ByteOrder.nativeOrder());
      device.clear(0, base);
      for (Value value : graph.values()) {
        if (value.kind() == Value.Kind.CONSTANT) {
          device.write(offset(plan.sliceOf(value)), value.contents().bytes());
        }
      }
      resetVariables();
    } catch (Throwable failure) {
      owned.closeAfter(failure);
      throw failure;
    }
  }

  private static long aligned(long bytes) {
    return (bytes + Slice.ALIGNMENT - 1) / Slice.ALIGNMENT * Slice.ALIGNMENT;
  }

  /** What a step copies of {@code values}, and the report. */
  private SortedMap<Long, Long> staged(List<Value> values, Set<Value> resident) {
    SortedMap<Long, Long> pieces = new TreeMap<>();
    pieces.put(reportBase, (long) REPORT_BYTES);
    for (Value value : values) {
      if (!resident.contains(value)) { // an empty value may share its offset with another
        Slice slice = plan.sliceOf(value);
        pieces.merge(offset(slice), aligned(slice.size()), Math::max);
      }
    }
    return pieces;
  }

  private long offset(Slice slice) {
    Long base = bases.get(slice.region());
    if (base == null) {
      throw new IllegalStateException("no memory for " + slice);
    }
    return base + slice.offset();
  }

  /** Where {@code slice} lies. */
  DeviceAddress at(Slice slice) {
    return device.at(offset(slice));
  }

  /** Where {@code value} lies. */
  DeviceAddress at(Value value) {
    return at(plan.sliceOf(value));
  }

  /** The two words that kernels report bad contents to. */
  DeviceAddress report() {
    return report;
  }

  /** Device bytes in all. */
  long deviceBytes() {
    return device.sizeBytes();
  }

  /** Enqueues the copies of inputs, which clear the report. */
  void upload(CudaStream stream) {
    toDevice.upload(stream);
  }

  /** Enqueues the copies of report and outputs. */
  void download(CudaStream stream) {
    toHost.download(stream);
  }

  /** The host side of a graph input that is not resident. */
  Tensor input(Value value) {
    return Tensor.wrap(value.type(), toDevice.at(offset(plan.sliceOf(value))));
  }

  /** The host side of a graph output that is not resident. */
  Tensor output(Value value) {
    Slice slice = plan.sliceOf(value);
    if (slice.region() != Slice.Region.OUTPUT) {
      throw new InvalidPlanException("the output " + value + " lies in " + slice);
    }
    return Tensor.wrap(value.type(), toHost.at(offset(slice)));
  }

  /** The GPU's side of a resident input or output, for the caller. */
  ResidentBuffer resident(Value value, Runnable checkOpen) {
    return new ResidentBuffer(
        context, device, offset(plan.sliceOf(value)), value.type(), checkOpen);
  }

  /** The node whose contents were bad in the last step, as its number plus 1; 0 if none were. */
  long reportedNode() {
    return reported.getLong(0);
  }

  /** The element that the node could not use. */
  long reportedElement() {
    return reported.getLong(Long.BYTES);
  }

  void read(Value variable, Tensor destination) {
    device.read(offset(plan.sliceOf(variable)), destination.bytes());
  }

  void write(Value variable, Tensor source) {
    device.write(offset(plan.sliceOf(variable)), source.bytes());
  }

  /** Gives variables their initial contents again. */
  void resetVariables() {
    for (Value variable : graph.variables()) {
      write(variable, variable.contents());
    }
  }

  /** Clears what a step computes, here and on the host, so that nothing of a prerun is left. */
  void clearResults() {
    long outputs = offset(new Slice(Slice.Region.OUTPUT, 0, 0));
    device.clear(reportBase, outputs + outputBytes - reportBase);
    device.clear(
        offset(new Slice(Slice.Region.ARENA, 0, 0)), aligned(plan.bytesOf(Slice.Region.ARENA)));
    toHost.clear();
  }

  /** The workspace of {@code node}, if it has one. */
  @org.jspecify.annotations.Nullable
  DeviceAddress workspaceOf(Node node) {
    Slice slice = plan.memory().workspaceOf(node);
    return slice == null ? null : at(slice);
  }

  /** Frees everything. Idempotent. */
  @Override
  public void close() {
    owned.close();
  }
}
