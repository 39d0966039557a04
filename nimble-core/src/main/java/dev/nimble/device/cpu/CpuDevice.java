package dev.nimble.device.cpu;

import dev.nimble.device.Device;
import dev.nimble.device.Recording;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Operand;
import dev.nimble.op.KernelChoices;
import dev.nimble.op.OperatorExecutor;
import dev.nimble.plan.ExecutionPlan;
import java.util.concurrent.atomic.AtomicInteger;

/** The host as a device. */
final class CpuDevice implements Device {
  private final int workers;
  private final AtomicInteger open = new AtomicInteger();

  CpuDevice(int workers) {
    this.workers = workers;
  }

  @Override
  public String name() {
    return "cpu (" + workers + (workers == 1 ? " worker)" : " workers)");
  }

  @Override
  public int concurrency() {
    return workers;
  }

  @Override
  public KernelChoices select(Graph graph) {
    return KernelChoices.of(
        name(),
        graph,
        node ->
            CpuKernels.of(
                    node.operator(),
                    node.inputs().stream().map(Operand::type).toList(),
                    node.outputs().stream().map(Operand::type).toList())
                .choice());
  }

  @Override
  public Recording record(ExecutionPlan plan) {
    return new CpuRecording(plan, workers, open);
  }

  @Override
  public OperatorExecutor eager() {
    return new CpuExecutor(open);
  }

  @Override
  public int openResources() {
    return open.get();
  }

  @Override
  public void close() {}
}
