package dev.nimble.cuda.library;

import dev.nimble.cuda.driver.CudaContext;
import dev.nimble.cuda.driver.CudaDriver;
import dev.nimble.cuda.driver.DeviceAddress;
import dev.nimble.error.DeviceException;
import dev.nimble.error.LibraryError;
import jcuda.Pointer;
import jcuda.jcublas.JCublas2;
import jcuda.jcublas.cublasHandle;
import jcuda.jcublas.cublasMath;
import jcuda.jcublas.cublasOperation;
import jcuda.jcublas.cublasStatus;

/** Matrix products by cuBLAS. */
public final class Blas {
  private Blas() {}

  static void check(String call, int code) {
    if (code != cublasStatus.CUBLAS_STATUS_SUCCESS) {
      throw new DeviceException(
          new LibraryError("cuBLAS", call, code, cublasStatus.stringFor(code)), advice(code));
    }
  }

  private static String advice(int code) {
    switch (code) {
      case cublasStatus.CUBLAS_STATUS_ALLOC_FAILED:
        return CudaDriver.TOO_LITTLE_MEMORY;
      case cublasStatus.CUBLAS_STATUS_ARCH_MISMATCH:
        return "this cuBLAS does not know the GPU; install one for it";
      default:
        return "";
    }
  }

  /** Counts a handle as closed; its status matters while the context is sound. */
  static void checkClosed(CudaContext context, String call, int code) {
    context.closed(() -> check(call, code));
  }

  /**
   * Row-major C = alpha * op(A) * op(B), {@code batch} times with a step between matrices; op is
   * transposition if asked.
   *
   * @param doublePrecision f64, else f32
   * @param tensorFloat whether f32 factors may be rounded to TF32 (10 bits of fraction)
   * @param transA whether A is stored as [k, m]
   * @param transB whether B is stored as [n, k]
   * @param m rows of C
   * @param n columns of C
   * @param k the inner extent, at least 1
   * @param alpha the factor
   * @param strideA elements from one A to the next; 0 to use one A for all
   * @param strideB elements from one B to the next; 0 to use one B for all
   * @param batch how many products; the C follow one another
   */
  public record Product(
      boolean doublePrecision,
      boolean tensorFloat,
      boolean transA,
      boolean transB,
      int m,
      int n,
      int k,
      float alpha,
      long strideA,
      long strideB,
      int batch) {
    private Pointer scalar(double value) {
      return doublePrecision
          ? Pointer.to(new double[] {value})
          : Pointer.to(new float[] {(float) value});
    }

    /** The product of these operands, to be run again and again. */
    public Call bind(DeviceAddress a, DeviceAddress b, DeviceAddress c) {
      return new Call(this, a, b, c, scalar(alpha), scalar(0));
    }
  }

  /** A product with its operands. */
  public static final class Call {
    private final Product product;
    private final DeviceAddress a;
    private final DeviceAddress b;
    private final DeviceAddress c;
    private final Pointer alpha;
    private final Pointer beta;

    private Call(
        Product product,
        DeviceAddress a,
        DeviceAddress b,
        DeviceAddress c,
        Pointer alpha,
        Pointer beta) {
      this.product = product;
      this.a = a;
      this.b = b;
      this.c = c;
      this.alpha = alpha;
      this.beta = beta;
    }

    /** Enqueues the product. cuBLAS is column-major: it computes the transposed C = B' * A'. */
    public void enqueue(LibraryStream on) {
      cublasHandle handle = on.blas();
      Product p = product;
      check(
          "cublasSetMathMode",
          JCublas2.cublasSetMathMode(
              handle,
              p.tensorFloat
                  ? cublasMath.CUBLAS_TF32_TENSOR_OP_MATH
                  : cublasMath.CUBLAS_DEFAULT_MATH));
      int opB = p.transB ? cublasOperation.CUBLAS_OP_T : cublasOperation.CUBLAS_OP_N;
      int opA = p.transA ? cublasOperation.CUBLAS_OP_T : cublasOperation.CUBLAS_OP_N;
      int rowB = p.transB ? p.k : p.n;
      int rowA = p.transA ? p.m : p.k;
      long strideC = (long) p.m * p.n;
      if (p.batch == 1 && p.doublePrecision) {
        check(
            "cublasDgemm",
            JCublas2.cublasDgemm(
                handle, opB, opA, p.n, p.m, p.k, alpha, b, rowB, a, rowA, beta, c, p.n));
      } else if (p.batch == 1) {
        check(
            "cublasSgemm",
            JCublas2.cublasSgemm(
                handle, opB, opA, p.n, p.m, p.k, alpha, b, rowB, a, rowA, beta, c, p.n));
      } else if (p.doublePrecision) {
        check(
            "cublasDgemmStridedBatched",
            JCublas2.cublasDgemmStridedBatched(
                handle, opB, opA, p.n, p.m, p.k, alpha, b, rowB, p.strideB, a, rowA, p.strideA,
                beta, c, p.n, strideC, p.batch));
      } else {
        check(
            "cublasSgemmStridedBatched",
            JCublas2.cublasSgemmStridedBatched(
                handle, opB, opA, p.n, p.m, p.k, alpha, b, rowB, p.strideB, a, rowA, p.strideA,
                beta, c, p.n, strideC, p.batch));
      }
    }
  }
}
