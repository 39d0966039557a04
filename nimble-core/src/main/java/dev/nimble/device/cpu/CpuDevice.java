package dev.nimble.device.cpu;

import dev.nimble.device.Device;
import dev.nimble.device.RecordOptions;
import dev.nimble.device.Recording;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.Graph;
import dev.nimble.op.KernelChoices;
import dev.nimble.op.OperatorExecutor;
import dev.nimble.plan.ExecutionPlan;
import java.util.concurrent.atomic.AtomicInteger;

/** The host as a device. */
final class CpuDevice implements Device {
  private final int workers;
  private final StreamPlacement placement;
  private final AtomicInteger open = new AtomicInteger();
  private volatile boolean closed;

  CpuDevice(int workers, StreamPlacement placement) {
    this.workers = workers;
    this.placement = placement;
  }

  @Override
  public String name() {
    return "cpu (" + workers + (workers == 1 ? " worker)" : " workers)");
  }

  /** Kernels are the same on every host; where streams run is tuning. */
  @Override
  public String target() {
    return CpuDeviceProvider.NAME;
  }

  @Override
  public int concurrency() {
    return workers;
  }

  @Override
  public KernelChoices select(Graph graph) {
    return KernelChoices.of(name(), graph, node -> CpuKernels.of(node).choice());
  }

  @Override
  public Recording record(ExecutionPlan plan, RecordOptions options) {
    checkOpen();
    return new CpuRecording(plan, placement, options, workers, open);
  }

  @Override
  public OperatorExecutor eager() {
    checkOpen();
    return new CpuExecutor(open);
  }

  private void checkOpen() {
    if (closed) {
      throw new InvalidArgumentException("the device is closed");
    }
  }

  @Override
  public int openResources() {
    return open.get();
  }

  @Override
  public void close() {
    closed = true;
  }
}
