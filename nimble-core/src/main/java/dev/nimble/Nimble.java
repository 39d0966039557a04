package dev.nimble;

import dev.nimble.device.Device;
import dev.nimble.device.Devices;
import dev.nimble.device.Recording;
import dev.nimble.graph.Graph;
import dev.nimble.jfr.PrepareEvent;
import dev.nimble.jfr.StageEvent;
import dev.nimble.memory.MemoryPlan;
import dev.nimble.memory.MemoryPlanner;
import dev.nimble.op.KernelChoices;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.plan.PlanAssembler;
import dev.nimble.schedule.Schedule;
import dev.nimble.transform.OutputCopies;
import dev.nimble.verify.PlanVerifier;

/** Prepares graphs: all scheduling, once, ahead of time [Nimble, section 4.1]. */
public final class Nimble {
  private Nimble() {}

  /** As {@link #prepare(Graph, EngineOptions)}, with {@link EngineOptions#defaults()}. */
  public static Engine prepare(Graph graph) {
    return prepare(graph, EngineOptions.defaults());
  }

  /**
   * Opens the device that the options name and prepares {@code graph} on it; closing the engine
   * closes the device.
   *
   * @throws dev.nimble.error.InvalidModelException if the graph cannot run on the device; names the
   *     node
   * @throws dev.nimble.error.DeviceException if the device cannot be opened or fails; nothing is
   *     leaked
   */
  public static Engine prepare(Graph graph, EngineOptions options) {
    Device device = Devices.open(options.device());
    try {
      return prepare(graph, device, options, device::close);
    } catch (Throwable failure) {
      closeAfter(failure, device);
      throw failure;
    }
  }

  /**
   * As {@link #prepare(Graph, EngineOptions)}, on a device that stays open; its name in options is
   * unused.
   */
  public static Engine prepare(Graph graph, Device device, EngineOptions options) {
    return prepare(graph, device, options, () -> {});
  }

  private static Engine prepare(
      Graph graph, Device device, EngineOptions options, Engine.Owned alsoClosed) {
    PrepareEvent event = PrepareEvent.start();
    ExecutionPlan plan = plan(graph, device, options);
    StageEvent stage = StageEvent.start(graph.name());
    Recording recording = device.record(plan);
    stage.next("record");
    try {
      Engine engine = new Engine(graph, plan, recording, alsoClosed);
      event
          .of(graph.name(), plan.kernels().device(), plan.schedule().policy())
          .done(
              plan.graph().nodes().size(),
              plan.streams(),
              plan.schedule().syncs().size(),
              plan.memory().arenaBytes());
      return engine;
    } catch (Throwable failure) {
      closeAfter(failure, recording);
      throw failure;
    }
  }

  /**
   * Everything up to recording: transforms, kernel selection, schedule, memory plan, assembly, and
   * proof.
   *
   * @throws dev.nimble.error.InvalidPlanException if the plan fails verification (a fault of this
   *     library)
   */
  public static ExecutionPlan plan(Graph graph, Device device, EngineOptions options) {
    StageEvent stage = StageEvent.start(graph.name());
    Graph rewritten = OutputCopies.apply(options.transforms().apply(graph));
    stage = stage.next("transform");
    KernelChoices kernels = device.select(rewritten);
    stage = stage.next("select");
    Schedule schedule = options.policy().schedule(rewritten, kernels);
    stage = stage.next("schedule");
    MemoryPlan memory = MemoryPlanner.plan(rewritten, kernels, schedule);
    ExecutionPlan plan = PlanAssembler.assemble(rewritten, kernels, schedule, memory);
    stage = stage.next("memory");
    PlanVerifier.verify(plan);
    stage.next("verify");
    return plan;
  }

  private static void closeAfter(Throwable failure, AutoCloseable resource) {
    try {
      resource.close();
    } catch (Exception suppressed) {
      failure.addSuppressed(suppressed);
    }
  }
}
