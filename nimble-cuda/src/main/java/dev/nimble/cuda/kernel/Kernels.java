package dev.nimble.cuda.kernel;

import dev.nimble.cuda.driver.CudaContext;
import dev.nimble.cuda.driver.CudaDriver;
import dev.nimble.cuda.driver.CudaFunction;
import dev.nimble.cuda.driver.CudaModule;
import dev.nimble.cuda.driver.Resources;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The kernels of one device: compiled when first asked for, or read from the disk cache, and loaded
 * until closed. Thread-safe; the device's context must be current.
 */
public final class Kernels implements AutoCloseable {
  private final CudaContext context;
  private final DiskCache cache;
  private final Resources modules = new Resources();
  private final Map<KernelSource, CudaModule> loaded = new HashMap<>();
  private @Nullable Compiler compiler;
  private int compilations;

  /** No kernel yet. */
  public Kernels(CudaContext context, DiskCache cache) {
    this.context = context;
    this.cache = cache;
  }

  /** The kernel {@code name} of {@code source}. */
  public synchronized CudaFunction function(KernelSource source, String name) {
    CudaModule module = loaded.get(source);
    if (module == null) {
      load(List.of(source));
      module = loaded.get(source);
    }
    if (module == null) {
      throw new IllegalStateException(source.name() + " was not loaded");
    }
    return module.function(name);
  }

  /** Loads generated kernels that are not loaded yet, in one compilation. */
  public synchronized void load(Collection<KernelSource> sources) {
    Map<List<Object>, List<KernelSource>> missing = new LinkedHashMap<>();
    List<KernelSource> ordered = new ArrayList<>(new LinkedHashSet<>(sources));
    ordered.sort(
        Comparator.comparing(KernelSource::name)); // so that equal sets share a cache entry
    for (KernelSource source : ordered) {
      if (!loaded.containsKey(source)) {
        missing
            .computeIfAbsent(
                List.of(source.prelude(), source.contracts()), together -> new ArrayList<>())
            .add(source);
      }
    }
    missing.values().forEach(this::loadTogether);
  }

  private void loadTogether(List<KernelSource> sources) {
    KernelSource first = sources.get(0);
    StringBuilder text = new StringBuilder(first.prelude());
    sources.forEach(source -> text.append('\n').append(source.text()));
    String name = sources.size() == 1 ? first.name() : sources.size() + "-kernels.cu";
    String ptx = ptx(name, text.toString(), first.contracts());
    CudaModule module = modules.own(new CudaModule(context, ptx));
    sources.forEach(source -> loaded.put(source, module));
  }

  private String ptx(String name, String source, boolean contracts) {
    if (compiler == null) {
      compiler = new Compiler(context.computeCapability());
    }
    Compiler own = compiler;
    String key =
        String.join(
            "|",
            own.identity(),
            contracts ? "contracts" : "exact",
            "driver " + CudaDriver.version(),
            context.deviceName(),
            source);
    return cache
        .read(key)
        .orElseGet(
            () -> {
              String ptx = own.ptx(name, source, contracts);
              compilations++;
              cache.write(key, ptx);
              return ptx;
            });
  }

  /** How often NVRTC has run: what the disk cache did not have. */
  public synchronized int compilations() {
    return compilations;
  }

  /** Unloads everything. Idempotent. */
  @Override
  public synchronized void close() {
    loaded.clear();
    modules.close();
  }
}
