package dev.nimble;

import com.google.common.collect.ImmutableSet;
import dev.nimble.device.Device;
import dev.nimble.device.Devices;
import dev.nimble.device.RecordOptions;
import dev.nimble.device.Recording;
import dev.nimble.error.DeviceException;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.error.InvalidModelException;
import dev.nimble.error.InvalidPlanException;
import dev.nimble.error.Location;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Value;
import dev.nimble.jfr.PrepareEvent;
import dev.nimble.jfr.StageEvent;
import dev.nimble.memory.MemoryPlan;
import dev.nimble.memory.MemoryPlanner;
import dev.nimble.op.KernelChoices;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.plan.PlanAssembler;
import dev.nimble.plan.Tuning;
import dev.nimble.planfile.PlanFile;
import dev.nimble.planfile.SavedPlan;
import dev.nimble.schedule.Schedule;
import dev.nimble.transform.OutputCopies;
import dev.nimble.verify.PlanVerifier;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.Set;

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
    ImmutableSet<Value> resident = resident(plan.graph(), options.resident());
    Recording recording = device.record(plan, new RecordOptions(Tuning.NONE, resident));
    stage.next("record");
    return engine(graph, plan, device, recording, resident, alsoClosed, event);
  }

  private static Engine engine(
      Graph captured,
      ExecutionPlan plan,
      Device device,
      Recording recording,
      ImmutableSet<Value> resident,
      Engine.Owned alsoClosed,
      PrepareEvent event) {
    try {
      Engine engine = new Engine(captured, plan, device.target(), recording, resident, alsoClosed);
      event
          .of(captured.name(), plan.kernels().device(), plan.schedule().policy())
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

  /** The inputs and outputs that are called {@code names}. */
  private static ImmutableSet<Value> resident(Graph graph, ImmutableSet<String> names) {
    ImmutableSet.Builder<Value> values = ImmutableSet.builder();
    Set<String> unknown = new LinkedHashSet<>(names);
    for (Value input : graph.inputs()) {
      if (names.contains(input.name())) {
        values.add(input);
        unknown.remove(input.name());
      }
    }
    for (int i = 0; i < graph.outputs().size(); i++) {
      String name = graph.outputNames().get(i);
      if (names.contains(name)) {
        values.add(graph.outputs().get(i));
        unknown.remove(name);
      }
    }
    if (!unknown.isEmpty()) {
      throw new InvalidArgumentException(
          "cannot be resident, for they are neither inputs nor outputs: " + unknown);
    }
    return values.build();
  }

  /**
   * Loads a plan that {@link Engine#save} has written, opens the first device of the kind that it
   * was made for, and records it there; closing the engine closes the device. Nothing is captured,
   * transformed, scheduled or measured again; the plan is verified again, for the file is not
   * trusted.
   *
   * @throws InvalidPlanException if the file cannot be read, is damaged, is of another version, or
   *     was made for a device that is not here; names the file and says what is wrong
   * @throws dev.nimble.error.DeviceException if the device cannot be opened or fails; nothing is
   *     leaked
   */
  public static Engine load(Path file) {
    return load(file, "auto");
  }

  /**
   * As {@link #load(Path)}, on the device that {@code spec} names, as {@link Devices#open} takes
   * it; {@code auto} is a device of the kind that the plan was made for.
   */
  public static Engine load(Path file, String spec) {
    return load(file, spec, ImmutableSet.of());
  }

  /**
   * As {@link #load(Path, String)}, with these inputs and outputs resident, as {@link
   * EngineOptions#resident} says.
   */
  public static Engine load(Path file, String spec, ImmutableSet<String> resident) {
    PrepareEvent event = PrepareEvent.startOfLoad(file.toString());
    SavedPlan saved = PlanFile.read(file);
    Device device = open(file, saved, spec);
    try {
      return load(file, saved, device, resident, device::close, event);
    } catch (Throwable failure) {
      closeAfter(failure, device);
      throw failure;
    }
  }

  /** As {@link #load(Path)}, on a device that stays open. */
  public static Engine load(Path file, Device device) {
    PrepareEvent event = PrepareEvent.startOfLoad(file.toString());
    return load(file, PlanFile.read(file), device, ImmutableSet.of(), () -> {}, event);
  }

  /**
   * As {@link #load(Path, Device)}, of a plan that has been read; {@code name} stands for the file
   * in messages.
   */
  public static Engine load(String name, SavedPlan saved, Device device) {
    PrepareEvent event = PrepareEvent.startOfLoad(name);
    return load(Path.of(name), saved, device, ImmutableSet.of(), () -> {}, event);
  }

  private static Device open(Path file, SavedPlan saved, String spec) {
    if (!spec.equals("auto")) {
      return Devices.open(spec);
    }
    try {
      return Devices.open(saved.deviceKind());
    } catch (InvalidArgumentException | DeviceException e) { // none of that kind is here
      throw new InvalidPlanException(
          "was made for '" + saved.target() + "': " + e.what(),
          Location.ofFile(file.toString()),
          e);
    }
  }

  private static Engine load(
      Path file,
      SavedPlan saved,
      Device device,
      ImmutableSet<String> residentNames,
      Engine.Owned alsoClosed,
      PrepareEvent event) {
    String name = file.toString();
    if (!saved.target().equals(device.target())) {
      throw new InvalidPlanException(
          "was made for the device '"
              + saved.target()
              + "', and this one is '"
              + device.target()
              + "'; prepare the model on this device",
          Location.ofFile(name));
    }
    ExecutionPlan plan = saved.plan();
    ImmutableSet<Value> resident = resident(plan.graph(), residentNames);
    Recording recording;
    try {
      recording = device.record(plan, new RecordOptions(saved.tuning(), resident));
    } catch (InvalidPlanException e) {
      throw e.in(name);
    } catch (InvalidArgumentException | InvalidModelException e) { // other kernels than are here
      throw new InvalidPlanException(e.what(), e.location().withFile(name), e);
    } catch (DeviceException e) {
      throw new DeviceException(e.what(), e.location().withFile(name), e);
    } catch (RuntimeException e) { // the file is not trusted: a gap in the checks must not escape
      throw new InvalidPlanException("cannot be recorded: " + e, Location.ofFile(name), e);
    }
    return engine(plan.graph(), plan, device, recording, resident, alsoClosed, event);
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

  static void closeAfter(Throwable failure, AutoCloseable resource) {
    try {
      resource.close();
    } catch (Exception suppressed) {
      failure.addSuppressed(suppressed);
    }
  }
}
