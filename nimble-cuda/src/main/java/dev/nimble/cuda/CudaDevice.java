package dev.nimble.cuda;

import dev.nimble.cuda.driver.CudaContext;
import dev.nimble.cuda.driver.CudaDriver;
import dev.nimble.cuda.driver.Resources;
import dev.nimble.cuda.kernel.Kernels;
import dev.nimble.cuda.op.CudaKernels;
import dev.nimble.cuda.record.CudaExecutor;
import dev.nimble.cuda.record.CudaRecording;
import dev.nimble.device.Device;
import dev.nimble.device.RecordOptions;
import dev.nimble.device.Recording;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.Graph;
import dev.nimble.op.KernelChoices;
import dev.nimble.op.OperatorExecutor;
import dev.nimble.plan.ExecutionPlan;
import java.util.function.Supplier;

/** One NVIDIA GPU. Its context is released when it and all that it made are closed. */
final class CudaDevice implements Device {
  private static final int MOST_CONCURRENT = 128; // CUDA C programming guide: resident grids

  private final CudaOptions options;
  private final CudaContext context;
  private final Kernels kernels;
  private final CudaKernels operators;
  private int open;
  private boolean closed;
  private boolean released;

  CudaDevice(int ordinal, CudaOptions options) {
    this.options = options;
    this.context = new CudaContext(ordinal);
    this.kernels = new Kernels(context, options.cache());
    this.operators =
        new CudaKernels(
            context, kernels, options.cache(), options.libraries(), options.tensorFloat());
  }

  @Override
  public String name() {
    return "cuda:" + context.ordinal() + " (" + context.deviceName() + ")";
  }

  /** Algorithms and workspaces are chosen for the model of GPU, whichever its ordinal. */
  @Override
  public String target() {
    return "cuda " + context.deviceName();
  }

  @Override
  public int concurrency() {
    return MOST_CONCURRENT;
  }

  @Override
  public KernelChoices select(Graph graph) {
    return inContext(() -> KernelChoices.of(name(), graph, node -> operators.of(node).choice()));
  }

  @Override
  public Recording record(ExecutionPlan plan, RecordOptions wanted) {
    return inContext(
        () -> {
          CudaRecording recording =
              new CudaRecording(
                  context,
                  operators.tuned(wanted.tuning()),
                  plan,
                  wanted.resident(),
                  options.mode(),
                  options.highPriority() ? context.streamPriorities()[1] : 0,
                  this::released);
          opened();
          return recording;
        });
  }

  @Override
  public OperatorExecutor eager() {
    return inContext(
        () -> {
          CudaExecutor executor = new CudaExecutor(context, operators, this::released);
          opened();
          return executor;
        });
  }

  private <T> T inContext(Supplier<T> body) {
    synchronized (this) {
      if (closed) {
        throw new InvalidArgumentException("the device is closed");
      }
    }
    return context.within(body);
  }

  private synchronized void opened() {
    open++;
  }

  private synchronized void released() {
    open--;
    releaseIfUnused();
  }

  @Override
  public synchronized int openResources() {
    return open;
  }

  /** The context, for tests and {@link Doctor}. */
  CudaContext context() {
    return context;
  }

  /** How often NVRTC has run. */
  int compilations() {
    return kernels.compilations();
  }

  @Override
  public synchronized void close() {
    closed = true;
    releaseIfUnused();
  }

  private void releaseIfUnused() {
    if (!closed || open > 0 || released) {
      return;
    }
    released = true;
    Resources.of(context, () -> context.closing(kernels::close)).close();
  }

  @Override
  public String toString() {
    return name() + ", CUDA driver " + CudaDriver.version();
  }
}
