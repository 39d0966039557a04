package dev.nimble;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import dev.nimble.device.DeviceBuffer;
import dev.nimble.device.Recording;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.jfr.ReplayEvent;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.plan.Timeline;
import dev.nimble.planfile.PlanFile;
import dev.nimble.planfile.PlanWeights;
import dev.nimble.planfile.SavedPlan;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A prepared network: one recorded step with its memory.
 *
 * <p>Two ways to step. {@link #run} copies its inputs in and its outputs out; it may be called from
 * several threads, which take turns. {@link #replay} runs on the bound buffers ({@link #input},
 * {@link #output}) with no copy and no allocation; since the buffers are shared, a replay while
 * another step is running fails at once. Variables keep their contents from step to step.
 *
 * <p>On a GPU the bound buffers lie in pinned host memory, and every step copies them. Those that
 * {@link EngineOptions#resident} names stay on the GPU instead, for data that come from or go to
 * work there: {@link #residentInput}, {@link #residentOutput}.
 *
 * <p>Bound buffers are fixed for the engine's life. After {@link #close} every call fails with
 * {@link InvalidArgumentException}, except {@link #close} itself and reading {@link #plan}.
 */
public final class Engine implements AutoCloseable {
  /** What an engine closes after its recording; no checked exception. */
  interface Owned extends AutoCloseable {
    @Override
    void close();
  }

  private final ExecutionPlan plan;
  private final Graph captured;
  private final Recording recording;
  private final String target;
  private final AutoCloseable alsoClosed;
  private final ImmutableMap<String, Integer> inputIndex;
  private final ImmutableMap<String, Integer> outputIndex;
  private final ImmutableMap<String, Integer> variableIndex;
  private final ImmutableMap<String, DeviceBuffer> residentInputs;
  private final ImmutableMap<String, DeviceBuffer> residentOutputs;
  private final ReentrantLock stepping = new ReentrantLock();
  private final ReplayEvent replayEvent;
  private @Nullable ExecutorService asyncThread;
  private boolean closed;

  Engine(
      Graph captured,
      ExecutionPlan plan,
      String target,
      Recording recording,
      ImmutableSet<Value> resident,
      AutoCloseable alsoClosed) {
    this.captured = captured;
    this.target = target;
    this.plan = plan;
    this.recording = recording;
    this.alsoClosed = alsoClosed;
    Graph graph = plan.graph();
    this.inputIndex = positions(graph.inputs().stream().map(Value::name).toList());
    this.outputIndex = positions(graph.outputNames());
    this.variableIndex = positions(graph.variables().stream().map(Value::name).toList());
    this.residentInputs = resident(inputIndex, graph.inputs(), resident);
    this.residentOutputs = resident(outputIndex, graph.outputs(), resident);
    this.replayEvent = new ReplayEvent(graph.name(), graph.nodes().size(), plan.streams());
  }

  private static ImmutableMap<String, Integer> positions(List<String> names) {
    ImmutableMap.Builder<String, Integer> positions = ImmutableMap.builder();
    for (int i = 0; i < names.size(); i++) {
      positions.put(names.get(i), i);
    }
    return positions.buildOrThrow();
  }

  private ImmutableMap<String, DeviceBuffer> resident(
      ImmutableMap<String, Integer> index, List<Value> values, ImmutableSet<Value> resident) {
    ImmutableMap.Builder<String, DeviceBuffer> buffers = ImmutableMap.builder();
    index.forEach(
        (name, i) -> {
          if (resident.contains(values.get(i))) {
            buffers.put(name, recording.resident(values.get(i)));
          }
        });
    return buffers.buildOrThrow();
  }

  /**
   * The graph as it was given, before transforms; of an engine that was loaded, the plan's own
   * graph.
   */
  public Graph capturedGraph() {
    return captured;
  }

  /** The plan that is replayed; its graph is the transformed one. */
  public ExecutionPlan plan() {
    return plan;
  }

  /**
   * Saves the plan, with what the device measured for it, to {@code file}, weights included; {@link
   * Nimble#load(Path)} makes an engine of it without scheduling again. Variables are saved with
   * their initial contents, not with the present ones. An existing file is replaced.
   *
   * @throws InvalidArgumentException if the file cannot be written, the graph has an operator that
   *     is not one of this library's, or the engine is closed
   */
  public void save(Path file) {
    save(file, PlanWeights.inline());
  }

  /** As {@link #save(Path)}, with weights where {@code weights} says. */
  public void save(Path file, PlanWeights weights) {
    checkOpenLocked();
    PlanFile.write(file, new SavedPlan(plan, target, recording.tuning()), weights);
  }

  /**
   * Runs one step on copies: every input of the graph must be given, with exactly its type.
   *
   * @return the outputs by name, in the graph's order; fresh tensors
   * @throws InvalidArgumentException if an input is missing, unknown or of another type, or the
   *     engine is closed; nothing has run then
   */
  public Map<String, Tensor> run(Map<String, Tensor> inputs) {
    checkInputs(inputs);
    stepping.lock();
    try {
      checkOpen();
      inputIndex.forEach((name, index) -> write(name, index, given(inputs, name)));
      step();
      Map<String, Tensor> outputs = new LinkedHashMap<>();
      outputIndex.forEach((name, index) -> outputs.put(name, copyOfOutput(name, index)));
      return outputs;
    } finally {
      stepping.unlock();
    }
  }

  private void write(String name, int index, Tensor contents) {
    DeviceBuffer resident = ((Map<String, DeviceBuffer>) residentInputs).get(name);
    if (resident != null) {
      resident.write(contents);
    } else {
      recording.input(index).copyFrom(contents);
    }
  }

  private Tensor copyOfOutput(String name, int index) {
    DeviceBuffer resident = ((Map<String, DeviceBuffer>) residentOutputs).get(name);
    if (resident == null) {
      return recording.output(index).copy();
    }
    Tensor copy = Tensor.zeros(resident.type());
    resident.read(copy);
    return copy;
  }

  /**
   * As {@link #run}, on the engine's own thread; calls run in the order in which they were made.
   * The input tensors must not change until the result is there.
   */
  public CompletableFuture<Map<String, Tensor>> runAsync(Map<String, Tensor> inputs) {
    checkInputs(inputs);
    return async(() -> run(inputs));
  }

  /**
   * Runs one step on the bound buffers and waits until the outputs are complete. Allocates nothing.
   *
   * @throws InvalidArgumentException if a step is running in another thread, or the engine is
   *     closed
   */
  public void replay() {
    if (!stepping.tryLock()) {
      throw new InvalidArgumentException(
          "the engine is running a step in another thread; its bound buffers are shared: let one thread"
              + " replay, or use run()");
    }
    try {
      checkOpen();
      step();
    } finally {
      stepping.unlock();
    }
  }

  /** One replay; the caller holds the lock, so that one event object serves all. */
  private void step() {
    if (replayEvent.isEnabled()) {
      replayEvent.begin();
      recording.replay();
      replayEvent.done();
    } else {
      recording.replay();
    }
  }

  /** As {@link #replay}, on the engine's own thread. */
  public CompletableFuture<Void> replayAsync() {
    return async(
        () -> {
          replay();
          return null;
        });
  }

  private <T extends @Nullable Object> CompletableFuture<T> async(Supplier<T> step) {
    stepping.lock();
    try {
      checkOpen();
      if (asyncThread == null) {
        asyncThread =
            Executors.newSingleThreadExecutor(
                task -> {
                  Thread thread = new Thread(task, "nimble-engine");
                  thread.setDaemon(true);
                  return thread;
                });
      }
      return CompletableFuture.supplyAsync(step, asyncThread);
    } finally {
      stepping.unlock();
    }
  }

  /** One replay with the time of each launch; slower than {@link #replay}. */
  public Timeline replayTimed() {
    stepping.lock();
    try {
      checkOpen();
      return recording.replayTimed();
    } finally {
      stepping.unlock();
    }
  }

  /**
   * The buffer from which replays read input {@code name}.
   *
   * @throws InvalidArgumentException if there is none, it is resident, or the engine is closed
   */
  public Tensor input(String name) {
    checkOpenLocked();
    return recording.input(position(inputIndex, name, "input"));
  }

  /**
   * The buffer into which replays write output {@code name}; holds the last step's result.
   *
   * @throws InvalidArgumentException if there is none, it is resident, or the engine is closed
   */
  public Tensor output(String name) {
    checkOpenLocked();
    return recording.output(position(outputIndex, name, "output"));
  }

  /**
   * The device's buffer from which replays read input {@code name}, which no step copies.
   *
   * @throws InvalidArgumentException if {@link EngineOptions#resident} did not name it
   */
  public DeviceBuffer residentInput(String name) {
    position(inputIndex, name, "input");
    return resident(residentInputs, name, "input");
  }

  /**
   * The device's buffer into which replays write output {@code name}, which no step copies.
   *
   * @throws InvalidArgumentException if {@link EngineOptions#resident} did not name it
   */
  public DeviceBuffer residentOutput(String name) {
    position(outputIndex, name, "output");
    return resident(residentOutputs, name, "output");
  }

  private static DeviceBuffer resident(
      ImmutableMap<String, DeviceBuffer> buffers, String name, String what) {
    DeviceBuffer buffer = ((Map<String, DeviceBuffer>) buffers).get(name);
    if (buffer == null) {
      throw new InvalidArgumentException(
          what
              + " '"
              + name
              + "' is copied by every step; name it in EngineOptions.withResident to keep it on the"
              + " device");
    }
    return buffer;
  }

  /** A copy of the present contents of variable {@code name}. */
  public Tensor variable(String name) {
    int index = position(variableIndex, name, "variable");
    Tensor copy = Tensor.zeros(plan.graph().variables().get(index).type());
    stepping.lock();
    try {
      checkOpen();
      recording.readVariable(index, copy);
    } finally {
      stepping.unlock();
    }
    return copy;
  }

  /** Overwrites variable {@code name} between steps. */
  public void setVariable(String name, Tensor contents) {
    int index = position(variableIndex, name, "variable");
    checkType("variable", name, plan.graph().variables().get(index).type(), contents);
    stepping.lock();
    try {
      checkOpen();
      recording.writeVariable(index, contents);
    } finally {
      stepping.unlock();
    }
  }

  /** Whether {@link #close} has been called. */
  public boolean isClosed() {
    stepping.lock();
    try {
      return closed;
    } finally {
      stepping.unlock();
    }
  }

  /** Waits for steps that have begun or are queued, then frees everything. Idempotent. */
  @Override
  public void close() {
    ExecutorService queued;
    stepping.lock();
    try {
      queued = asyncThread;
      asyncThread = null;
    } finally {
      stepping.unlock();
    }
    if (queued != null) {
      queued.shutdown();
      awaitQuietly(queued);
    }
    stepping.lock();
    try {
      if (closed) {
        return;
      }
      closed = true;
      try {
        recording.close();
      } finally {
        closeOwned();
      }
    } finally {
      stepping.unlock();
    }
  }

  private void closeOwned() {
    try {
      alsoClosed.close();
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static void awaitQuietly(ExecutorService queued) {
    boolean interrupted = false;
    while (true) {
      try {
        if (queued.awaitTermination(1, java.util.concurrent.TimeUnit.HOURS)) {
          break;
        }
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void checkOpenLocked() {
    stepping.lock();
    try {
      checkOpen();
    } finally {
      stepping.unlock();
    }
  }

  private void checkOpen() {
    if (closed) {
      throw new InvalidArgumentException("the engine is closed");
    }
  }

  private void checkInputs(Map<String, Tensor> inputs) {
    for (String name : inputs.keySet()) {
      position(inputIndex, name, "input");
    }
    for (Value input : plan.graph().inputs()) {
      checkType("input", input.name(), input.type(), given(inputs, input.name()));
    }
  }

  private static Tensor given(Map<String, Tensor> inputs, String name) {
    Tensor tensor = inputs.get(name);
    if (tensor == null) {
      throw new InvalidArgumentException(
          "input '" + name + "' is missing; every input must be given at every step");
    }
    return tensor;
  }

  private static void checkType(String what, String name, TensorType expected, Tensor given) {
    if (!given.type().equals(expected)) {
      throw new InvalidArgumentException(
          what
              + " '"
              + name
              + "' must be "
              + expected
              + ", not "
              + given.type()
              + "; prepare another engine for another shape");
    }
  }

  private static int position(ImmutableMap<String, Integer> positions, String name, String what) {
    Integer index = ((Map<String, Integer>) positions).get(name);
    if (index == null) {
      throw new InvalidArgumentException(
          "there is no " + what + " '" + name + "'; there are " + positions.keySet());
    }
    return index;
  }

  @Override
  public String toString() {
    return "engine of "
        + plan.graph().name()
        + " ("
        + plan.graph().nodes().size()
        + " nodes, "
        + plan.streams()
        + " streams)";
  }
}
