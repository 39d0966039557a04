package dev.nimble.device;

import dev.nimble.graph.Graph;
import dev.nimble.op.KernelChoices;
import dev.nimble.op.OperatorExecutor;
import dev.nimble.plan.ExecutionPlan;

/**
 * Something that runs kernels on streams. Thread-safe. Closing it closes nothing that it made:
 * close recordings and executors first.
 */
public interface Device extends AutoCloseable {
  /** The device's name with its kind, for reports: {@code cpu (2 cores)}. */
  String name();

  /**
   * What a plan that was made for this device must find again to run: one that was saved is
   * recorded only by a device of an equal target. The first word is the name of the provider; what
   * else decides whether kernels, algorithms and their workspaces fit (architecture, versions of
   * libraries) follows.
   */
  default String target() {
    return name();
  }

  /** The most streams that can make progress at once. */
  int concurrency();

  /**
   * Chooses a kernel for each node of {@code graph}.
   *
   * @throws dev.nimble.error.InvalidModelException if a node has no kernel here; names it
   */
  KernelChoices select(Graph graph);

  /** As {@link #record(ExecutionPlan, RecordOptions)}, with {@link RecordOptions#DEFAULTS}. */
  default Recording record(ExecutionPlan plan) {
    return record(plan, RecordOptions.DEFAULTS);
  }

  /**
   * Makes everything that a step of {@code plan} needs (memory, kernels, threads or handles), so
   * that a replay only launches. The plan must have passed verification.
   *
   * @throws dev.nimble.error.InvalidPlanException if the tuning makes no sense for {@code plan}
   * @throws dev.nimble.error.DeviceException if the device fails or memory runs out; nothing is
   *     leaked
   */
  Recording record(ExecutionPlan plan, RecordOptions options);

  /** Opens an executor that runs operators one at a time, as called. */
  OperatorExecutor eager();

  /** Recordings and executors made by this device that are not yet closed. */
  int openResources();

  @Override
  void close();
}
