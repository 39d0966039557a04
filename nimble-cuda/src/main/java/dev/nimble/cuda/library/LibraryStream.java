package dev.nimble.cuda.library;

import dev.nimble.cuda.driver.CudaContext;
import dev.nimble.cuda.driver.CudaStream;
import dev.nimble.cuda.driver.DeviceMemory;
import dev.nimble.cuda.driver.Resources;
import jcuda.jcublas.JCublas2;
import jcuda.jcublas.cublasHandle;
import jcuda.jcudnn.JCudnn;
import jcuda.jcudnn.cudnnHandle;
import org.jspecify.annotations.Nullable;

/**
 * A stream with a cuBLAS and a cuDNN handle of its own, so that streams never share a library's
 * state. Handles are made when first needed; make them with {@link #prepare} before stream capture,
 * which forbids it. cuBLAS gets its workspace from here: left to itself it would allocate one while
 * capturing (cuBLAS documentation, cublasSetWorkspace).
 */
public final class LibraryStream implements AutoCloseable {
  private static final long BLAS_WORKSPACE_BYTES = 4L << 20;
  private static final long BLAS_WORKSPACE_BYTES_HOPPER = 32L << 20; // cuBLAS documentation

  private final CudaStream stream;
  private final Resources owned = new Resources();
  private @Nullable cublasHandle blas;
  private @Nullable cudnnHandle dnn;

  /** Binds to {@code stream}, which the caller closes after this. */
  public LibraryStream(CudaStream stream) {
    this.stream = stream;
  }

  /** The stream. */
  public CudaStream stream() {
    return stream;
  }

  /** Makes the handles that launches of these libraries will need. */
  public void prepare(boolean usesBlas, boolean usesDnn) {
    if (usesBlas) {
      blas();
    }
    if (usesDnn) {
      dnn();
    }
  }

  cublasHandle blas() {
    cublasHandle handle = blas;
    if (handle == null) {
      handle = createBlas();
      blas = handle;
    }
    return handle;
  }

  private cublasHandle createBlas() {
    CudaContext context = stream.context();
    long bytes =
        context.computeCapability() >= 90 ? BLAS_WORKSPACE_BYTES_HOPPER : BLAS_WORKSPACE_BYTES;
    DeviceMemory workspace = owned.own(new DeviceMemory(context, bytes)); // outlives the handle
    cublasHandle handle = new cublasHandle();
    Blas.check("cublasCreate", JCublas2.cublasCreate(handle));
    context.opened();
    owned.own(() -> Blas.checkClosed(context, "cublasDestroy", JCublas2.cublasDestroy(handle)));
    Blas.check("cublasSetStream", JCublas2.cublasSetStream(handle, stream.asRuntimeStream()));
    Blas.check("cublasSetWorkspace", JCublas2.cublasSetWorkspace(handle, workspace.at(0), bytes));
    return handle;
  }

  cudnnHandle dnn() {
    cudnnHandle handle = dnn;
    if (handle == null) {
      handle = createDnn();
      dnn = handle;
    }
    return handle;
  }

  private cudnnHandle createDnn() {
    CudaContext context = stream.context();
    cudnnHandle handle = new cudnnHandle();
    Dnn.check("cudnnCreate", JCudnn.cudnnCreate(handle));
    context.opened();
    owned.own(() -> Dnn.checkClosed(context, "cudnnDestroy", JCudnn.cudnnDestroy(handle)));
    Dnn.check("cudnnSetStream", JCudnn.cudnnSetStream(handle, stream.asRuntimeStream()));
    return handle;
  }

  /** Destroys the handles. Idempotent. */
  @Override
  public void close() {
    blas = null;
    dnn = null;
    owned.close();
  }
}
