package dev.nimble.cuda.emulator;

import static dev.nimble.cuda.emulator.CudnnFixture.BAD_PARAM;
import static dev.nimble.cuda.emulator.CudnnFixture.EXECUTION_FAILED;
import static dev.nimble.cuda.emulator.CudnnFixture.NOT_SUPPORTED;
import static dev.nimble.cuda.emulator.CudnnFixture.assertClose;
import static dev.nimble.cuda.emulator.CudnnFixture.before;
import static dev.nimble.cuda.emulator.CudnnFixture.blended;
import static dev.nimble.cuda.emulator.CudnnFixture.dataType;
import static dev.nimble.cuda.emulator.CudnnFixture.ok;
import static dev.nimble.cuda.emulator.CudnnFixture.pick;
import static dev.nimble.cuda.emulator.CudnnFixture.product;
import static dev.nimble.cuda.emulator.CudnnFixture.scalar;
import static dev.nimble.cuda.emulator.CudnnFixture.values;
import static jcuda.jcudnn.cudnnActivationMode.CUDNN_ACTIVATION_IDENTITY;
import static jcuda.jcudnn.cudnnActivationMode.CUDNN_ACTIVATION_RELU;
import static jcuda.jcudnn.cudnnActivationMode.CUDNN_ACTIVATION_TANH;
import static jcuda.jcudnn.cudnnConvolutionFwdAlgo.CUDNN_CONVOLUTION_FWD_ALGO_DIRECT;
import static jcuda.jcudnn.cudnnConvolutionFwdAlgo.CUDNN_CONVOLUTION_FWD_ALGO_FFT;
import static jcuda.jcudnn.cudnnConvolutionFwdAlgo.CUDNN_CONVOLUTION_FWD_ALGO_GEMM;
import static jcuda.jcudnn.cudnnConvolutionFwdAlgo.CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM;
import static jcuda.jcudnn.cudnnConvolutionFwdAlgo.CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
import static jcuda.jcudnn.cudnnConvolutionFwdAlgo.CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD;
import static jcuda.jcudnn.cudnnConvolutionMode.CUDNN_CONVOLUTION;
import static jcuda.jcudnn.cudnnConvolutionMode.CUDNN_CROSS_CORRELATION;
import static jcuda.jcudnn.cudnnMathType.CUDNN_DEFAULT_MATH;
import static jcuda.jcudnn.cudnnMathType.CUDNN_FMA_MATH;
import static org.assertj.core.api.Assertions.assertThat;

import dev.nimble.cuda.emulator.CudnnFixture.Tensor;
import dev.nimble.testkit.Seeds;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Random;
import java.util.Set;
import jcuda.Pointer;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUgraphExec;
import jcuda.jcudnn.JCudnn;
import jcuda.jcudnn.cudnnConvolutionBwdDataAlgoPerf;
import jcuda.jcudnn.cudnnConvolutionBwdFilterAlgoPerf;
import jcuda.jcudnn.cudnnConvolutionDescriptor;
import jcuda.jcudnn.cudnnConvolutionFwdAlgoPerf;
import jcuda.jcudnn.cudnnDataType;
import jcuda.jcudnn.cudnnFilterDescriptor;
import jcuda.jcudnn.cudnnTensorDescriptor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The emulated cuDNN's convolutions, through JCudnn and its natives, against plain loops. */
@Tag("emulator")
class CudnnConvolutionTest {
  private CudnnFixture dnn;

  @BeforeEach
  void open() {
    dnn = new CudnnFixture();
  }

  @AfterEach
  void close() {
    dnn.close();
  }

  /** A random convolution of two or three spatial dimensions. */
  private final class Convolution {
    final boolean wide;
    final int rank;
    final int groups;
    final boolean turned;
    final int[] pad;
    final int[] stride;
    final int[] dilation;
    final int[] x;
    final int[] w;
    final int[] y;
    final cudnnFilterDescriptor filter;
    final cudnnConvolutionDescriptor descriptor = dnn.convolutionDescriptor();

    Convolution(Random random) {
      wide = random.nextBoolean();
      rank = random.nextInt(4) == 0 ? 3 : 2;
      groups = 1 + random.nextInt(3);
      turned = random.nextInt(4) == 0;
      boolean plain = random.nextBoolean(); // stride and dilation of 1: more algorithms take it
      pad = new int[rank];
      stride = new int[rank];
      dilation = new int[rank];
      x = new int[rank + 2];
      w = new int[rank + 2];
      y = new int[rank + 2];
      x[0] = y[0] = 1 + random.nextInt(2);
      w[1] = 1 + random.nextInt(3);
      x[1] = groups * w[1];
      w[0] = y[1] = groups * (1 + random.nextInt(3));
      int kernel = 1 + random.nextInt(3);
      for (int d = 0; d < rank; d++) {
        pad[d] = random.nextInt(3);
        stride[d] = plain ? 1 : 1 + random.nextInt(2);
        dilation[d] = plain ? 1 : 1 + random.nextInt(2);
        w[d + 2] = plain ? kernel : 1 + random.nextInt(3);
        x[d + 2] = (w[d + 2] - 1) * dilation[d] + 1 + random.nextInt(6);
        y[d + 2] = (x[d + 2] + 2 * pad[d] - (w[d + 2] - 1) * dilation[d] - 1) / stride[d] + 1;
      }
      filter = dnn.filter(wide, w);
      ok(
          JCudnn.cudnnSetConvolutionNdDescriptor(
              descriptor,
              rank,
              pad,
              stride,
              dilation,
              turned ? CUDNN_CONVOLUTION : CUDNN_CROSS_CORRELATION,
              dataType(wide)));
      ok(JCudnn.cudnnSetConvolutionGroupCount(descriptor, groups));
      ok(JCudnn.cudnnSetConvolutionMathType(descriptor, CUDNN_FMA_MATH));
    }

    /** Visits every product of the convolution's sum: (index in x, in w, in y). */
    void forEachProduct(Visit visit) {
      int filters = w[0] / groups;
      int taps = product(Arrays.copyOfRange(w, 2, w.length));
      int inputs = product(Arrays.copyOfRange(x, 2, x.length));
      int outputs = product(Arrays.copyOfRange(y, 2, y.length));
      for (int n = 0; n < x[0]; n++) {
        for (int k = 0; k < w[0]; k++) {
          for (int c = 0; c < w[1]; c++) {
            for (int o = 0; o < outputs; o++) {
              for (int t = 0; t < taps; t++) {
                int input = inputOf(o, turned ? taps - 1 - t : t);
                if (input >= 0) {
                  visit.accept(
                      (n * x[1] + k / filters * w[1] + c) * inputs + input,
                      (k * w[1] + c) * taps + t,
                      (n * w[0] + k) * outputs + o);
                }
              }
            }
          }
        }
      }
    }

    /** The input position that output {@code o} meets at {@code tap}, or -1 in the padding. */
    private int inputOf(int o, int tap) {
      int at = 0;
      int scale = 1;
      for (int d = rank - 1; d >= 0; d--) {
        int position = o % y[d + 2] * stride[d] - pad[d] + tap % w[d + 2] * dilation[d];
        if (position < 0 || position >= x[d + 2]) {
          return -1;
        }
        at += position * scale;
        scale *= x[d + 2];
        o /= y[d + 2];
        tap /= w[d + 2];
      }
      return at;
    }

    double[] forward(double[] input, double[] weights) {
      double[] result = new double[product(y)];
      forEachProduct((i, j, k) -> result[k] += input[i] * weights[j]);
      return result;
    }
  }

  @FunctionalInterface
  private interface Visit {
    void accept(int x, int w, int y);
  }

  /** A workspace of exactly the given size, and none for zero. */
  private Pointer workspace(long bytes) {
    return bytes == 0 ? new CUdeviceptr() : dnn.gpu.allocate(bytes);
  }

  @Test
  void forwardFollowsEveryArgumentUnderEveryAlgorithmThatTakesIt() {
    Set<Integer> taken = new HashSet<>();
    Seeds.forEach(
        60,
        (random, seed) -> {
          Convolution c = new Convolution(random);
          Tensor x = dnn.tensor(random, c.wide, c.x);
          double[] weights = values(random, product(c.w), c.wide);
          CUdeviceptr w = dnn.upload(weights, c.wide);
          double alpha = pick(random, 1, -0.5);
          double beta = pick(random, 0, 1, 0.25);
          double[] expected = c.forward(x.values, weights);
          for (int algorithm = 0; algorithm < 8; algorithm++) {
            double[] old = before(random, product(c.y), c.wide, beta);
            Tensor y = dnn.tensor(random, c.wide, old, c.y);
            long[] bytes = new long[1];
            int status =
                JCudnn.cudnnGetConvolutionForwardWorkspaceSize(
                    dnn.handle,
                    x.descriptor,
                    c.filter,
                    c.descriptor,
                    y.descriptor,
                    algorithm,
                    bytes);
            long needed = status == 0 ? bytes[0] : 0; // JCudnn leaves garbage after a failure
            int ran =
                JCudnn.cudnnConvolutionForward(
                    dnn.handle,
                    scalar(alpha, c.wide),
                    x.descriptor,
                    x.memory,
                    c.filter,
                    w,
                    c.descriptor,
                    algorithm,
                    workspace(needed),
                    needed,
                    scalar(beta, c.wide),
                    y.descriptor,
                    y.memory);
            assertThat(ran).isEqualTo(status);
            if (status == 0) {
              taken.add(algorithm);
              y.assertHolds(blended(expected, alpha, beta, old));
            } else {
              assertThat(status).isEqualTo(NOT_SUPPORTED);
              assertClose(y.read(), old, 0);
            }
          }
        });
    if (System.getProperty("nimble.seed") == null) {
      assertThat(taken).containsExactlyInAnyOrder(0, 1, 2, 4, 5, 6, 7);
    }
  }

  @Test
  void backwardDataFollowsEveryArgumentUnderEveryAlgorithmThatTakesIt() {
    Seeds.forEach(
        40,
        (random, seed) -> {
          Convolution c = new Convolution(random);
          Tensor dy = dnn.tensor(random, c.wide, c.y);
          double[] weights = values(random, product(c.w), c.wide);
          CUdeviceptr w = dnn.upload(weights, c.wide);
          double alpha = pick(random, 1, 2);
          double beta = pick(random, 0, 1, -0.25);
          double[] expected = new double[product(c.x)];
          c.forEachProduct((i, j, k) -> expected[i] += dy.values[k] * weights[j]);
          for (int algorithm = 0; algorithm < 6; algorithm++) {
            double[] old = before(random, product(c.x), c.wide, beta);
            Tensor dx = dnn.tensor(random, c.wide, old, c.x);
            long[] bytes = new long[1];
            int status =
                JCudnn.cudnnGetConvolutionBackwardDataWorkspaceSize(
                    dnn.handle,
                    c.filter,
                    dy.descriptor,
                    c.descriptor,
                    dx.descriptor,
                    algorithm,
                    bytes);
            if (status == NOT_SUPPORTED) {
              continue;
            }
            ok(status);
            ok(
                JCudnn.cudnnConvolutionBackwardData(
                    dnn.handle,
                    scalar(alpha, c.wide),
                    c.filter,
                    w,
                    dy.descriptor,
                    dy.memory,
                    c.descriptor,
                    algorithm,
                    workspace(bytes[0]),
                    bytes[0],
                    scalar(beta, c.wide),
                    dx.descriptor,
                    dx.memory));
            dx.assertHolds(blended(expected, alpha, beta, old));
          }
        });
  }

  @Test
  void backwardFilterAndBiasFollowEveryArgument() {
    Seeds.forEach(
        40,
        (random, seed) -> {
          Convolution c = new Convolution(random);
          Tensor x = dnn.tensor(random, c.wide, c.x);
          Tensor dy = dnn.tensor(random, c.wide, c.y);
          double alpha = pick(random, 1, 2);
          double beta = pick(random, 0, 1, -0.25);
          double[] expected = new double[product(c.w)];
          c.forEachProduct((i, j, k) -> expected[j] += x.values[i] * dy.values[k]);
          for (int algorithm = 0; algorithm < 7; algorithm++) {
            double[] old = before(random, product(c.w), c.wide, beta);
            CUdeviceptr dw = dnn.upload(old, c.wide);
            long[] bytes = new long[1];
            int status =
                JCudnn.cudnnGetConvolutionBackwardFilterWorkspaceSize(
                    dnn.handle,
                    x.descriptor,
                    dy.descriptor,
                    c.descriptor,
                    c.filter,
                    algorithm,
                    bytes);
            if (status == NOT_SUPPORTED) {
              continue;
            }
            ok(status);
            ok(
                JCudnn.cudnnConvolutionBackwardFilter(
                    dnn.handle,
                    scalar(alpha, c.wide),
                    x.descriptor,
                    x.memory,
                    dy.descriptor,
                    dy.memory,
                    c.descriptor,
                    algorithm,
                    workspace(bytes[0]),
                    bytes[0],
                    scalar(beta, c.wide),
                    c.filter,
                    dw));
            assertClose(
                dnn.download(dw, old.length, c.wide),
                blended(expected, alpha, beta, old),
                c.wide ? 1e-11 : 1e-4);
          }
          int[] biasDims = new int[c.rank + 2];
          Arrays.fill(biasDims, 1);
          biasDims[1] = c.y[1];
          double[] sums = new double[c.y[1]];
          int width = product(Arrays.copyOfRange(c.y, 2, c.y.length));
          for (int i = 0; i < dy.values.length; i++) {
            sums[i / width % c.y[1]] += dy.values[i];
          }
          double[] old = before(random, c.y[1], c.wide, beta);
          Tensor db = dnn.packed(c.wide, old, biasDims);
          ok(
              JCudnn.cudnnConvolutionBackwardBias(
                  dnn.handle,
                  scalar(alpha, c.wide),
                  dy.descriptor,
                  dy.memory,
                  scalar(beta, c.wide),
                  db.descriptor,
                  db.memory));
          db.assertHolds(blended(sums, alpha, beta, old));
        });
  }

  @Test
  void biasAndActivationFollowEveryArgument() {
    Seeds.forEach(
        40,
        (random, seed) -> {
          Convolution c = new Convolution(random);
          Tensor x = dnn.tensor(random, c.wide, c.x);
          Tensor z = dnn.tensor(random, c.wide, c.y);
          Tensor y = dnn.tensor(random, c.wide, c.y);
          double[] weights = values(random, product(c.w), c.wide);
          CUdeviceptr w = dnn.upload(weights, c.wide);
          int[] biasDims = new int[c.rank + 2];
          Arrays.fill(biasDims, 1);
          biasDims[1] = c.y[1];
          Tensor bias = dnn.packed(c.wide, values(random, c.y[1], c.wide), biasDims);
          boolean relu = random.nextBoolean();
          double alpha1 = pick(random, 1, 0.5);
          double alpha2 = pick(random, 0, 1, -2);
          int algorithm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
          long[] bytes = new long[1];
          ok(
              JCudnn.cudnnGetConvolutionForwardWorkspaceSize(
                  dnn.handle,
                  x.descriptor,
                  c.filter,
                  c.descriptor,
                  y.descriptor,
                  algorithm,
                  bytes));
          ok(
              JCudnn.cudnnConvolutionBiasActivationForward(
                  dnn.handle,
                  scalar(alpha1, c.wide),
                  x.descriptor,
                  x.memory,
                  c.filter,
                  w,
                  c.descriptor,
                  algorithm,
                  workspace(bytes[0]),
                  bytes[0],
                  scalar(alpha2, c.wide),
                  z.descriptor,
                  z.memory,
                  bias.descriptor,
                  bias.memory,
                  dnn.activation(relu ? CUDNN_ACTIVATION_RELU : CUDNN_ACTIVATION_IDENTITY, 0, 0),
                  y.descriptor,
                  y.memory));
          double[] expected = c.forward(x.values, weights);
          int width = product(Arrays.copyOfRange(c.y, 2, c.y.length));
          for (int i = 0; i < expected.length; i++) {
            expected[i] =
                alpha1 * expected[i] + alpha2 * z.values[i] + bias.values[i / width % c.y[1]];
            expected[i] = relu ? Math.max(0, expected[i]) : expected[i];
          }
          y.assertHolds(expected);
        });
  }

  // ---- a convolution of the tests below: x 1x2x6x6, w 3x2x3x3, padding 1

  private final class Fixed {
    final Tensor x = dnn.packed(false, values(new Random(1), 72, false), 1, 2, 6, 6);
    final Tensor y = dnn.packed(false, new double[108], 1, 3, 6, 6);
    final double[] weights = values(new Random(2), 54, false);
    final CUdeviceptr w = dnn.upload(weights, false);
    final cudnnFilterDescriptor filter = dnn.filter(false, 3, 2, 3, 3);
    final cudnnConvolutionDescriptor descriptor = dnn.convolutionDescriptor();

    Fixed() {
      ok(
          JCudnn.cudnnSetConvolution2dDescriptor(
              descriptor, 1, 1, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, dataType(false)));
    }

    int forward(int algorithm, Pointer workspace, long bytes) {
      return JCudnn.cudnnConvolutionForward(
          dnn.handle,
          scalar(1, false),
          x.descriptor,
          x.memory,
          filter,
          w,
          descriptor,
          algorithm,
          workspace,
          bytes,
          scalar(0, false),
          y.descriptor,
          y.memory);
    }

    long workspaceBytes(int algorithm) {
      long[] bytes = new long[1];
      ok(
          JCudnn.cudnnGetConvolutionForwardWorkspaceSize(
              dnn.handle, x.descriptor, filter, descriptor, y.descriptor, algorithm, bytes));
      return bytes[0];
    }

    double[] result(int algorithm) {
      long bytes = workspaceBytes(algorithm);
      ok(forward(algorithm, workspace(bytes), bytes));
      return y.read();
    }
  }

  @Test
  void defaultMathMayRoundToTf32AndFmaMathMayNot() {
    Fixed c = new Fixed();
    ok(JCudnn.cudnnSetConvolutionMathType(c.descriptor, CUDNN_FMA_MATH));
    double[] exact = c.result(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM);
    assertThat(exact).isEqualTo(c.result(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM));
    ok(JCudnn.cudnnSetConvolutionMathType(c.descriptor, CUDNN_DEFAULT_MATH));
    double[] coarse = c.result(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM);
    assertThat(coarse).isNotEqualTo(exact);
    assertClose(coarse, exact, 5e-3);
    assertThat(c.result(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM)).isEqualTo(exact);
  }

  @Test
  void aWorkspaceIsCheckedAndScribbledOn() {
    Fixed c = new Fixed();
    int algorithm = CUDNN_CONVOLUTION_FWD_ALGO_GEMM;
    long bytes = c.workspaceBytes(algorithm);
    assertThat(bytes).isPositive();
    CUdeviceptr workspace = dnn.gpu.upload(new float[(int) (bytes / 4) + 8]);
    assertThat(c.forward(algorithm, workspace, bytes - 1)).isEqualTo(BAD_PARAM);
    assertThat(c.forward(algorithm, new CUdeviceptr(), bytes)).isEqualTo(BAD_PARAM);
    ok(c.forward(algorithm, workspace, bytes + 16));
    float[] left = dnn.gpu.floats(workspace, (int) (bytes / 4) + 8);
    assertThat(Arrays.copyOf(left, (int) (bytes / 4))).doesNotContain(0f);
    assertThat(Arrays.copyOfRange(left, (int) (bytes / 4), left.length)).containsOnly(0f);
  }

  @Test
  void descriptorsThatDisagreeAreBadParameters() {
    Fixed c = new Fixed();
    int implicit = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM;
    Pointer none = new CUdeviceptr();
    ok(c.forward(implicit, none, 0));
    assertThat(c.forward(8, none, 0)).isEqualTo(BAD_PARAM);
    assertThat(c.forward(-1, none, 0)).isEqualTo(BAD_PARAM);
    assertThat(c.forward(CUDNN_CONVOLUTION_FWD_ALGO_DIRECT, none, 0)).isEqualTo(NOT_SUPPORTED);
    ok(JCudnn.cudnnSetConvolutionGroupCount(c.descriptor, 2));
    assertThat(c.forward(implicit, none, 0)).isEqualTo(BAD_PARAM);
    ok(JCudnn.cudnnSetConvolutionGroupCount(c.descriptor, 1));
    for (int[] dims :
        new int[][] {{1, 3, 5, 6}, {1, 3, 6, 7}, {1, 2, 6, 6}, {2, 3, 6, 6}, {1, 3, 6, 6, 1}}) {
      Tensor y = dnn.packed(false, new double[product(dims)], dims);
      assertThat(
              JCudnn.cudnnConvolutionForward(
                  dnn.handle,
                  scalar(1, false),
                  c.x.descriptor,
                  c.x.memory,
                  c.filter,
                  c.w,
                  c.descriptor,
                  implicit,
                  none,
                  0,
                  scalar(0, false),
                  y.descriptor,
                  y.memory))
          .as(Arrays.toString(dims))
          .isEqualTo(BAD_PARAM);
    }
    Tensor wide = dnn.packed(true, new double[108], 1, 3, 6, 6);
    assertThat(
            JCudnn.cudnnConvolutionForward(
                dnn.handle,
                scalar(1, false),
                c.x.descriptor,
                c.x.memory,
                c.filter,
                c.w,
                c.descriptor,
                implicit,
                none,
                0,
                scalar(0, false),
                wide.descriptor,
                wide.memory))
        .isEqualTo(BAD_PARAM);
    assertThat(
            JCudnn.cudnnConvolutionForward(
                dnn.handle,
                scalar(1, false),
                c.x.descriptor,
                c.x.memory,
                c.filter,
                c.w,
                dnn.convolutionDescriptor(),
                implicit,
                none,
                0,
                scalar(0, false),
                c.y.descriptor,
                c.y.memory))
        .as("a descriptor never set")
        .isEqualTo(BAD_PARAM);
    // A result whose elements would share addresses.
    Tensor y = new OverlappingResult().tensor;
    assertThat(
            JCudnn.cudnnConvolutionForward(
                dnn.handle,
                scalar(1, false),
                c.x.descriptor,
                c.x.memory,
                c.filter,
                c.w,
                c.descriptor,
                implicit,
                none,
                0,
                scalar(0, false),
                y.descriptor,
                y.memory))
        .isEqualTo(NOT_SUPPORTED);
  }

  private final class OverlappingResult {
    final Tensor tensor =
        dnn.new Tensor(new int[] {1, 3, 6, 6}, new int[] {108, 0, 6, 1}, false, new double[108]);
  }

  @Test
  void biasAndActivationRefuseWhatTheLibraryRefuses() {
    Fixed c = new Fixed();
    Tensor bias = dnn.packed(false, new double[3], 1, 3, 1, 1);
    int implicit = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM;
    assertThat(fused(c, bias, implicit, CUDNN_ACTIVATION_TANH, 0)).isEqualTo(NOT_SUPPORTED);
    assertThat(fused(c, bias, implicit, CUDNN_ACTIVATION_RELU, 1)).isEqualTo(NOT_SUPPORTED);
    assertThat(fused(c, bias, implicit, CUDNN_ACTIVATION_IDENTITY, 0)).isEqualTo(NOT_SUPPORTED);
    Tensor rows = dnn.packed(false, new double[6], 1, 1, 6, 1);
    assertThat(fused(c, rows, implicit, CUDNN_ACTIVATION_RELU, 0)).isEqualTo(NOT_SUPPORTED);
    ok(fused(c, bias, implicit, CUDNN_ACTIVATION_RELU, 0));
  }

  private int fused(Fixed c, Tensor bias, int algorithm, int mode, int nan) {
    return JCudnn.cudnnConvolutionBiasActivationForward(
        dnn.handle,
        scalar(1, false),
        c.x.descriptor,
        c.x.memory,
        c.filter,
        c.w,
        c.descriptor,
        algorithm,
        new CUdeviceptr(),
        0,
        scalar(0, false),
        c.y.descriptor,
        c.y.memory,
        bias.descriptor,
        bias.memory,
        dnn.activation(mode, nan, 0),
        c.y.descriptor,
        c.y.memory);
  }

  @Test
  void algorithmsAreListedBestFirstAndThoseThatCannotRunLast() {
    Fixed c = new Fixed();
    int[] count = new int[1];
    ok(JCudnn.cudnnGetConvolutionForwardAlgorithmMaxCount(dnn.handle, count));
    assertThat(count[0]).isEqualTo(8);
    cudnnConvolutionFwdAlgoPerf[] results = new cudnnConvolutionFwdAlgoPerf[8];
    Arrays.setAll(results, i -> new cudnnConvolutionFwdAlgoPerf());
    int[] returned = new int[1];
    ok(
        JCudnn.cudnnFindConvolutionForwardAlgorithm(
            dnn.handle,
            c.x.descriptor,
            c.filter,
            c.descriptor,
            c.y.descriptor,
            8,
            returned,
            results));
    assertThat(returned[0]).isEqualTo(8);
    Set<Integer> algorithms = new HashSet<>();
    double last = 0;
    boolean failed = false;
    for (cudnnConvolutionFwdAlgoPerf result : results) {
      algorithms.add(result.algo);
      if (result.status == 0) {
        assertThat(failed).as("a success after a failure").isFalse();
        assertThat(result.time).isGreaterThanOrEqualTo((float) last);
        assertThat(result.memory).isEqualTo(c.workspaceBytes(result.algo));
        assertThat(result.determinism).isEqualTo(1);
        last = result.time;
      } else {
        assertThat(result.time).isEqualTo(-1);
        failed = true;
      }
    }
    assertThat(algorithms).hasSize(8);
    assertThat(results[7].status).isEqualTo(NOT_SUPPORTED);
    assertThat(results[7].algo).isEqualTo(CUDNN_CONVOLUTION_FWD_ALGO_DIRECT);
    cudnnConvolutionFwdAlgoPerf[] ranked = {new cudnnConvolutionFwdAlgoPerf()};
    ok(
        JCudnn.cudnnGetConvolutionForwardAlgorithm_v7(
            dnn.handle,
            c.x.descriptor,
            c.filter,
            c.descriptor,
            c.y.descriptor,
            1,
            returned,
            ranked));
    assertThat(returned[0]).isEqualTo(1);
    assertThat(ranked[0].algo).isEqualTo(results[0].algo);
  }

  @Test
  void measuringOnOnesOwnOperandsKeepsToTheWorkspaceAndWritesTheResult() {
    Fixed c = new Fixed();
    cudnnConvolutionFwdAlgoPerf[] results = new cudnnConvolutionFwdAlgoPerf[8];
    Arrays.setAll(results, i -> new cudnnConvolutionFwdAlgoPerf());
    int[] returned = new int[1];
    ok(
        JCudnn.cudnnFindConvolutionForwardAlgorithmEx(
            dnn.handle,
            c.x.descriptor,
            c.x.memory,
            c.filter,
            c.w,
            c.descriptor,
            c.y.descriptor,
            c.y.memory,
            8,
            returned,
            results,
            new CUdeviceptr(),
            0));
    assertThat(results[0].algo).isEqualTo(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM);
    assertThat(Arrays.stream(results).filter(result -> result.status == 0)).hasSize(1);
    double[] found = c.y.read();
    assertThat(found).isEqualTo(c.result(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM));
    cudnnConvolutionBwdDataAlgoPerf[] data = new cudnnConvolutionBwdDataAlgoPerf[6];
    Arrays.setAll(data, i -> new cudnnConvolutionBwdDataAlgoPerf());
    ok(
        JCudnn.cudnnFindConvolutionBackwardDataAlgorithm(
            dnn.handle, c.filter, c.y.descriptor, c.descriptor, c.x.descriptor, 6, returned, data));
    assertThat(returned[0]).isEqualTo(6);
    assertThat(data[0].status).isZero();
    cudnnConvolutionBwdFilterAlgoPerf[] filter = new cudnnConvolutionBwdFilterAlgoPerf[7];
    Arrays.setAll(filter, i -> new cudnnConvolutionBwdFilterAlgoPerf());
    ok(
        JCudnn.cudnnFindConvolutionBackwardFilterAlgorithm(
            dnn.handle,
            c.x.descriptor,
            c.y.descriptor,
            c.descriptor,
            c.filter,
            7,
            returned,
            filter));
    assertThat(returned[0]).isEqualTo(7);
    assertThat(Arrays.stream(filter).filter(result -> result.algo == 0))
        .allSatisfy(result -> assertThat(result.determinism).isZero());
  }

  @Test
  void someAlgorithmsTakeSomeShapesOnly() {
    Fixed c = new Fixed();
    for (int algorithm :
        new int[] {
          CUDNN_CONVOLUTION_FWD_ALGO_GEMM,
          CUDNN_CONVOLUTION_FWD_ALGO_FFT,
          CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD
        }) {
      ok(support(c, 1, 1, algorithm));
      assertThat(support(c, 1, 2, algorithm)).isEqualTo(NOT_SUPPORTED);
    }
    assertThat(support(c, 2, 1, CUDNN_CONVOLUTION_FWD_ALGO_FFT)).isEqualTo(NOT_SUPPORTED);
    assertThat(support(c, 2, 1, CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD)).isEqualTo(NOT_SUPPORTED);
    ok(support(c, 2, 1, CUDNN_CONVOLUTION_FWD_ALGO_GEMM));
    ok(support(c, 2, 2, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM));
  }

  /** The status of an algorithm for the fixed operands under another stride and dilation. */
  private int support(Fixed c, int stride, int dilation, int algorithm) {
    cudnnConvolutionDescriptor descriptor = dnn.convolutionDescriptor();
    ok(
        JCudnn.cudnnSetConvolution2dDescriptor(
            descriptor,
            1,
            1,
            stride,
            stride,
            dilation,
            dilation,
            CUDNN_CROSS_CORRELATION,
            dataType(false)));
    int[] y = new int[4];
    ok(JCudnn.cudnnGetConvolutionNdForwardOutputDim(descriptor, c.x.descriptor, c.filter, 4, y));
    Tensor result = dnn.packed(false, new double[product(y)], y);
    return JCudnn.cudnnGetConvolutionForwardWorkspaceSize(
        dnn.handle,
        c.x.descriptor,
        c.filter,
        descriptor,
        result.descriptor,
        algorithm,
        new long[1]);
  }

  @Test
  void halfPrecisionAndChannelsLastFiltersGiveTheSame() {
    Random random = new Random(3);
    int[] x = {1, 2, 4, 5};
    int[] w = {3, 2, 3, 2};
    int[] y = {1, 3, 2, 4};
    float[] input = new float[product(x)];
    float[] weights = new float[product(w)];
    for (int i = 0; i < input.length; i++) {
      input[i] = random.nextInt(7) - 3; // exact in half precision, and so are the sums
    }
    for (int i = 0; i < weights.length; i++) {
      weights[i] = random.nextInt(7) - 3;
    }
    float[] expected = new float[product(y)];
    for (int k = 0; k < 3; k++) {
      for (int c = 0; c < 2; c++) {
        for (int o = 0; o < 8; o++) {
          for (int t = 0; t < 6; t++) {
            expected[k * 8 + o] +=
                input[(c * 4 + o / 4 + t / 2) * 5 + o % 4 + t % 2] * weights[(k * 2 + c) * 6 + t];
          }
        }
      }
    }
    int half = cudnnDataType.CUDNN_DATA_HALF;
    cudnnConvolutionDescriptor descriptor = dnn.convolutionDescriptor();
    ok(
        JCudnn.cudnnSetConvolution2dDescriptor(
            descriptor, 0, 0, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, cudnnDataType.CUDNN_DATA_FLOAT));
    for (int format : new int[] {0, 1}) { // channels first, channels last
      cudnnTensorDescriptor in = dnn.tensorDescriptor();
      cudnnTensorDescriptor out = dnn.tensorDescriptor();
      cudnnFilterDescriptor filter = dnn.filterDescriptor();
      ok(JCudnn.cudnnSetTensor4dDescriptor(in, format, half, x[0], x[1], x[2], x[3]));
      ok(JCudnn.cudnnSetTensor4dDescriptor(out, format, half, y[0], y[1], y[2], y[3]));
      ok(JCudnn.cudnnSetFilter4dDescriptor(filter, half, format, w[0], w[1], w[2], w[3]));
      CUdeviceptr result = dnn.gpu.allocate(2L * expected.length);
      ok(
          JCudnn.cudnnConvolutionForward(
              dnn.handle,
              scalar(1, false),
              in,
              dnn.gpu.upload(HalfPrecision.halves(laidOut(input, x, format))),
              filter,
              dnn.gpu.upload(HalfPrecision.halves(laidOut(weights, w, format))),
              descriptor,
              CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM,
              new CUdeviceptr(),
              0,
              scalar(0, false),
              out,
              result));
      assertThat(HalfPrecision.values(dnn.gpu.shorts(result, expected.length)))
          .isEqualTo(laidOut(expected, y, format));
    }
    // A filter with channels last between tensors with channels first.
    cudnnTensorDescriptor in = dnn.tensorDescriptor();
    cudnnTensorDescriptor out = dnn.tensorDescriptor();
    cudnnFilterDescriptor filter = dnn.filterDescriptor();
    ok(JCudnn.cudnnSetTensor4dDescriptor(in, 0, half, x[0], x[1], x[2], x[3]));
    ok(JCudnn.cudnnSetTensor4dDescriptor(out, 0, half, y[0], y[1], y[2], y[3]));
    ok(JCudnn.cudnnSetFilter4dDescriptor(filter, half, 1, w[0], w[1], w[2], w[3]));
    assertThat(
            JCudnn.cudnnGetConvolutionForwardWorkspaceSize(
                dnn.handle,
                in,
                filter,
                descriptor,
                out,
                CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM,
                new long[1]))
        .isEqualTo(NOT_SUPPORTED);
  }

  /** Values in channels-first order, moved to the given format. */
  private static float[] laidOut(float[] values, int[] dims, int format) {
    if (format == 0) {
      return values;
    }
    float[] moved = new float[values.length];
    int width = dims[2] * dims[3];
    for (int i = 0; i < values.length; i++) {
      int n = i / (dims[1] * width);
      int c = i / width % dims[1];
      moved[(n * width + i % width) * dims[1] + c] = values[i];
    }
    return moved;
  }

  @Test
  void outputExtentsFollowTheFormula() {
    Seeds.forEach(
        30,
        (random, seed) -> {
          Convolution c = new Convolution(random);
          Tensor x = dnn.tensor(random, c.wide, c.x);
          int[] dims = new int[c.rank + 2];
          ok(
              JCudnn.cudnnGetConvolutionNdForwardOutputDim(
                  c.descriptor, x.descriptor, c.filter, dims.length, dims));
          assertThat(dims).isEqualTo(c.y);
          if (c.rank == 2) {
            int[] n = new int[1];
            int[] k = new int[1];
            int[] h = new int[1];
            int[] w = new int[1];
            ok(
                JCudnn.cudnnGetConvolution2dForwardOutputDim(
                    c.descriptor, x.descriptor, c.filter, n, k, h, w));
            assertThat(new int[] {n[0], k[0], h[0], w[0]}).isEqualTo(c.y);
          }
        });
  }

  @Test
  void aCapturedConvolutionRunsAtEachLaunch() {
    Fixed c = new Fixed();
    int algorithm = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
    double[] expected = c.result(algorithm);
    long bytes = c.workspaceBytes(algorithm);
    Pointer workspace = workspace(bytes);
    CUgraphExec exec =
        dnn.gpu.capture(
            1,
            () ->
                ok(
                    JCudnn.cudnnConvolutionForward(
                        dnn.handle,
                        scalar(1, false),
                        c.x.descriptor,
                        c.x.memory,
                        c.filter,
                        c.w,
                        c.descriptor,
                        algorithm,
                        workspace,
                        bytes,
                        scalar(1, false),
                        c.y.descriptor,
                        c.y.memory)));
    dnn.gpu.launch(exec);
    dnn.gpu.launch(exec);
    c.y.assertHolds(blended(expected, 3, 0, expected));
    dnn.gpu.destroy(exec);
  }

  @Test
  void measuringIsRefusedWhileCapturing() {
    Fixed c = new Fixed();
    cudnnConvolutionFwdAlgoPerf[] results = {new cudnnConvolutionFwdAlgoPerf()};
    dnn.gpu.beginCapture();
    assertThat(
            JCudnn.cudnnFindConvolutionForwardAlgorithm(
                dnn.handle,
                c.x.descriptor,
                c.filter,
                c.descriptor,
                c.y.descriptor,
                1,
                new int[1],
                results))
        .isEqualTo(EXECUTION_FAILED);
    dnn.gpu.endInvalidatedCapture();
    dnn.gpu.beginCapture();
    assertThat(
            JCudnn.cudnnFindConvolutionForwardAlgorithmEx(
                dnn.handle,
                c.x.descriptor,
                c.x.memory,
                c.filter,
                c.w,
                c.descriptor,
                c.y.descriptor,
                c.y.memory,
                1,
                new int[1],
                results,
                new CUdeviceptr(),
                0))
        .isEqualTo(EXECUTION_FAILED);
    dnn.gpu.endInvalidatedCapture();
  }
}
