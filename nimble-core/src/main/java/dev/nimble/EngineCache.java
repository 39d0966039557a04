package dev.nimble;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedMap;
import dev.nimble.device.Device;
import dev.nimble.device.Devices;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.transform.Transforms;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Function;

/**
 * Engines of one model for many shapes: prepared when first asked for, kept, and closed, least
 * recently used first, when there are too many and nobody uses them. All of them share one copy of
 * the weights ({@link SharedWeights}). Thread-safe: several threads may ask for the same shape,
 * which is prepared once, and for others, which are prepared side by side.
 *
 * <pre>{@code
 * OnnxModel model = OnnxModel.load(Path.of("model.onnx"));
 * try (EngineCache cache = EngineCache.of(model::graph, EngineOptions.defaults(), 4);
 *     EngineCache.Lease lease = cache.lease(Map.of("batch", 1, "sequence", 128))) {
 *   lease.engine().run(inputs);
 * }
 * }</pre>
 */
public final class EngineCache implements AutoCloseable {
  private static final int MOST_SHAPES = 1024;

  private final Function<Map<String, Integer>, Graph> model;
  private final EngineOptions options;
  private final Device device;
  private final boolean ownsDevice;
  private final int mostEngines;
  private final SharedWeights weights = new SharedWeights();

  /** By dimensions, the least recently used first. Guarded by this. */
  private final LinkedHashMap<ImmutableSortedMap<String, Integer>, Entry> entries =
      new LinkedHashMap<>(16, 0.75f, true);

  /** Of exact dimensions that were padded, the least recently used first. Guarded by itself. */
  private final LinkedHashMap<ImmutableSortedMap<String, Integer>, ImmutableMap<String, TensorType>>
      outputTypes = new LinkedHashMap<>(16, 0.75f, true);

  private long prepared;
  private long evicted;
  private boolean closed;
  private boolean deviceClosed;

  /** An engine, or the promise of one, with its users. Fields are guarded by the cache. */
  private static final class Entry {
    final CompletableFuture<Engine> engine = new CompletableFuture<>();
    int users;
  }

  /**
   * What a cache has done and holds.
   *
   * @param engines that are open
   * @param prepared how many have been prepared
   * @param evicted how many have been closed to make room
   * @param weightBytes bytes of the weights that the engines share, each counted once
   * @param weightBytesWithoutSharing what they would be, had each engine its own
   */
  public record Statistics(
      int engines, long prepared, long evicted, long weightBytes, long weightBytesWithoutSharing) {}

  private EngineCache(
      Function<Map<String, Integer>, Graph> model,
      Device device,
      boolean ownsDevice,
      EngineOptions options,
      int mostEngines) {
    if (mostEngines < 1) {
      throw new InvalidArgumentException(
          "a cache needs room for at least 1 engine, not " + mostEngines);
    }
    this.model = model;
    this.device = device;
    this.ownsDevice = ownsDevice;
    this.options = options;
    this.mostEngines = mostEngines;
  }

  /**
   * A cache on the device that the options name, which it opens and closes.
   *
   * @param model makes the graph for given dimensions, as {@code OnnxModel.graph} does; must be
   *     thread-safe
   * @param mostEngines how many engines are kept; more only while all of them are in use
   */
  public static EngineCache of(
      Function<Map<String, Integer>, Graph> model, EngineOptions options, int mostEngines) {
    Device device = Devices.open(options.device());
    try {
      return new EngineCache(model, device, true, options, mostEngines);
    } catch (RuntimeException e) {
      device.close();
      throw e;
    }
  }

  /** As {@link #of(Function, EngineOptions, int)}, on a device that stays open. */
  public static EngineCache of(
      Function<Map<String, Integer>, Graph> model,
      Device device,
      EngineOptions options,
      int mostEngines) {
    return new EngineCache(model, device, false, options, mostEngines);
  }

  /** The use of an engine: while it is open, the engine is not closed. */
  public final class Lease implements AutoCloseable {
    private final Entry entry;
    private final Engine engine;
    private boolean ended;

    private Lease(Entry entry, Engine engine) {
      this.entry = entry;
      this.engine = engine;
    }

    /** The engine; others may use it too. Do not close it, and do not use it after this. */
    public Engine engine() {
      return engine;
    }

    /** Ends the use. Idempotent. */
    @Override
    public void close() {
      synchronized (EngineCache.this) {
        if (ended) {
          return;
        }
        ended = true;
      }
      release(entry);
    }
  }

  /**
   * The engine for these dimensions, prepared if it is not there.
   *
   * @throws InvalidArgumentException if the cache is closed, or the model has no such dimensions
   * @throws dev.nimble.error.NimbleException whatever preparing throws; the next call tries again
   */
  public Lease lease(Map<String, Integer> dimensions) {
    ImmutableSortedMap<String, Integer> key = ImmutableSortedMap.copyOf(dimensions);
    Entry entry;
    boolean first;
    synchronized (this) {
      if (closed) {
        throw new InvalidArgumentException("the cache is closed");
      }
      Entry known = entries.get(key);
      first = known == null;
      entry = known == null ? new Entry() : known;
      if (first) {
        entries.put(key, entry);
      }
      entry.users++;
    }
    if (first) {
      prepare(key, entry);
    }
    try {
      return new Lease(entry, entry.engine.join());
    } catch (CompletionException e) {
      release(entry);
      if (e.getCause() instanceof RuntimeException) {
        throw (RuntimeException) e.getCause();
      }
      throw e;
    }
  }

  private void prepare(ImmutableSortedMap<String, Integer> key, Entry entry) {
    try {
      closeAll(evict(mostEngines)); // before, so that two of them need not fit at once
      Graph graph = weights.share(options.transforms().apply(model.apply(key)));
      Engine engine =
          Nimble.prepare(graph, device, options.withTransforms(Transforms.none())); // made above
      synchronized (this) {
        prepared++;
      }
      entry.engine.complete(engine);
    } catch (Throwable failure) {
      synchronized (this) {
        entries.remove(key, entry);
      }
      entry.engine.completeExceptionally(failure);
    }
  }

  private void release(Entry entry) {
    List<Engine> unused;
    synchronized (this) {
      entry.users--;
      unused = evict(closed ? 0 : mostEngines);
    }
    closeAll(unused);
    closeDevice();
  }

  /** Closes the cache's own device when nothing is left of what it made. */
  private void closeDevice() {
    synchronized (this) {
      if (!closed || !ownsDevice || deviceClosed || !entries.isEmpty()) {
        return;
      }
      deviceClosed = true;
    }
    device.close();
  }

  /** Takes idle engines out, the least recently used first, until at most {@code most} are left. */
  private synchronized List<Engine> evict(int most) {
    List<Engine> taken = new ArrayList<>();
    var each = entries.values().iterator();
    while (entries.size() > most && each.hasNext()) {
      Entry entry = each.next();
      if (entry.users == 0) {
        each.remove();
        evicted += closed ? 0 : 1;
        taken.add(entry.engine.join()); // there, for nobody waits for it
      }
    }
    return taken;
  }

  private static void closeAll(Collection<Engine> engines) {
    engines.forEach(Engine::close);
  }

  /**
   * Prepares engines for several sets of dimensions ahead of use.
   *
   * @throws InvalidArgumentException if there is not room for all
   */
  public void prepare(Collection<? extends Map<String, Integer>> shapes) {
    if (shapes.size() > mostEngines) {
      throw new InvalidArgumentException(
          "there is room for " + mostEngines + " engines, not " + shapes.size());
    }
    shapes.forEach(shape -> lease(shape).close());
  }

  /**
   * Runs one step of the engine that {@code dimensions} ask for.
   *
   * @return the outputs by name; fresh tensors
   */
  public Map<String, Tensor> run(Map<String, Integer> dimensions, Map<String, Tensor> inputs) {
    try (Lease lease = lease(dimensions)) {
      return lease.engine().run(inputs);
    }
  }

  /**
   * As {@link #run(Map, Map)}, but on the engine of the next larger extent among {@code buckets}:
   * inputs are padded with zeros at the end of their axes, and outputs are cut to the shapes that
   * they would have had, so that few engines serve many extents. The result is that of the exact
   * shape only if the model keeps padding apart: always for a batch, and for a sequence if a mask
   * among the inputs (zero where padded) says so. The shapes of outputs are found by importing the
   * model, once for each of the last {@value #MOST_SHAPES} dimensions.
   *
   * @param dimensions the extents that the inputs have
   * @throws InvalidArgumentException if the extent exceeds every bucket, or an input does not fit
   */
  public Map<String, Tensor> run(
      Map<String, Integer> dimensions, Buckets buckets, Map<String, Tensor> inputs) {
    ImmutableSortedMap<String, Integer> padded = buckets.pad(dimensions);
    if (padded.equals(dimensions)) {
      return run(dimensions, inputs);
    }
    ImmutableMap<String, TensorType> types = outputTypes(ImmutableSortedMap.copyOf(dimensions));
    try (Lease lease = lease(padded)) {
      Map<String, Tensor> larger = new LinkedHashMap<>(inputs);
      for (Value input : lease.engine().plan().graph().inputs()) {
        Tensor given = inputs.get(input.name());
        if (given != null) { // else the engine says that it is missing
          larger.put(input.name(), Padding.pad(input.name(), given, input.type()));
        }
      }
      Map<String, Tensor> outputs = lease.engine().run(larger);
      Map<String, Tensor> cut = new LinkedHashMap<>();
      outputs.forEach(
          (name, output) ->
              cut.put(name, Padding.cut(output, types.getOrDefault(name, output.type()))));
      return cut;
    }
  }

  private ImmutableMap<String, TensorType> outputTypes(ImmutableSortedMap<String, Integer> key) {
    synchronized (outputTypes) {
      ImmutableMap<String, TensorType> known = outputTypes.get(key);
      if (known != null) {
        return known;
      }
    }
    Graph graph = model.apply(key);
    ImmutableMap.Builder<String, TensorType> types = ImmutableMap.builder();
    for (int i = 0; i < graph.outputs().size(); i++) {
      types.put(graph.outputNames().get(i), graph.outputs().get(i).type());
    }
    ImmutableMap<String, TensorType> found = types.buildOrThrow();
    synchronized (outputTypes) {
      outputTypes.put(key, found);
      if (outputTypes.size() > MOST_SHAPES) {
        outputTypes.remove(outputTypes.keySet().iterator().next());
      }
    }
    return found;
  }

  /** What has been done, and what is held. */
  public Statistics statistics() {
    List<Engine> open = new ArrayList<>();
    long preparedSoFar;
    long evictedSoFar;
    synchronized (this) {
      for (Entry entry : entries.values()) {
        if (entry.engine.isDone() && !entry.engine.isCompletedExceptionally()) {
          open.add(entry.engine.join());
        }
      }
      preparedSoFar = prepared;
      evictedSoFar = evicted;
    }
    long[] bytes = SharedWeights.bytes(open);
    return new Statistics(open.size(), preparedSoFar, evictedSoFar, bytes[0], bytes[1]);
  }

  /** Closes what is idle now and, as soon as its last lease is closed, the rest. Idempotent. */
  @Override
  public void close() {
    List<Engine> unused;
    synchronized (this) {
      closed = true;
      unused = evict(0);
    }
    closeAll(unused);
    closeDevice();
  }
}
