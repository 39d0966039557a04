package dev.nimble.cuda.emulator;

import static jcuda.cudaDataType.CUDA_R_16BF;
import static jcuda.cudaDataType.CUDA_R_16F;
import static jcuda.cudaDataType.CUDA_R_32F;
import static jcuda.cudaDataType.CUDA_R_64F;
import static jcuda.cudaDataType.CUDA_R_8I;
import static jcuda.jcublas.cublasComputeType.CUBLAS_COMPUTE_16F;
import static jcuda.jcublas.cublasComputeType.CUBLAS_COMPUTE_32F;
import static jcuda.jcublas.cublasComputeType.CUBLAS_COMPUTE_32F_FAST_TF32;
import static jcuda.jcublas.cublasComputeType.CUBLAS_COMPUTE_32F_PEDANTIC;
import static jcuda.jcublas.cublasComputeType.CUBLAS_COMPUTE_64F;
import static jcuda.jcublas.cublasMath.CUBLAS_DEFAULT_MATH;
import static jcuda.jcublas.cublasMath.CUBLAS_TF32_TENSOR_OP_MATH;
import static jcuda.jcublas.cublasOperation.CUBLAS_OP_N;
import static jcuda.jcublas.cublasPointerMode.CUBLAS_POINTER_MODE_DEVICE;
import static jcuda.jcublas.cublasPointerMode.CUBLAS_POINTER_MODE_HOST;
import static jcuda.jcublas.cublasStatus.CUBLAS_STATUS_ALLOC_FAILED;
import static jcuda.jcublas.cublasStatus.CUBLAS_STATUS_EXECUTION_FAILED;
import static jcuda.jcublas.cublasStatus.CUBLAS_STATUS_INVALID_VALUE;
import static jcuda.jcublas.cublasStatus.CUBLAS_STATUS_NOT_INITIALIZED;
import static jcuda.jcublas.cublasStatus.CUBLAS_STATUS_NOT_SUPPORTED;
import static jcuda.jcublas.cublasStatus.CUBLAS_STATUS_SUCCESS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.nimble.testkit.Seeds;
import java.util.Arrays;
import java.util.Random;
import java.util.function.IntUnaryOperator;
import jcuda.Pointer;
import jcuda.driver.CUcontext;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUevent;
import jcuda.driver.CUevent_flags;
import jcuda.driver.CUgraphExec;
import jcuda.driver.CUstream;
import jcuda.driver.CUstream_flags;
import jcuda.driver.JCudaDriver;
import jcuda.jcublas.JCublas2;
import jcuda.jcublas.cublasHandle;
import jcuda.runtime.cudaStream_t;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The emulated cuBLAS, through JCublas2 and its natives, against plain loops. */
@Tag("emulator")
class CublasTest {
  private EmulatedGpu gpu;
  private cublasHandle handle;

  @BeforeEach
  void open() {
    gpu = new EmulatedGpu();
    handle = new cublasHandle();
    ok(JCublas2.cublasCreate(handle));
    ok(JCublas2.cublasSetStream(handle, gpu.runtimeStream()));
  }

  @AfterEach
  void close() {
    ok(JCublas2.cublasDestroy(handle));
    gpu.close();
  }

  // ---- gemm

  /** Sizes, layouts and scalars of one random product; matrices are column major. */
  private static final class Product {
    final boolean wide;
    final int transA;
    final int transB;
    final int m;
    final int n;
    final int k;
    final int lda;
    final int ldb;
    final int ldc;
    final double alpha;
    final double beta;

    Product(Random random) {
      wide = random.nextBoolean();
      transA = random.nextInt(3);
      transB = random.nextInt(3);
      m = random.nextInt(40);
      n = random.nextInt(20);
      k = random.nextInt(30);
      lda = Math.max(1, transA == CUBLAS_OP_N ? m : k) + random.nextInt(3);
      ldb = Math.max(1, transB == CUBLAS_OP_N ? k : n) + random.nextInt(3);
      ldc = Math.max(1, m) + random.nextInt(3);
      alpha = pick(random, 0, 1, -0.75);
      beta = pick(random, 0, 1, 0.5);
    }

    int extentA() {
      return extent(transA == CUBLAS_OP_N ? m : k, transA == CUBLAS_OP_N ? k : m, lda);
    }

    int extentB() {
      return extent(transB == CUBLAS_OP_N ? k : n, transB == CUBLAS_OP_N ? n : k, ldb);
    }

    int extentC() {
      return extent(m, n, ldc);
    }

    /** What must be in {@code c} afterwards. */
    void apply(double[] a, int atA, double[] b, int atB, double[] c, int atC) {
      for (int j = 0; j < n; j++) {
        for (int i = 0; i < m; i++) {
          double sum = 0;
          for (int p = 0; p < k; p++) {
            sum +=
                a[atA + (transA == CUBLAS_OP_N ? i + p * lda : p + i * lda)]
                    * b[atB + (transB == CUBLAS_OP_N ? p + j * ldb : j + p * ldb)];
          }
          int at = atC + i + j * ldc;
          c[at] = (alpha == 0 ? 0 : alpha * sum) + (beta == 0 ? 0 : beta * c[at]);
        }
      }
    }
  }

  @Test
  void gemmFollowsEveryArgument() {
    Seeds.forEach(
        150,
        (random, seed) -> {
          Product p = new Product(random);
          double[] a = values(random, p.extentA(), p.wide);
          double[] b = values(random, p.extentB(), p.wide);
          double[] c = values(random, p.extentC(), p.wide);
          if (p.beta == 0) {
            Arrays.fill(c, Double.NaN); // must not be read; the gaps must stay
          }
          CUdeviceptr da = upload(a, p.wide);
          CUdeviceptr db = upload(b, p.wide);
          CUdeviceptr dc = upload(c, p.wide);
          if (p.wide) {
            double[] alpha = {p.alpha};
            double[] beta = {p.beta};
            ok(
                JCublas2.cublasDgemm(
                    handle,
                    p.transA,
                    p.transB,
                    p.m,
                    p.n,
                    p.k,
                    Pointer.to(alpha),
                    da,
                    p.lda,
                    db,
                    p.ldb,
                    Pointer.to(beta),
                    dc,
                    p.ldc));
            alpha[0] = beta[0] = Double.NaN; // were read at the call
          } else {
            float[] alpha = {(float) p.alpha};
            float[] beta = {(float) p.beta};
            ok(
                JCublas2.cublasSgemm(
                    handle,
                    p.transA,
                    p.transB,
                    p.m,
                    p.n,
                    p.k,
                    Pointer.to(alpha),
                    da,
                    p.lda,
                    db,
                    p.ldb,
                    Pointer.to(beta),
                    dc,
                    p.ldc));
            alpha[0] = beta[0] = Float.NaN;
          }
          p.apply(a, 0, b, 0, c, 0);
          assertClose(download(dc, c.length, p.wide), c, p.wide);
        });
  }

  @Test
  void stridedBatchesFollowEveryArgument() {
    Seeds.forEach(
        60,
        (random, seed) -> {
          Product p = new Product(random);
          int batch = random.nextInt(4);
          int strideA = random.nextBoolean() ? 0 : p.extentA() + random.nextInt(3);
          int strideB = p.extentB() + random.nextInt(3);
          int strideC = p.extentC() + random.nextInt(3);
          double[] a = values(random, strideA * 3 + p.extentA(), p.wide);
          double[] b = values(random, strideB * 3 + p.extentB(), p.wide);
          double[] c = values(random, strideC * 3 + p.extentC(), p.wide);
          CUdeviceptr da = upload(a, p.wide);
          CUdeviceptr db = upload(b, p.wide);
          CUdeviceptr dc = upload(c, p.wide);
          if (p.wide) {
            ok(
                JCublas2.cublasDgemmStridedBatched(
                    handle,
                    p.transA,
                    p.transB,
                    p.m,
                    p.n,
                    p.k,
                    doubles(p.alpha),
                    da,
                    p.lda,
                    strideA,
                    db,
                    p.ldb,
                    strideB,
                    doubles(p.beta),
                    dc,
                    p.ldc,
                    strideC,
                    batch));
          } else {
            ok(
                JCublas2.cublasSgemmStridedBatched(
                    handle,
                    p.transA,
                    p.transB,
                    p.m,
                    p.n,
                    p.k,
                    floats(p.alpha),
                    da,
                    p.lda,
                    strideA,
                    db,
                    p.ldb,
                    strideB,
                    floats(p.beta),
                    dc,
                    p.ldc,
                    strideC,
                    batch));
          }
          for (int i = 0; i < batch; i++) {
            p.apply(a, i * strideA, b, i * strideB, c, i * strideC);
          }
          assertClose(download(dc, c.length, p.wide), c, p.wide);
        });
  }

  @Test
  void listedBatchesFollowEveryArgument() {
    Seeds.forEach(
        40,
        (random, seed) -> {
          Product p = new Product(random);
          int batch = 1 + random.nextInt(3);
          double[][] a = new double[batch][];
          double[][] b = new double[batch][];
          double[][] c = new double[batch][];
          CUdeviceptr[] da = new CUdeviceptr[batch];
          CUdeviceptr[] db = new CUdeviceptr[batch];
          CUdeviceptr[] dc = new CUdeviceptr[batch];
          for (int i = 0; i < batch; i++) {
            a[i] = values(random, p.extentA(), p.wide);
            b[i] = values(random, p.extentB(), p.wide);
            c[i] = values(random, p.extentC(), p.wide);
            da[i] = upload(a[i], p.wide);
            db[i] = upload(b[i], p.wide);
            dc[i] = upload(c[i], p.wide);
          }
          CUdeviceptr listA = gpu.uploadAddresses(da);
          CUdeviceptr listB = gpu.uploadAddresses(db);
          CUdeviceptr listC = gpu.uploadAddresses(dc);
          if (p.wide) {
            ok(
                JCublas2.cublasDgemmBatched(
                    handle,
                    p.transA,
                    p.transB,
                    p.m,
                    p.n,
                    p.k,
                    doubles(p.alpha),
                    listA,
                    p.lda,
                    listB,
                    p.ldb,
                    doubles(p.beta),
                    listC,
                    p.ldc,
                    batch));
          } else {
            ok(
                JCublas2.cublasSgemmBatched(
                    handle,
                    p.transA,
                    p.transB,
                    p.m,
                    p.n,
                    p.k,
                    floats(p.alpha),
                    listA,
                    p.lda,
                    listB,
                    p.ldb,
                    floats(p.beta),
                    listC,
                    p.ldc,
                    batch));
          }
          for (int i = 0; i < batch; i++) {
            p.apply(a[i], 0, b[i], 0, c[i], 0);
            assertClose(download(dc[i], c[i].length, p.wide), c[i], p.wide);
          }
        });
  }

  @Test
  void batchesMayInterleaveTheirColumnsButNotOverlap() {
    // Three heads side by side in rows of 12 elements: stride 4 is less than a whole matrix.
    float[] a = ramp(12 * 5);
    CUdeviceptr da = gpu.upload(a);
    CUdeviceptr dc = gpu.upload(new float[12 * 5]);
    CUdeviceptr identity = gpu.upload(identityMatrix(5));
    ok(
        JCublas2.cublasSgemmStridedBatched(
            handle,
            CUBLAS_OP_N,
            CUBLAS_OP_N,
            4,
            5,
            5,
            floats(1),
            da,
            12,
            4,
            identity,
            5,
            0,
            floats(0),
            dc,
            12,
            4,
            3));
    assertThat(gpu.floats(dc, 60)).isEqualTo(a);
    for (int stride : new int[] {0, 3, 12, 24}) {
      assertThat(
              JCublas2.cublasSgemmStridedBatched(
                  handle,
                  CUBLAS_OP_N,
                  CUBLAS_OP_N,
                  4,
                  5,
                  5,
                  floats(1),
                  da,
                  12,
                  4,
                  identity,
                  5,
                  0,
                  floats(0),
                  dc,
                  12,
                  stride,
                  3))
          .as("stride of C %d", stride)
          .isEqualTo(CUBLAS_STATUS_INVALID_VALUE);
    }
  }

  @Test
  void mixedPrecisionKeepsToItsTypes() {
    // Small integers are exact in every type, so each result is.
    Seeds.forEach(
        30,
        (random, seed) -> {
          int m = 1 + random.nextInt(8);
          int n = 1 + random.nextInt(8);
          int k = 1 + random.nextInt(8);
          float[] a = integers(random, m * k);
          float[] b = integers(random, k * n);
          float[] c = integers(random, m * n);
          double[] expected = widened(c);
          for (int j = 0; j < n; j++) {
            for (int i = 0; i < m; i++) {
              double sum = 0;
              for (int p = 0; p < k; p++) {
                sum += a[i + p * m] * b[p + j * k];
              }
              expected[i + j * m] = 2 * sum - expected[i + j * m];
            }
          }
          int[][] types = {
            {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F},
            {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32},
            {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F},
            {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F},
            {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F},
            {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F},
            {CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F},
            {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F},
          };
          for (int[] type : types) {
            Pointer alpha = scalar(2, type[2]);
            Pointer beta = scalar(-1, type[2]);
            CUdeviceptr dc = typed(c, type[1]);
            ok(
                JCublas2.cublasGemmEx_new(
                    handle,
                    CUBLAS_OP_N,
                    CUBLAS_OP_N,
                    m,
                    n,
                    k,
                    alpha,
                    typed(a, type[0]),
                    type[0],
                    m,
                    typed(b, type[0]),
                    type[0],
                    k,
                    beta,
                    dc,
                    type[1],
                    m,
                    type[2],
                    -1));
            assertThat(untyped(dc, m * n, type[1]))
                .as("types %s", Arrays.toString(type))
                .isEqualTo(expected);
            dc = typed(c, type[1]);
            ok(
                JCublas2.cublasGemmStridedBatchedEx_new(
                    handle,
                    CUBLAS_OP_N,
                    CUBLAS_OP_N,
                    m,
                    n,
                    k,
                    alpha,
                    typed(a, type[0]),
                    type[0],
                    m,
                    0,
                    typed(b, type[0]),
                    type[0],
                    k,
                    0,
                    beta,
                    dc,
                    type[1],
                    m,
                    m * n,
                    1,
                    type[2],
                    -1));
            assertThat(untyped(dc, m * n, type[1])).isEqualTo(expected);
          }
        });
    CUdeviceptr memory = gpu.allocate(64);
    for (int[] types :
        new int[][] {
          {CUDA_R_8I, CUDA_R_32F, CUBLAS_COMPUTE_32F},
          {CUDA_R_32F, CUDA_R_16F, CUBLAS_COMPUTE_32F},
          {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_64F},
          {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_32F},
        }) {
      assertThat(
              JCublas2.cublasGemmEx_new(
                  handle,
                  0,
                  0,
                  1,
                  1,
                  1,
                  doubles(1),
                  memory,
                  types[0],
                  1,
                  memory,
                  types[0],
                  1,
                  doubles(0),
                  memory,
                  types[1],
                  1,
                  types[2],
                  -1))
          .as(Arrays.toString(types))
          .isEqualTo(CUBLAS_STATUS_NOT_SUPPORTED);
    }
  }

  @Test
  void tf32RoundsTheFactorsAndOnlyWhereAskedFor() {
    float fine = 1 + 0x1p-12f; // ten bits of mantissa round it to 1
    CUdeviceptr a = gpu.upload(fine);
    CUdeviceptr b = gpu.upload(1f);
    CUdeviceptr c = gpu.upload(0f);
    assertThat(product(a, b, c)).isEqualTo(fine);
    ok(JCublas2.cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH));
    assertThat(product(a, b, c)).isEqualTo(1f);
    assertThat(product(a, b, c, CUBLAS_COMPUTE_32F)).isEqualTo(1f);
    assertThat(product(a, b, c, CUBLAS_COMPUTE_32F_PEDANTIC)).isEqualTo(fine);
    ok(JCublas2.cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH));
    assertThat(product(a, b, c, CUBLAS_COMPUTE_32F)).isEqualTo(fine);
    assertThat(product(a, b, c, CUBLAS_COMPUTE_32F_FAST_TF32)).isEqualTo(1f);
    int[] mode = new int[1];
    ok(JCublas2.cublasGetMathMode(handle, mode));
    assertThat(mode[0]).isEqualTo(CUBLAS_DEFAULT_MATH);
  }

  private float product(CUdeviceptr a, CUdeviceptr b, CUdeviceptr c) {
    ok(JCublas2.cublasSgemm(handle, 0, 0, 1, 1, 1, floats(1), a, 1, b, 1, floats(0), c, 1));
    return gpu.floats(c, 1)[0];
  }

  private float product(CUdeviceptr a, CUdeviceptr b, CUdeviceptr c, int compute) {
    ok(
        JCublas2.cublasGemmEx_new(
            handle,
            0,
            0,
            1,
            1,
            1,
            floats(1),
            a,
            CUDA_R_32F,
            1,
            b,
            CUDA_R_32F,
            1,
            floats(0),
            c,
            CUDA_R_32F,
            1,
            compute,
            -1));
    return gpu.floats(c, 1)[0];
  }

  @Test
  void halfPrecisionRoundsToNearestEven() {
    // 2049 lies between 2048 and 2050: half holds neither odd neighbour; ties go to even.
    float[] values = {2049, 2051, 65504, 0x1p-24f, 0x1.8p-24f, 1 + 0x1p-11f, 1 + 0x1.8p-10f};
    float[] rounded = {2048, 2052, 65504, 0x1p-24f, 0x1p-23f, 1, 1 + 0x1p-9f};
    CUdeviceptr a = gpu.upload(values);
    CUdeviceptr c = gpu.allocate(2L * values.length);
    CUdeviceptr b = gpu.upload(HalfPrecision.halves(1f));
    CUdeviceptr scaled = gpu.upload(HalfPrecision.halves(rounded));
    ok(
        JCublas2.cublasGemmEx_new(
            handle,
            0,
            0,
            values.length,
            1,
            1,
            floats(1),
            scaled,
            CUDA_R_16F,
            values.length,
            b,
            CUDA_R_16F,
            1,
            floats(0),
            c,
            CUDA_R_16F,
            values.length,
            CUBLAS_COMPUTE_32F,
            -1));
    assertThat(HalfPrecision.values(gpu.shorts(c, values.length))).isEqualTo(rounded);
    // A single-precision scale is applied before the one rounding to half.
    for (int i = 0; i < values.length; i++) {
      CUdeviceptr one = gpu.upload(HalfPrecision.halves(1f));
      ok(
          JCublas2.cublasGemmEx_new(
              handle,
              0,
              0,
              1,
              1,
              1,
              Pointer.to(new float[] {values[i]}),
              one,
              CUDA_R_16F,
              1,
              b,
              CUDA_R_16F,
              1,
              floats(0),
              c,
              CUDA_R_16F,
              1,
              CUBLAS_COMPUTE_32F,
              -1));
      assertThat(HalfPrecision.values(gpu.shorts(c, 1))[0])
          .as("%s", values[i])
          .isEqualTo(rounded[i]);
    }
    assertThat(gpu.floats(a, values.length)).isEqualTo(values);
  }

  @Test
  void illegalProductsAreInvalidValues() {
    CUdeviceptr x = gpu.upload(new float[64]);
    // transa, transb, m, n, k, lda, ldb, ldc
    int[][] illegal = {
      {3, 0, 2, 2, 2, 2, 2, 2},
      {0, -1, 2, 2, 2, 2, 2, 2},
      {0, 0, -1, 2, 2, 2, 2, 2},
      {0, 0, 2, -1, 2, 2, 2, 2},
      {0, 0, 2, 2, -1, 2, 2, 2},
      {0, 0, 3, 2, 2, 2, 2, 3},
      {1, 0, 2, 2, 3, 2, 3, 2},
      {0, 0, 2, 2, 3, 2, 2, 2},
      {0, 1, 2, 3, 2, 2, 2, 2},
      {0, 0, 3, 2, 2, 3, 2, 2},
      {0, 0, 0, 2, 2, 0, 2, 1},
      {0, 0, 1, 1, 0, 1, 0, 1},
    };
    for (int[] p : illegal) {
      assertThat(
              JCublas2.cublasSgemm(
                  handle, p[0], p[1], p[2], p[3], p[4], floats(1), x, p[5], x, p[6], floats(0), x,
                  p[7]))
          .as(Arrays.toString(p))
          .isEqualTo(CUBLAS_STATUS_INVALID_VALUE);
    }
    assertThat(
            JCublas2.cublasSgemmStridedBatched(
                handle, 0, 0, 1, 1, 1, floats(1), x, 1, 1, x, 1, 1, floats(0), x, 1, 1, -1))
        .isEqualTo(CUBLAS_STATUS_INVALID_VALUE);
    assertThat(
            JCublas2.cublasGemmEx_new(
                handle, 0, 0, 1, 1, 1, floats(1), x, 0, 1, x, 0, 1, floats(0), x, 0, 1, 99, -1))
        .isEqualTo(CUBLAS_STATUS_INVALID_VALUE);
    assertThat(
            JCublas2.cublasGemmEx_new(
                handle, 0, 0, 1, 1, 1, floats(1), x, 0, 1, x, 0, 1, floats(0), x, 0, 1, 68, 50))
        .isEqualTo(CUBLAS_STATUS_INVALID_VALUE);
    // Nothing to do is no error, whatever the operands.
    ok(JCublas2.cublasSgemm(handle, 0, 0, 0, 2, 2, floats(1), x, 1, x, 2, floats(0), x, 1));
  }

  // ---- gemv and vectors

  @Test
  void matrixVectorProductsFollowEveryArgument() {
    Seeds.forEach(
        80,
        (random, seed) -> {
          boolean wide = random.nextBoolean();
          int trans = random.nextInt(3);
          int m = 1 + random.nextInt(12);
          int n = 1 + random.nextInt(12);
          int lda = m + random.nextInt(3);
          int incx = increment(random);
          int incy = increment(random);
          int inputs = trans == CUBLAS_OP_N ? n : m;
          int outputs = trans == CUBLAS_OP_N ? m : n;
          double alpha = pick(random, 0, 1, -0.5);
          double beta = pick(random, 0, 1, 2);
          double[] a = values(random, extent(m, n, lda), wide);
          double[] x = values(random, 1 + (inputs - 1) * Math.abs(incx), wide);
          double[] y = values(random, 1 + (outputs - 1) * Math.abs(incy), wide);
          if (beta == 0) {
            Arrays.fill(y, Double.NaN);
          }
          CUdeviceptr da = upload(a, wide);
          CUdeviceptr dx = upload(x, wide);
          CUdeviceptr dy = upload(y, wide);
          if (wide) {
            ok(
                JCublas2.cublasDgemv(
                    handle,
                    trans,
                    m,
                    n,
                    doubles(alpha),
                    da,
                    lda,
                    dx,
                    incx,
                    doubles(beta),
                    dy,
                    incy));
          } else {
            ok(
                JCublas2.cublasSgemv(
                    handle, trans, m, n, floats(alpha), da, lda, dx, incx, floats(beta), dy, incy));
          }
          IntUnaryOperator atX = element(inputs, incx);
          IntUnaryOperator atY = element(outputs, incy);
          for (int i = 0; i < outputs; i++) {
            double sum = 0;
            for (int j = 0; j < inputs; j++) {
              sum += a[trans == CUBLAS_OP_N ? i + j * lda : j + i * lda] * x[atX.applyAsInt(j)];
            }
            int at = atY.applyAsInt(i);
            y[at] = (alpha == 0 ? 0 : alpha * sum) + (beta == 0 ? 0 : beta * y[at]);
          }
          assertClose(download(dy, y.length, wide), y, wide);
        });
    CUdeviceptr x = gpu.upload(new float[16]);
    assertThat(JCublas2.cublasSgemv(handle, 0, 3, 2, floats(1), x, 2, x, 1, floats(0), x, 1))
        .isEqualTo(CUBLAS_STATUS_INVALID_VALUE);
    assertThat(JCublas2.cublasSgemv(handle, 0, 2, 2, floats(1), x, 2, x, 0, floats(0), x, 1))
        .isEqualTo(CUBLAS_STATUS_INVALID_VALUE);
  }

  @Test
  void batchedMatrixVectorProductsFollowTheirStrides() {
    float[] a = ramp(2 * 3 * 2);
    float[] x = ramp(7);
    CUdeviceptr da = gpu.upload(a);
    CUdeviceptr dx = gpu.upload(x);
    CUdeviceptr dy = gpu.upload(new float[5]);
    ok(
        JCublas2.cublasSgemvStridedBatched(
            handle, CUBLAS_OP_N, 2, 3, floats(1), da, 2, 6, dx, 1, 4, floats(0), dy, 1, 3, 2));
    float[] expected = new float[5];
    for (int b = 0; b < 2; b++) {
      for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 3; j++) {
          expected[b * 3 + i] += a[b * 6 + j * 2 + i] * x[b * 4 + j];
        }
      }
    }
    assertThat(gpu.floats(dy, 5)).isEqualTo(expected);
    CUdeviceptr listed = gpu.upload(new float[2]);
    ok(
        JCublas2.cublasSgemvBatched(
            handle,
            CUBLAS_OP_N,
            2,
            3,
            floats(1),
            gpu.uploadAddresses(da),
            2,
            gpu.uploadAddresses(dx),
            1,
            floats(0),
            gpu.uploadAddresses(listed),
            1,
            1));
    assertThat(gpu.floats(listed, 2)).isEqualTo(Arrays.copyOf(expected, 2));
  }

  @Test
  void vectorFunctionsFollowEveryArgument() {
    Seeds.forEach(
        60,
        (random, seed) -> {
          int n = 1 + random.nextInt(20);
          int incx = increment(random);
          int incy = increment(random);
          double[] x = values(random, 1 + (n - 1) * Math.abs(incx), false);
          double[] y = values(random, 1 + (n - 1) * Math.abs(incy), false);
          IntUnaryOperator atX = element(n, incx);
          IntUnaryOperator atY = element(n, incy);
          CUdeviceptr dx = upload(x, false);
          CUdeviceptr dy = upload(y, false);
          double dot = 0;
          double[] sum = y.clone();
          double[] copied = y.clone();
          double[] swapped = x.clone();
          for (int i = 0; i < n; i++) {
            dot += x[atX.applyAsInt(i)] * y[atY.applyAsInt(i)];
            sum[atY.applyAsInt(i)] += -1.5 * x[atX.applyAsInt(i)];
            copied[atY.applyAsInt(i)] = x[atX.applyAsInt(i)];
            swapped[atX.applyAsInt(i)] = sum[atY.applyAsInt(i)];
          }
          float[] result = new float[1];
          ok(JCublas2.cublasSdot(handle, n, dx, incx, dy, incy, Pointer.to(result)));
          assertThat((double) result[0]).isCloseTo(dot, within(1e-4));
          ok(JCublas2.cublasSaxpy(handle, n, floats(-1.5), dx, incx, dy, incy));
          assertClose(download(dy, y.length, false), sum, false);
          ok(JCublas2.cublasSswap(handle, n, dx, incx, dy, incy));
          assertClose(download(dx, x.length, false), swapped, false);
          assertClose(download(dy, y.length, false), copied, false);
          ok(JCublas2.cublasSswap(handle, n, dx, incx, dy, incy));
          ok(JCublas2.cublasScopy(handle, n, dx, incx, dy, incy));
          assertClose(download(dy, y.length, false), copied, false);
          // These take positive increments only; otherwise there is nothing to do.
          double squares = 0;
          double magnitudes = 0;
          int largest = 0;
          int smallest = 0;
          double[] scaled = x.clone();
          for (int i = 0; i < n; i++) {
            double value = x[i * Math.abs(incx)];
            squares += value * value;
            magnitudes += Math.abs(value);
            largest = Math.abs(value) > Math.abs(x[largest * Math.abs(incx)]) ? i : largest;
            smallest = Math.abs(value) < Math.abs(x[smallest * Math.abs(incx)]) ? i : smallest;
            scaled[i * Math.abs(incx)] = 3 * value;
          }
          boolean forward = incx > 0;
          ok(JCublas2.cublasSnrm2(handle, n, dx, incx, Pointer.to(result)));
          assertThat((double) result[0]).isCloseTo(forward ? Math.sqrt(squares) : 0, within(1e-5));
          ok(JCublas2.cublasSasum(handle, n, dx, incx, Pointer.to(result)));
          assertThat((double) result[0]).isCloseTo(forward ? magnitudes : 0, within(1e-4));
          int[] index = new int[1];
          ok(JCublas2.cublasIsamax(handle, n, dx, incx, Pointer.to(index)));
          assertThat(index[0]).isEqualTo(forward ? largest + 1 : 0);
          ok(JCublas2.cublasIsamin(handle, n, dx, incx, Pointer.to(index)));
          assertThat(index[0]).isEqualTo(forward ? smallest + 1 : 0);
          ok(JCublas2.cublasSscal(handle, n, floats(3), dx, incx));
          assertClose(download(dx, x.length, false), forward ? scaled : x, false);
        });
  }

  @Test
  void normNeitherOverflowsNorVanishes() {
    double[] result = new double[1];
    CUdeviceptr x = gpu.upload(3e300, 4e300);
    ok(JCublas2.cublasDnrm2(handle, 2, x, 1, Pointer.to(result)));
    assertThat(result[0]).isCloseTo(5e300, within(1e286));
    CUdeviceptr y = gpu.upload(3e-300, 4e-300);
    ok(JCublas2.cublasDnrm2(handle, 2, y, 1, Pointer.to(result)));
    assertThat(result[0]).isCloseTo(5e-300, within(1e-314));
  }

  @Test
  void elementwiseMatrixFunctionsFollowEveryArgument() {
    Seeds.forEach(
        40,
        (random, seed) -> {
          int m = 1 + random.nextInt(6);
          int n = 1 + random.nextInt(6);
          int transA = random.nextInt(2);
          int transB = random.nextInt(2);
          int lda = (transA == 0 ? m : n) + random.nextInt(2);
          int ldb = (transB == 0 ? m : n) + random.nextInt(2);
          int ldc = m + random.nextInt(2);
          double alpha = pick(random, 0, 1, -2);
          double beta = pick(random, 0, 1, 0.5);
          double[] a = values(random, lda * 7, false);
          double[] b = values(random, ldb * 7, false);
          double[] c = values(random, extent(m, n, ldc), false);
          CUdeviceptr da = upload(a, false);
          CUdeviceptr db = upload(b, false);
          CUdeviceptr dc = upload(c, false);
          ok(
              JCublas2.cublasSgeam(
                  handle,
                  transA,
                  transB,
                  m,
                  n,
                  floats(alpha),
                  da,
                  lda,
                  floats(beta),
                  db,
                  ldb,
                  dc,
                  ldc));
          double[] sum = c.clone();
          for (int j = 0; j < n; j++) {
            for (int i = 0; i < m; i++) {
              sum[i + j * ldc] =
                  alpha * a[transA == 0 ? i + j * lda : j + i * lda]
                      + beta * b[transB == 0 ? i + j * ldb : j + i * ldb];
            }
          }
          assertClose(download(dc, c.length, false), sum, false);
          int side = random.nextInt(2);
          double[] x = values(random, 16, false);
          double[] square = values(random, m * n, false);
          CUdeviceptr scaled = upload(square, false);
          ok(JCublas2.cublasSdgmm(handle, side, m, n, scaled, m, upload(x, false), 2, scaled, m));
          for (int j = 0; j < n; j++) {
            for (int i = 0; i < m; i++) {
              square[i + j * m] *= x[2 * (side == 0 ? i : j)];
            }
          }
          assertClose(download(scaled, m * n, false), square, false);
          CUdeviceptr updated = upload(square, false);
          ok(
              JCublas2.cublasSger(
                  handle, m, n, floats(2), upload(x, false), 1, upload(x, false), 2, updated, m));
          for (int j = 0; j < n; j++) {
            for (int i = 0; i < m; i++) {
              square[i + j * m] += 2 * x[i] * x[2 * j];
            }
          }
          assertClose(download(updated, m * n, false), square, false);
        });
  }

  // ---- the handle

  @Test
  void devicePointerModeReadsScalarsWhenTheWorkRuns() {
    ok(JCublas2.cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
    int[] mode = new int[1];
    ok(JCublas2.cublasGetPointerMode(handle, mode));
    assertThat(mode[0]).isEqualTo(CUBLAS_POINTER_MODE_DEVICE);
    CUdeviceptr alpha = gpu.upload(2f);
    CUdeviceptr x = gpu.upload(1f, 3f);
    CUdeviceptr result = gpu.upload(0f);
    CUgraphExec exec =
        gpu.capture(
            2,
            () -> {
              ok(JCublas2.cublasSscal(handle, 2, alpha, x, 1));
              ok(JCublas2.cublasSdot(handle, 2, x, 1, x, 1, result));
            });
    gpu.launch(exec);
    assertThat(gpu.floats(x, 2)).containsExactly(2, 6);
    assertThat(gpu.floats(result, 1)).containsExactly(40);
    gpu.store(alpha, 10f);
    gpu.launch(exec);
    assertThat(gpu.floats(x, 2)).containsExactly(20, 60);
    assertThat(gpu.floats(result, 1)).containsExactly(4000);
    gpu.destroy(exec);
    ok(JCublas2.cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST));
    assertThat(JCublas2.cublasSetPointerMode(handle, 2)).isEqualTo(CUBLAS_STATUS_INVALID_VALUE);
  }

  @Test
  void aCapturedProductRunsAtEachLaunchWithTheScalarsOfItsCapture() {
    CUdeviceptr a = gpu.upload(ramp(6));
    CUdeviceptr b = gpu.upload(identityMatrix(2));
    CUdeviceptr c = gpu.upload(new float[6]);
    float[] alpha = {2};
    ok(JCublas2.cublasSetWorkspace(handle, gpu.allocate(1024), 1024));
    CUgraphExec exec =
        gpu.capture(
            1,
            () ->
                ok(
                    JCublas2.cublasSgemm(
                        handle, 0, 0, 3, 2, 2, Pointer.to(alpha), a, 3, b, 2, floats(1), c, 3)));
    alpha[0] = 100;
    assertThat(gpu.floats(c, 6)).as("nothing runs while capturing").containsOnly(0);
    gpu.launch(exec);
    gpu.launch(exec);
    float[] expected = ramp(6);
    for (int i = 0; i < 6; i++) {
      expected[i] *= 4;
    }
    assertThat(gpu.floats(c, 6)).isEqualTo(expected);
    gpu.destroy(exec);
  }

  @Test
  void withoutAWorkspaceACapturedProductAllocatesOneInTheGraph() {
    CUdeviceptr x = gpu.upload(ramp(4));
    CUdeviceptr c = gpu.upload(new float[4]);
    CUdeviceptr workspace = gpu.allocate(1024);
    Runnable product =
        () ->
            ok(JCublas2.cublasSgemm(handle, 0, 0, 2, 2, 2, floats(1), x, 2, x, 2, floats(0), c, 2));
    gpu.destroy(gpu.capture(3, product));
    ok(JCublas2.cublasSetWorkspace(handle, workspace, 1024));
    gpu.destroy(gpu.capture(1, product));
  }

  @Test
  void aHandleWorksInItsOwnContextOnly() {
    CUdeviceptr x = gpu.upload(1f);
    CUcontext own = new CUcontext();
    EmulatedGpu.check(JCudaDriver.cuCtxGetCurrent(own));
    EmulatedGpu.check(JCudaDriver.cuCtxSetCurrent(new CUcontext()));
    assertThat(JCublas2.cublasSscal(handle, 1, floats(2), x, 1))
        .isEqualTo(CUBLAS_STATUS_EXECUTION_FAILED);
    assertThat(JCublas2.cublasCreate(new cublasHandle())).isEqualTo(CUBLAS_STATUS_NOT_INITIALIZED);
    EmulatedGpu.check(JCudaDriver.cuCtxSetCurrent(own));
    ok(JCublas2.cublasSscal(handle, 1, floats(2), x, 1));
    assertThat(gpu.floats(x, 1)).containsExactly(2);
  }

  @Test
  void aMissingWaitBetweenTwoHandlesShowsUnderDelays() {
    CUstream second = new CUstream();
    EmulatedGpu.check(JCudaDriver.cuStreamCreate(second, CUstream_flags.CU_STREAM_DEFAULT));
    CUevent done = new CUevent();
    EmulatedGpu.check(JCudaDriver.cuEventCreate(done, CUevent_flags.CU_EVENT_DISABLE_TIMING));
    cublasHandle other = new cublasHandle();
    ok(JCublas2.cublasCreate(other));
    ok(JCublas2.cublasSetStream(other, new cudaStream_t(second)));
    CUdeviceptr x = gpu.upload(2f);
    CUdeviceptr between = gpu.upload(0f);
    CUdeviceptr result = gpu.upload(0f);
    int wrong = 0;
    for (int seed = 0; seed < 40; seed++) {
      boolean waits = seed % 2 == 0;
      Emulator.delays(seed, 300);
      gpu.store(between, 0f);
      ok(JCublas2.cublasSgemm(handle, 0, 0, 1, 1, 1, floats(1), x, 1, x, 1, floats(0), between, 1));
      if (waits) {
        EmulatedGpu.check(JCudaDriver.cuEventRecord(done, gpu.stream()));
        EmulatedGpu.check(JCudaDriver.cuStreamWaitEvent(second, done, 0));
      }
      ok(
          JCublas2.cublasSgemm(
              other, 0, 0, 1, 1, 1, floats(1), between, 1, x, 1, floats(0), result, 1));
      EmulatedGpu.check(JCudaDriver.cuStreamSynchronize(second));
      float value = gpu.floats(result, 1)[0];
      if (waits) {
        assertThat(value).as("seed %d", seed).isEqualTo(8);
      } else {
        wrong += value == 8 ? 0 : 1;
      }
    }
    assertThat(wrong).as("wrong answers without the wait").isPositive();
    ok(JCublas2.cublasDestroy(other));
    EmulatedGpu.check(JCudaDriver.cuEventDestroy(done));
    EmulatedGpu.check(JCudaDriver.cuStreamDestroy(second));
  }

  @Test
  void callsThatWaitOrAllocateAreRefusedWhileCapturing() {
    CUdeviceptr x = gpu.upload(1f, 2f);
    gpu.beginCapture();
    assertThat(JCublas2.cublasSdot(handle, 2, x, 1, x, 1, Pointer.to(new float[1])))
        .isEqualTo(CUBLAS_STATUS_EXECUTION_FAILED);
    gpu.endInvalidatedCapture();
    gpu.beginCapture();
    assertThat(JCublas2.cublasCreate(new cublasHandle())).isNotEqualTo(CUBLAS_STATUS_SUCCESS);
    gpu.endInvalidatedCapture();
  }

  @Test
  void theWorkspaceIsUsedAndGivenUpWithTheStream() {
    CUdeviceptr workspace = gpu.upload(new float[256]);
    assertThat(JCublas2.cublasSetWorkspace(handle, workspace.withByteOffset(4), 16))
        .isEqualTo(CUBLAS_STATUS_INVALID_VALUE);
    ok(JCublas2.cublasSetWorkspace(handle, workspace, 1024));
    CUdeviceptr x = gpu.upload(ramp(16));
    CUdeviceptr c = gpu.upload(new float[16]);
    ok(JCublas2.cublasSgemm(handle, 0, 0, 4, 4, 4, floats(1), x, 4, x, 4, floats(0), c, 4));
    assertThat(gpu.floats(workspace, 256))
        .as("left in the workspace")
        .contains(0f)
        .isNotEqualTo(new float[256]);
    gpu.store(workspace, new float[256]);
    ok(JCublas2.cublasSetStream(handle, gpu.runtimeStream()));
    ok(JCublas2.cublasSgemm(handle, 0, 0, 4, 4, 4, floats(1), x, 4, x, 4, floats(0), c, 4));
    assertThat(gpu.floats(workspace, 256)).containsOnly(0);
    cudaStream_t stream = new cudaStream_t();
    ok(JCublas2.cublasGetStream(handle, stream));
    assertThat(stream).isEqualTo(gpu.runtimeStream());
  }

  @Test
  void describesItself() {
    int[] version = new int[1];
    ok(JCublas2.cublasGetVersion(handle, version));
    assertThat(version[0] / 10000).isEqualTo(12);
    ok(JCublas2.cublasGetProperty(0, version));
    assertThat(version[0]).isEqualTo(12);
    assertThat(JCublas2.cublasGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED))
        .isEqualTo("CUBLAS_STATUS_NOT_SUPPORTED");
    assertThat(JCublas2.cublasGetStatusString(CUBLAS_STATUS_EXECUTION_FAILED)).isNotBlank();
  }

  @Test
  void aDestroyedHandleIsNotInitialized() {
    cublasHandle gone = new cublasHandle();
    ok(JCublas2.cublasCreate(gone));
    ok(JCublas2.cublasDestroy(gone));
    assertThat(JCublas2.cublasDestroy(gone)).isEqualTo(CUBLAS_STATUS_NOT_INITIALIZED);
    CUdeviceptr x = gpu.upload(1f);
    assertThat(JCublas2.cublasSscal(gone, 1, floats(1), x, 1))
        .isEqualTo(CUBLAS_STATUS_NOT_INITIALIZED);
  }

  @Test
  void whatIsNotEmulatedIsNotSupported() {
    CUdeviceptr x = gpu.upload(new float[8]);
    Pointer one = Pointer.to(new float[] {1, 0});
    assertThat(JCublas2.cublasCgemm(handle, 0, 0, 1, 1, 1, one, x, 1, x, 1, one, x, 1))
        .isEqualTo(CUBLAS_STATUS_NOT_SUPPORTED);
    assertThat(Emulator.unknownCalls()).containsExactly("cublasCgemm_v2");
  }

  @Test
  void anAccessBeyondAnAllocationIsReported() {
    CUdeviceptr x = gpu.upload(new float[8]);
    CUdeviceptr c = gpu.upload(new float[4]);
    CUdeviceptr small = gpu.upload(new float[7]);
    ok(JCublas2.cublasSgemm(handle, 0, 0, 2, 2, 4, floats(1), x, 2, x, 4, floats(0), c, 2));
    gpu.synchronize();
    ok(JCublas2.cublasSgemm(handle, 0, 0, 2, 2, 4, floats(1), small, 2, x, 4, floats(0), c, 2));
    gpu.assertIllegalAccess();
    ok(JCublas2.cublasSgemm(handle, 0, 0, 2, 2, 4, floats(1), x, 2, small, 4, floats(0), c, 2));
    gpu.assertIllegalAccess();
    ok(JCublas2.cublasSgemm(handle, 0, 0, 2, 2, 4, floats(1), x, 2, x, 4, floats(0), c, 3));
    gpu.assertIllegalAccess();
    CUdeviceptr freed = gpu.upload(new float[8]);
    gpu.free(freed);
    ok(JCublas2.cublasSscal(handle, 8, floats(1), freed, 1));
    gpu.assertIllegalAccess();
  }

  @Test
  void faultsComeWhereTheyAreAskedFor() {
    CUdeviceptr x = gpu.upload(1f);
    Emulator.fail("cublasSscal", 2, CUBLAS_STATUS_EXECUTION_FAILED);
    ok(JCublas2.cublasSscal(handle, 1, floats(2), x, 1));
    assertThat(JCublas2.cublasSscal(handle, 1, floats(2), x, 1))
        .isEqualTo(CUBLAS_STATUS_EXECUTION_FAILED);
    ok(JCublas2.cublasSscal(handle, 1, floats(2), x, 1));
    assertThat(gpu.floats(x, 1)).containsExactly(4);
    Emulator.failAllocation(1);
    assertThat(JCublas2.cublasCreate(new cublasHandle())).isEqualTo(CUBLAS_STATUS_ALLOC_FAILED);
    assertThat(Emulator.calls()).containsEntry("cublasSscal", 3L);
  }

  @Test
  void handlesLeftOpenAreCounted() {
    cublasHandle other = new cublasHandle();
    ok(JCublas2.cublasCreate(other));
    assertThat(Emulator.open()).containsEntry("cublasHandle", 2L);
    ok(JCublas2.cublasDestroy(other));
    assertThat(Emulator.open()).containsEntry("cublasHandle", 1L);
  }

  // ---- fixtures

  private static void ok(int status) {
    assertThat(JCublas2.cublasGetStatusName(status)).isEqualTo("CUBLAS_STATUS_SUCCESS");
  }

  private static int extent(int rows, int columns, int ld) {
    return rows == 0 || columns == 0 ? 0 : (columns - 1) * ld + rows;
  }

  private static double pick(Random random, double... choices) {
    return choices[random.nextInt(choices.length)];
  }

  private static int increment(Random random) {
    int size = 1 + random.nextInt(3);
    return random.nextBoolean() ? size : -size;
  }

  /** Where element i of a vector is: a negative increment walks back from the far end. */
  private static IntUnaryOperator element(int n, int increment) {
    return i -> increment > 0 ? i * increment : (n - 1 - i) * -increment;
  }

  private static double[] values(Random random, int count, boolean wide) {
    double[] values = new double[count];
    for (int i = 0; i < count; i++) {
      double value = random.nextDouble() * 2 - 1;
      values[i] = wide ? value : (float) value;
    }
    return values;
  }

  private static float[] integers(Random random, int count) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = random.nextInt(7) - 3;
    }
    return values;
  }

  private static float[] ramp(int count) {
    float[] values = new float[count];
    for (int i = 0; i < count; i++) {
      values[i] = i + 1;
    }
    return values;
  }

  private static float[] identityMatrix(int n) {
    float[] values = new float[n * n];
    for (int i = 0; i < n; i++) {
      values[i * n + i] = 1;
    }
    return values;
  }

  private CUdeviceptr upload(double[] values, boolean wide) {
    return wide ? gpu.upload(values) : gpu.upload(narrowed(values));
  }

  private double[] download(CUdeviceptr pointer, int count, boolean wide) {
    return wide ? gpu.doubles(pointer, count) : widened(gpu.floats(pointer, count));
  }

  private static void assertClose(double[] actual, double[] expected, boolean wide) {
    assertThat(actual).hasSameSizeAs(expected);
    for (int i = 0; i < actual.length; i++) {
      if (Double.isNaN(expected[i])) {
        assertThat(actual[i]).as("element %d", i).isNaN();
      } else {
        assertThat(actual[i])
            .as("element %d", i)
            .isCloseTo(expected[i], within(wide ? 1e-12 : 1e-4));
      }
    }
  }

  private static Pointer floats(double value) {
    return Pointer.to(new float[] {(float) value});
  }

  private static Pointer doubles(double value) {
    return Pointer.to(new double[] {value});
  }

  private static Pointer scalar(double value, int compute) {
    if (compute == CUBLAS_COMPUTE_64F) {
      return doubles(value);
    }
    return compute == CUBLAS_COMPUTE_16F
        ? Pointer.to(HalfPrecision.halves((float) value))
        : floats(value);
  }

  private CUdeviceptr typed(float[] values, int type) {
    if (type == CUDA_R_32F) {
      return gpu.upload(values);
    }
    if (type == CUDA_R_64F) {
      return gpu.upload(widened(values));
    }
    return gpu.upload(type == CUDA_R_16F ? HalfPrecision.halves(values) : brainFloats(values));
  }

  private double[] untyped(CUdeviceptr pointer, int count, int type) {
    if (type == CUDA_R_32F) {
      return widened(gpu.floats(pointer, count));
    }
    if (type == CUDA_R_64F) {
      return gpu.doubles(pointer, count);
    }
    short[] bits = gpu.shorts(pointer, count);
    double[] values = new double[count];
    for (int i = 0; i < count; i++) {
      values[i] =
          type == CUDA_R_16F ? HalfPrecision.values(bits)[i] : Float.intBitsToFloat(bits[i] << 16);
    }
    return values;
  }

  private static float[] narrowed(double[] values) {
    float[] narrowed = new float[values.length];
    for (int i = 0; i < values.length; i++) {
      narrowed[i] = (float) values[i];
    }
    return narrowed;
  }

  private static double[] widened(float[] values) {
    double[] widened = new double[values.length];
    for (int i = 0; i < values.length; i++) {
      widened[i] = values[i];
    }
    return widened;
  }

  private static short[] brainFloats(float[] values) {
    short[] bits = new short[values.length];
    for (int i = 0; i < values.length; i++) {
      bits[i] = (short) (Float.floatToIntBits(values[i]) >>> 16); // exact for small integers
    }
    return bits;
  }
}
