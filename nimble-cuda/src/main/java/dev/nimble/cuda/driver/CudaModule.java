package dev.nimble.cuda.driver;

import java.util.concurrent.ConcurrentHashMap;
import jcuda.driver.CUfunction;
import jcuda.driver.CUmodule;
import jcuda.driver.JCudaDriver;

/** Compiled kernels, loaded. Thread-safe. */
public final class CudaModule implements AutoCloseable {
  private final CudaContext context;
  private final CUmodule handle = new CUmodule();
  private final ConcurrentHashMap<String, CudaFunction> functions = new ConcurrentHashMap<>();
  private boolean closed;

  /** Loads PTX; the context must be current. */
  public CudaModule(CudaContext context, String ptx) {
    this.context = context;
    context.check("cuModuleLoadData", JCudaDriver.cuModuleLoadData(handle, ptx));
    context.opened();
  }

  /** The kernel of that name. */
  public CudaFunction function(String name) {
    return functions.computeIfAbsent(
        name,
        wanted -> {
          CUfunction function = new CUfunction();
          int code = JCudaDriver.cuModuleGetFunction(function, handle, wanted);
          if (code != 0) {
            throw context.failure("cuModuleGetFunction", code, "kernel " + wanted);
          }
          return new CudaFunction(context, wanted, function);
        });
  }

  /** Unloads the module. Idempotent. */
  @Override
  public void close() {
    if (!closed) {
      closed = true;
      context.closed("cuModuleUnload", JCudaDriver.cuModuleUnload(handle));
    }
  }
}
