package dev.nimble.cuda.emulator;

import static dev.nimble.cuda.emulator.CudnnFixture.BAD_PARAM;
import static dev.nimble.cuda.emulator.CudnnFixture.NOT_SUPPORTED;
import static dev.nimble.cuda.emulator.CudnnFixture.assertClose;
import static dev.nimble.cuda.emulator.CudnnFixture.before;
import static dev.nimble.cuda.emulator.CudnnFixture.blended;
import static dev.nimble.cuda.emulator.CudnnFixture.dataType;
import static dev.nimble.cuda.emulator.CudnnFixture.filled;
import static dev.nimble.cuda.emulator.CudnnFixture.ok;
import static dev.nimble.cuda.emulator.CudnnFixture.pick;
import static dev.nimble.cuda.emulator.CudnnFixture.product;
import static dev.nimble.cuda.emulator.CudnnFixture.scalar;
import static dev.nimble.cuda.emulator.CudnnFixture.values;
import static org.assertj.core.api.Assertions.assertThat;

import dev.nimble.cuda.emulator.CudnnFixture.Tensor;
import dev.nimble.testkit.Seeds;
import java.util.Arrays;
import java.util.function.DoubleBinaryOperator;
import java.util.function.DoubleUnaryOperator;
import jcuda.Pointer;
import jcuda.driver.CUdeviceptr;
import jcuda.driver.CUgraphExec;
import jcuda.jcudnn.JCudnn;
import jcuda.jcudnn.cudnnActivationDescriptor;
import jcuda.jcudnn.cudnnActivationMode;
import jcuda.jcudnn.cudnnBatchNormMode;
import jcuda.jcudnn.cudnnDropoutDescriptor;
import jcuda.jcudnn.cudnnIndicesType;
import jcuda.jcudnn.cudnnOpTensorDescriptor;
import jcuda.jcudnn.cudnnOpTensorOp;
import jcuda.jcudnn.cudnnPoolingDescriptor;
import jcuda.jcudnn.cudnnPoolingMode;
import jcuda.jcudnn.cudnnReduceTensorDescriptor;
import jcuda.jcudnn.cudnnReduceTensorIndices;
import jcuda.jcudnn.cudnnReduceTensorOp;
import jcuda.jcudnn.cudnnSoftmaxAlgorithm;
import jcuda.jcudnn.cudnnSoftmaxMode;
import jcuda.jcudnn.cudnnTensorDescriptor;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The emulated cuDNN's pooling, softmax, activation, normalization, element-wise and reducing
 * functions, through JCudnn and its natives, against plain loops.
 */
@Tag("emulator")
class CudnnTensorTest {
  private CudnnFixture dnn;

  @BeforeEach
  void open() {
    dnn = new CudnnFixture();
  }

  @AfterEach
  void close() {
    dnn.close();
  }

  // ---- pooling

  @Test
  void poolingFollowsEveryArgument() {
    Seeds.forEach(
        80,
        (random, seed) -> {
          boolean wide = random.nextBoolean();
          int rank = random.nextInt(3) == 0 ? 3 : 2;
          int mode = random.nextInt(4);
          int[] window = new int[rank];
          int[] pad = new int[rank];
          int[] stride = new int[rank];
          int[] x = new int[rank + 2];
          int[] y = new int[rank + 2];
          x[0] = y[0] = 1 + random.nextInt(2);
          x[1] = y[1] = 1 + random.nextInt(3);
          for (int d = 0; d < rank; d++) {
            window[d] = 1 + random.nextInt(3);
            pad[d] = random.nextInt(window[d]);
            stride[d] = 1 + random.nextInt(3);
            x[d + 2] = window[d] + random.nextInt(5);
            y[d + 2] = (x[d + 2] + 2 * pad[d] - window[d]) / stride[d] + 1;
          }
          cudnnPoolingDescriptor pooling = dnn.poolingDescriptor();
          ok(JCudnn.cudnnSetPoolingNdDescriptor(pooling, mode, 0, rank, window, pad, stride));
          Tensor in = dnn.tensor(random, wide, x);
          int[] dims = new int[rank + 2];
          ok(JCudnn.cudnnGetPoolingNdForwardOutputDim(pooling, in.descriptor, dims.length, dims));
          assertThat(dims).isEqualTo(y);
          double alpha = pick(random, 1, -0.5);
          double beta = pick(random, 0, 1, 2);
          double[] old = before(random, product(y), wide, beta);
          Tensor out = dnn.tensor(random, wide, old, y);
          ok(
              JCudnn.cudnnPoolingForward(
                  dnn.handle,
                  pooling,
                  scalar(alpha, wide),
                  in.descriptor,
                  in.memory,
                  scalar(beta, wide),
                  out.descriptor,
                  out.memory));
          boolean maximum =
              mode == cudnnPoolingMode.CUDNN_POOLING_MAX
                  || mode == cudnnPoolingMode.CUDNN_POOLING_MAX_DETERMINISTIC;
          boolean including = mode == cudnnPoolingMode.CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING;
          double[] gradient = values(random, product(y), wide);
          double[] expected = new double[product(y)];
          double[] back = new double[product(x)];
          int[] at = new int[rank + 2];
          for (int o = 0; o < expected.length; o++) {
            unravel(o, y, at);
            double best = Double.NEGATIVE_INFINITY;
            int bestAt = -1;
            double sum = 0;
            int inside = 0;
            int taps = product(window);
            int[] hits = new int[taps];
            for (int t = 0; t < taps; t++) {
              int i = input(at, t, x, window, pad, stride);
              if (i < 0) {
                continue;
              }
              hits[inside++] = i;
              sum += in.values[i];
              if (in.values[i] > best) {
                best = in.values[i];
                bestAt = i;
              }
            }
            double divisor = including ? taps : inside;
            expected[o] = maximum ? best : sum / divisor;
            if (maximum) {
              back[bestAt] += gradient[o];
            } else {
              for (int h = 0; h < inside; h++) {
                back[hits[h]] += gradient[o] / divisor;
              }
            }
          }
          out.assertHolds(blended(expected, alpha, beta, old));
          Tensor result = dnn.tensor(random, wide, expected, y);
          Tensor dy = dnn.tensor(random, wide, gradient, y);
          double[] oldGradient = before(random, product(x), wide, beta);
          Tensor dx = dnn.tensor(random, wide, oldGradient, x);
          ok(
              JCudnn.cudnnPoolingBackward(
                  dnn.handle,
                  pooling,
                  scalar(alpha, wide),
                  result.descriptor,
                  result.memory,
                  dy.descriptor,
                  dy.memory,
                  in.descriptor,
                  in.memory,
                  scalar(beta, wide),
                  dx.descriptor,
                  dx.memory));
          dx.assertHolds(blended(back, alpha, beta, oldGradient));
        });
  }

  /** The packed index of the input that output {@code at} meets at {@code tap}; -1 in padding. */
  private static int input(int[] at, int tap, int[] x, int[] window, int[] pad, int[] stride) {
    int index = at[0] * x[1] + at[1];
    int divisor = product(window);
    for (int d = 0; d < window.length; d++) {
      divisor /= window[d];
      int position = at[d + 2] * stride[d] - pad[d] + tap / divisor % window[d];
      if (position < 0 || position >= x[d + 2]) {
        return -1;
      }
      index = index * x[d + 2] + position;
    }
    return index;
  }

  private static void unravel(int index, int[] dims, int[] at) {
    for (int d = dims.length - 1; d >= 0; d--) {
      at[d] = index % dims[d];
      index /= dims[d];
    }
  }

  @Test
  void poolingPropagatesNanWhereAskedTo() {
    for (int nan : new int[] {0, 1}) {
      cudnnPoolingDescriptor pooling = dnn.poolingDescriptor();
      ok(JCudnn.cudnnSetPooling2dDescriptor(pooling, 0, nan, 1, 3, 0, 0, 1, 3));
      Tensor x = dnn.packed(false, new double[] {1, Double.NaN, 2, 3, 4, 5}, 1, 1, 1, 6);
      Tensor y = dnn.packed(false, new double[2], 1, 1, 1, 2);
      ok(
          JCudnn.cudnnPoolingForward(
              dnn.handle,
              pooling,
              scalar(1, false),
              x.descriptor,
              x.memory,
              scalar(0, false),
              y.descriptor,
              y.memory));
      y.assertHolds(new double[] {nan == 1 ? Double.NaN : 2, 5});
    }
  }

  @Test
  void theGradientOfAMaximumGoesToTheFirstOfEqualElements() {
    cudnnPoolingDescriptor pooling = dnn.poolingDescriptor();
    ok(JCudnn.cudnnSetPooling2dDescriptor(pooling, 3, 0, 1, 3, 0, 0, 1, 3));
    Tensor x = dnn.packed(false, new double[] {1, 2, 2, 4, 4, 4}, 1, 1, 1, 6);
    Tensor y = dnn.packed(false, new double[] {2, 4}, 1, 1, 1, 2);
    Tensor dx = dnn.packed(false, new double[6], 1, 1, 1, 6);
    ok(
        JCudnn.cudnnPoolingBackward(
            dnn.handle,
            pooling,
            scalar(1, false),
            y.descriptor,
            y.memory,
            y.descriptor,
            y.memory,
            x.descriptor,
            x.memory,
            scalar(0, false),
            dx.descriptor,
            dx.memory));
    dx.assertHolds(new double[] {0, 2, 0, 4, 0, 0});
  }

  @Test
  void poolingRefusesWhatDoesNotFit() {
    cudnnPoolingDescriptor pooling = dnn.poolingDescriptor();
    ok(JCudnn.cudnnSetPooling2dDescriptor(pooling, 0, 0, 2, 2, 0, 0, 2, 2));
    Tensor x = dnn.packed(false, new double[25], 1, 1, 5, 5);
    for (int extent : new int[] {1, 3}) { // 2 is right: what a ceiling would count is refused
      Tensor y = dnn.packed(false, new double[extent * extent], 1, 1, extent, extent);
      assertThat(
              JCudnn.cudnnPoolingForward(
                  dnn.handle,
                  pooling,
                  scalar(1, false),
                  x.descriptor,
                  x.memory,
                  scalar(0, false),
                  y.descriptor,
                  y.memory))
          .isEqualTo(BAD_PARAM);
    }
    assertThat(JCudnn.cudnnSetPooling2dDescriptor(pooling, 4, 0, 2, 2, 0, 0, 2, 2))
        .isEqualTo(BAD_PARAM);
    assertThat(JCudnn.cudnnSetPooling2dDescriptor(pooling, 0, 0, 0, 2, 0, 0, 2, 2))
        .isEqualTo(BAD_PARAM);
    assertThat(JCudnn.cudnnSetPooling2dDescriptor(pooling, 0, 0, 2, 2, -1, 0, 2, 2))
        .isEqualTo(BAD_PARAM);
  }

  // ---- softmax

  @Test
  void softmaxFollowsEveryArgument() {
    Seeds.forEach(
        80,
        (random, seed) -> {
          boolean wide = random.nextBoolean();
          int algorithm = random.nextInt(3);
          boolean channels = random.nextBoolean();
          int[] dims = {
            1 + random.nextInt(3),
            1 + random.nextInt(5),
            1 + random.nextInt(3),
            1 + random.nextInt(3)
          };
          int width = dims[2] * dims[3];
          double alpha = pick(random, 1, 0.5);
          double beta = pick(random, 0, 1, -1);
          int mode =
              channels
                  ? cudnnSoftmaxMode.CUDNN_SOFTMAX_MODE_CHANNEL
                  : cudnnSoftmaxMode.CUDNN_SOFTMAX_MODE_INSTANCE;
          Tensor x = dnn.tensor(random, wide, dims);
          double[] old = before(random, product(dims), wide, beta);
          Tensor y = dnn.tensor(random, wide, old, dims);
          ok(
              JCudnn.cudnnSoftmaxForward(
                  dnn.handle,
                  algorithm,
                  mode,
                  scalar(alpha, wide),
                  x.descriptor,
                  x.memory,
                  scalar(beta, wide),
                  y.descriptor,
                  y.memory));
          boolean log = algorithm == cudnnSoftmaxAlgorithm.CUDNN_SOFTMAX_LOG;
          double[] dy = values(random, product(dims), wide);
          double[] expected = new double[product(dims)];
          double[] back = new double[product(dims)];
          for (int i = 0; i < expected.length; i++) {
            double sum = 0;
            for (int j = 0; j < expected.length; j++) {
              sum += sameRow(i, j, dims[1], width, channels) ? Math.exp(x.values[j]) : 0;
            }
            double y1 = Math.exp(x.values[i]) / sum;
            expected[i] = log ? Math.log(y1) : y1;
          }
          for (int i = 0; i < expected.length; i++) {
            for (int j = 0; j < expected.length; j++) {
              if (sameRow(i, j, dims[1], width, channels)) {
                // d y_j / d x_i
                double slope =
                    log
                        ? (i == j ? 1 : 0) - Math.exp(expected[i])
                        : expected[j] * ((i == j ? 1 : 0) - expected[i]);
                back[i] += dy[j] * slope;
              }
            }
          }
          y.assertHolds(blended(expected, alpha, beta, old));
          Tensor result = dnn.tensor(random, wide, expected, dims);
          Tensor gradient = dnn.tensor(random, wide, dy, dims);
          Tensor dx = dnn.tensor(random, wide, old, dims);
          ok(
              JCudnn.cudnnSoftmaxBackward(
                  dnn.handle,
                  algorithm,
                  mode,
                  scalar(alpha, wide),
                  result.descriptor,
                  result.memory,
                  gradient.descriptor,
                  gradient.memory,
                  scalar(beta, wide),
                  dx.descriptor,
                  dx.memory));
          dx.assertHolds(blended(back, alpha, beta, old));
        });
  }

  private static boolean sameRow(int i, int j, int channels, int width, boolean byChannel) {
    boolean sameImage = i / (channels * width) == j / (channels * width);
    return sameImage && (!byChannel || i % width == j % width);
  }

  @Test
  void onlyTheAccurateSoftmaxTakesLargeValues() {
    Tensor x = dnn.packed(false, new double[] {200, 200}, 1, 2, 1, 1);
    Tensor y = dnn.packed(false, new double[2], 1, 2, 1, 1);
    for (int algorithm : new int[] {0, 1}) {
      ok(
          JCudnn.cudnnSoftmaxForward(
              dnn.handle,
              algorithm,
              0,
              scalar(1, false),
              x.descriptor,
              x.memory,
              scalar(0, false),
              y.descriptor,
              y.memory));
      y.assertHolds(filled(2, algorithm == 0 ? Double.NaN : 0.5));
    }
  }

  // ---- activation

  @Test
  void activationsFollowEveryArgument() {
    double c = 0.6;
    DoubleUnaryOperator[] functions = {
      x -> 1 / (1 + Math.exp(-x)),
      x -> Math.max(0, x),
      Math::tanh,
      x -> Math.min(c, Math.max(0, x)),
      x -> x >= 0 ? x : c * Math.expm1(x),
      null,
      x -> x / (1 + Math.exp(-x)),
    };
    Seeds.forEach(
        60,
        (random, seed) -> {
          boolean wide = random.nextBoolean();
          int mode = random.nextInt(7);
          if (mode == cudnnActivationMode.CUDNN_ACTIVATION_IDENTITY) {
            return;
          }
          DoubleUnaryOperator f = functions[mode];
          cudnnActivationDescriptor activation =
              dnn.activation(mode, 0, mode == cudnnActivationMode.CUDNN_ACTIVATION_RELU ? 0 : c);
          int[] dims = {2, 1 + random.nextInt(3), 1 + random.nextInt(4), 2};
          Tensor x = dnn.tensor(random, wide, dims);
          double alpha = pick(random, 1, 0.5);
          double beta = pick(random, 0, 1, -1);
          double[] old = before(random, product(dims), wide, beta);
          Tensor y = dnn.tensor(random, wide, old, dims);
          ok(
              JCudnn.cudnnActivationForward(
                  dnn.handle,
                  activation,
                  scalar(alpha, wide),
                  x.descriptor,
                  x.memory,
                  scalar(beta, wide),
                  y.descriptor,
                  y.memory));
          double[] expected = Arrays.stream(x.values).map(f).toArray();
          y.assertHolds(blended(expected, alpha, beta, old));
          double[] dy = values(random, product(dims), wide);
          double[] back = new double[dy.length];
          for (int i = 0; i < back.length; i++) {
            double v = x.values[i];
            back[i] = dy[i] * (f.applyAsDouble(v + 1e-6) - f.applyAsDouble(v - 1e-6)) / 2e-6;
          }
          Tensor result = dnn.tensor(random, wide, expected, dims);
          Tensor gradient = dnn.tensor(random, wide, dy, dims);
          Tensor dx = dnn.tensor(random, wide, old, dims);
          ok(
              JCudnn.cudnnActivationBackward(
                  dnn.handle,
                  activation,
                  scalar(alpha, wide),
                  result.descriptor,
                  result.memory,
                  gradient.descriptor,
                  gradient.memory,
                  x.descriptor,
                  x.memory,
                  scalar(beta, wide),
                  dx.descriptor,
                  dx.memory));
          assertClose(dx.read(), blended(back, alpha, beta, old), 1e-4);
        });
  }

  @Test
  void reluKeepsNanOnlyWhereAskedToAndActivationsMayWorkInPlace() {
    for (int nan : new int[] {0, 1}) {
      Tensor x = dnn.packed(false, new double[] {Double.NaN, -1, 2}, 1, 3, 1, 1);
      ok(
          JCudnn.cudnnActivationForward(
              dnn.handle,
              dnn.activation(1, nan, 0),
              scalar(1, false),
              x.descriptor,
              x.memory,
              scalar(0, false),
              x.descriptor,
              x.memory));
      x.assertHolds(new double[] {nan == 1 ? Double.NaN : 0, 0, 2});
    }
    Tensor x = dnn.packed(false, new double[3], 1, 3, 1, 1);
    assertThat(
            JCudnn.cudnnActivationForward(
                dnn.handle,
                dnn.activation(5, 0, 0),
                scalar(1, false),
                x.descriptor,
                x.memory,
                scalar(0, false),
                x.descriptor,
                x.memory))
        .as("identity")
        .isEqualTo(BAD_PARAM);
    Tensor longer = dnn.packed(false, new double[4], 1, 4, 1, 1);
    assertThat(
            JCudnn.cudnnActivationForward(
                dnn.handle,
                dnn.activation(1, 0, 0),
                scalar(1, false),
                x.descriptor,
                x.memory,
                scalar(0, false),
                longer.descriptor,
                longer.memory))
        .isEqualTo(BAD_PARAM);
  }

  // ---- batch normalization

  @Test
  void batchNormalizationFollowsEveryArgument() {
    Seeds.forEach(
        60,
        (random, seed) -> {
          boolean wide = random.nextBoolean();
          int mode = random.nextInt(3);
          boolean spatial = mode != cudnnBatchNormMode.CUDNN_BATCHNORM_PER_ACTIVATION;
          int rank = random.nextInt(3) == 0 ? 3 : 2;
          int[] dims = new int[rank + 2];
          dims[0] = 2 + random.nextInt(2);
          for (int d = 1; d < dims.length; d++) {
            dims[d] = 1 + random.nextInt(3);
          }
          double epsilon = 1e-3;
          int width = product(dims) / dims[0] / dims[1];
          int count = spatial ? dims[1] : dims[1] * width;
          Tensor x = dnn.tensor(random, wide, dims);
          cudnnTensorDescriptor parameters = dnn.tensorDescriptor();
          ok(JCudnn.cudnnDeriveBNTensorDescriptor(parameters, x.descriptor, mode));
          double[] gain = values(random, count, wide);
          double[] bias = values(random, count, wide);
          double[] mean = values(random, count, wide);
          double[] variance = values(random, count, wide);
          for (int p = 0; p < count; p++) {
            variance[p] = Math.abs(variance[p]) + 0.1f;
            variance[p] = wide ? variance[p] : (float) variance[p];
          }
          double alpha = pick(random, 1, 0.5);
          double beta = pick(random, 0, 1, -1);
          double[] old = before(random, product(dims), wide, beta);
          Tensor y = dnn.tensor(random, wide, old, dims);
          CUdeviceptr dGain = dnn.upload(gain, wide);
          CUdeviceptr dBias = dnn.upload(bias, wide);
          CUdeviceptr dMean = dnn.upload(mean, wide);
          CUdeviceptr dVariance = dnn.upload(variance, wide);
          ok(
              JCudnn.cudnnBatchNormalizationForwardInference(
                  dnn.handle,
                  mode,
                  scalar(alpha, wide),
                  scalar(beta, wide),
                  x.descriptor,
                  x.memory,
                  y.descriptor,
                  y.memory,
                  parameters,
                  dGain,
                  dBias,
                  dMean,
                  dVariance,
                  epsilon));
          double[] expected = new double[product(dims)];
          for (int i = 0; i < expected.length; i++) {
            int p = spatial ? i / width % count : i % count;
            expected[i] =
                bias[p] + gain[p] * (x.values[i] - mean[p]) / Math.sqrt(variance[p] + epsilon);
          }
          y.assertHolds(blended(expected, alpha, beta, old));

          double factor = pick(random, 1, 0.1);
          CUdeviceptr savedMean = dnn.upload(new double[count], wide);
          CUdeviceptr savedInverse = dnn.upload(new double[count], wide);
          Tensor trained = dnn.tensor(random, wide, old, dims);
          ok(
              JCudnn.cudnnBatchNormalizationForwardTraining(
                  dnn.handle,
                  mode,
                  scalar(alpha, wide),
                  scalar(beta, wide),
                  x.descriptor,
                  x.memory,
                  trained.descriptor,
                  trained.memory,
                  parameters,
                  dGain,
                  dBias,
                  factor,
                  dMean,
                  dVariance,
                  epsilon,
                  savedMean,
                  savedInverse));
          int samples = expected.length / count;
          double[] batchMean = new double[count];
          double[] batchVariance = new double[count];
          double[] dy = values(random, expected.length, wide);
          double[] sumDy = new double[count];
          double[] sumDyX = new double[count];
          for (int i = 0; i < expected.length; i++) {
            batchMean[spatial ? i / width % count : i % count] += x.values[i] / samples;
          }
          for (int i = 0; i < expected.length; i++) {
            int p = spatial ? i / width % count : i % count;
            batchVariance[p] += Math.pow(x.values[i] - batchMean[p], 2) / samples;
          }
          double[] normal = new double[expected.length];
          for (int i = 0; i < expected.length; i++) {
            int p = spatial ? i / width % count : i % count;
            normal[i] = (x.values[i] - batchMean[p]) / Math.sqrt(batchVariance[p] + epsilon);
            expected[i] = bias[p] + gain[p] * normal[i];
            sumDy[p] += dy[i];
            sumDyX[p] += dy[i] * normal[i];
          }
          trained.assertHolds(blended(expected, alpha, beta, old));
          double tolerance = wide ? 1e-10 : 1e-4;
          double[] inverse = new double[count];
          double[] runningMean = new double[count];
          double[] runningVariance = new double[count];
          for (int p = 0; p < count; p++) {
            inverse[p] = 1 / Math.sqrt(batchVariance[p] + epsilon);
            runningMean[p] = factor * batchMean[p] + (1 - factor) * mean[p];
            runningVariance[p] =
                factor * batchVariance[p] * samples / (samples - 1) + (1 - factor) * variance[p];
          }
          assertClose(dnn.download(savedMean, count, wide), batchMean, tolerance);
          assertClose(dnn.download(savedInverse, count, wide), inverse, tolerance);
          assertClose(dnn.download(dMean, count, wide), runningMean, tolerance);
          assertClose(dnn.download(dVariance, count, wide), runningVariance, tolerance);

          double parameterBeta = pick(random, 0, 1);
          double[] oldParameter = before(random, count, wide, parameterBeta);
          CUdeviceptr dGainGradient = dnn.upload(oldParameter, wide);
          CUdeviceptr dBiasGradient = dnn.upload(oldParameter, wide);
          Tensor gradient = dnn.tensor(random, wide, dy, dims);
          Tensor dx = dnn.tensor(random, wide, old, dims);
          boolean saved = random.nextBoolean();
          Pointer none = new CUdeviceptr();
          ok(
              JCudnn.cudnnBatchNormalizationBackward(
                  dnn.handle,
                  mode,
                  scalar(alpha, wide),
                  scalar(beta, wide),
                  scalar(2, wide),
                  scalar(parameterBeta, wide),
                  x.descriptor,
                  x.memory,
                  gradient.descriptor,
                  gradient.memory,
                  dx.descriptor,
                  dx.memory,
                  parameters,
                  dGain,
                  dGainGradient,
                  dBiasGradient,
                  epsilon,
                  saved ? savedMean : none,
                  saved ? savedInverse : none));
          double[] back = new double[expected.length];
          for (int i = 0; i < back.length; i++) {
            int p = spatial ? i / width % count : i % count;
            back[i] = gain[p] * inverse[p] * (dy[i] - (sumDy[p] + normal[i] * sumDyX[p]) / samples);
          }
          assertClose(dx.read(), blended(back, alpha, beta, old), wide ? 1e-9 : 1e-3);
          assertClose(
              dnn.download(dGainGradient, count, wide),
              blended(sumDyX, 2, parameterBeta, oldParameter),
              tolerance);
          assertClose(
              dnn.download(dBiasGradient, count, wide),
              blended(sumDy, 2, parameterBeta, oldParameter),
              tolerance);
        });
  }

  @Test
  void batchNormalizationRefusesParametersOfAnotherShape() {
    Tensor x = dnn.packed(false, new double[24], 2, 3, 2, 2);
    CUdeviceptr p = dnn.gpu.upload(new float[16]);
    cudnnTensorDescriptor perActivation = dnn.tensorDescriptor();
    ok(JCudnn.cudnnDeriveBNTensorDescriptor(perActivation, x.descriptor, 0));
    assertThat(
            JCudnn.cudnnBatchNormalizationForwardInference(
                dnn.handle,
                1,
                scalar(1, false),
                scalar(0, false),
                x.descriptor,
                x.memory,
                x.descriptor,
                x.memory,
                perActivation,
                p,
                p,
                p,
                p,
                1e-5))
        .isEqualTo(BAD_PARAM);
    cudnnTensorDescriptor spatial = dnn.tensorDescriptor();
    ok(JCudnn.cudnnDeriveBNTensorDescriptor(spatial, x.descriptor, 1));
    assertThat(
            JCudnn.cudnnBatchNormalizationForwardInference(
                dnn.handle,
                1,
                scalar(1, false),
                scalar(0, false),
                x.descriptor,
                x.memory,
                x.descriptor,
                x.memory,
                spatial,
                p,
                p,
                p,
                p,
                -1e-5))
        .isEqualTo(BAD_PARAM);
  }

  // ---- element by element

  @Test
  void addAndOpTensorBroadcast() {
    Seeds.forEach(
        80,
        (random, seed) -> {
          boolean wide = random.nextBoolean();
          int[] dims = new int[4 + random.nextInt(2)];
          int[] part = new int[dims.length];
          for (int d = 0; d < dims.length; d++) {
            dims[d] = 1 + random.nextInt(3);
            part[d] = random.nextBoolean() ? 1 : dims[d];
          }
          double alpha = pick(random, 1, 0.5);
          double beta = pick(random, 0, 1, -1);
          double[] old = before(random, product(dims), wide, beta);
          Tensor b = dnn.tensor(random, wide, part);
          double[] spread = new double[product(dims)];
          int[] at = new int[dims.length];
          for (int i = 0; i < spread.length; i++) {
            unravel(i, dims, at);
            int from = 0;
            for (int d = 0; d < dims.length; d++) {
              from = from * part[d] + (part[d] == 1 ? 0 : at[d]);
            }
            spread[i] = b.values[from];
          }
          Tensor c = dnn.tensor(random, wide, old, dims);
          ok(
              JCudnn.cudnnAddTensor(
                  dnn.handle,
                  scalar(alpha, wide),
                  b.descriptor,
                  b.memory,
                  scalar(beta, wide),
                  c.descriptor,
                  c.memory));
          c.assertHolds(blended(spread, alpha, beta, old));

          int op = random.nextInt(6);
          DoubleBinaryOperator[] functions = {
            Double::sum,
            (l, r) -> l * r,
            Math::min,
            Math::max,
            (l, r) -> Math.sqrt(l),
            (l, r) -> 1 - l
          };
          cudnnOpTensorDescriptor descriptor = new cudnnOpTensorDescriptor();
          ok(JCudnn.cudnnCreateOpTensorDescriptor(descriptor));
          ok(JCudnn.cudnnSetOpTensorDescriptor(descriptor, op, dataType(wide), 0));
          Tensor a = dnn.tensor(random, wide, dims);
          Tensor result = dnn.tensor(random, wide, old, dims);
          ok(
              JCudnn.cudnnOpTensor(
                  dnn.handle,
                  descriptor,
                  scalar(alpha, wide),
                  a.descriptor,
                  a.memory,
                  scalar(-2, wide),
                  b.descriptor,
                  b.memory,
                  scalar(beta, wide),
                  result.descriptor,
                  result.memory));
          double[] expected = new double[spread.length];
          for (int i = 0; i < expected.length; i++) {
            expected[i] = functions[op].applyAsDouble(alpha * a.values[i], -2 * spread[i]);
          }
          result.assertHolds(blended(expected, 1, beta, old));
          ok(JCudnn.cudnnDestroyOpTensorDescriptor(descriptor));
        });
    Tensor a = dnn.packed(false, new double[6], 1, 6, 1, 1);
    Tensor b = dnn.packed(false, new double[2], 1, 2, 1, 1);
    assertThat(
            JCudnn.cudnnAddTensor(
                dnn.handle,
                scalar(1, false),
                b.descriptor,
                b.memory,
                scalar(1, false),
                a.descriptor,
                a.memory))
        .isEqualTo(BAD_PARAM);
    assertThat(cudnnOpTensorOp.CUDNN_OP_TENSOR_NOT).isEqualTo(5);
  }

  @Test
  void transformSetAndScaleKeepToTheirElements() {
    Seeds.forEach(
        40,
        (random, seed) -> {
          boolean wide = random.nextBoolean();
          int[] dims = {1 + random.nextInt(2), 1 + random.nextInt(4), 1 + random.nextInt(4), 3};
          double alpha = pick(random, 1, 0.5);
          double beta = pick(random, 0, 1, -1);
          double[] old = before(random, product(dims), wide, beta);
          Tensor x = dnn.tensor(random, wide, dims);
          Tensor y = dnn.tensor(random, wide, old, dims);
          ok(
              JCudnn.cudnnTransformTensor(
                  dnn.handle,
                  scalar(alpha, wide),
                  x.descriptor,
                  x.memory,
                  scalar(beta, wide),
                  y.descriptor,
                  y.memory));
          y.assertHolds(blended(x.values, alpha, beta, old));
          ok(JCudnn.cudnnScaleTensor(dnn.handle, x.descriptor, x.memory, scalar(-3, wide)));
          x.assertHolds(blended(x.values, -3, 0, x.values));
          ok(JCudnn.cudnnSetTensor(dnn.handle, x.descriptor, x.memory, scalar(0.25, wide)));
          x.assertHolds(filled(x.values.length, 0.25));
        });
  }

  // ---- reductions

  @Test
  void reductionsFollowEveryArgument() {
    Seeds.forEach(
        120,
        (random, seed) -> {
          boolean wide = random.nextBoolean();
          int op = random.nextInt(9);
          int[] dims = new int[4];
          int[] kept = new int[4];
          for (int d = 0; d < 4; d++) {
            dims[d] = 1 + random.nextInt(4);
            kept[d] = random.nextBoolean() ? 1 : dims[d];
          }
          double[] source = values(random, product(dims), wide);
          if (op == cudnnReduceTensorOp.CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS) {
            source[random.nextInt(source.length)] = 0;
          }
          Tensor a = dnn.tensor(random, wide, source, dims);
          double alpha = pick(random, 1, 0.5);
          double beta = pick(random, 0, 1, -1);
          double[] old = before(random, product(kept), wide, beta);
          Tensor c = dnn.tensor(random, wide, old, kept);
          boolean indexed =
              (op == cudnnReduceTensorOp.CUDNN_REDUCE_TENSOR_MIN
                      || op == cudnnReduceTensorOp.CUDNN_REDUCE_TENSOR_MAX)
                  && random.nextBoolean();
          cudnnReduceTensorDescriptor descriptor = new cudnnReduceTensorDescriptor();
          ok(JCudnn.cudnnCreateReduceTensorDescriptor(descriptor));
          ok(
              JCudnn.cudnnSetReduceTensorDescriptor(
                  descriptor,
                  op,
                  dataType(wide),
                  0,
                  indexed
                      ? cudnnReduceTensorIndices.CUDNN_REDUCE_TENSOR_FLATTENED_INDICES
                      : cudnnReduceTensorIndices.CUDNN_REDUCE_TENSOR_NO_INDICES,
                  cudnnIndicesType.CUDNN_32BIT_INDICES));
          long[] indexBytes = new long[1];
          long[] workspaceBytes = new long[1];
          ok(
              JCudnn.cudnnGetReductionIndicesSize(
                  dnn.handle, descriptor, a.descriptor, c.descriptor, indexBytes));
          ok(
              JCudnn.cudnnGetReductionWorkspaceSize(
                  dnn.handle, descriptor, a.descriptor, c.descriptor, workspaceBytes));
          assertThat(indexBytes[0]).isEqualTo(indexed ? 4L * product(kept) : 0);
          CUdeviceptr indices = dnn.gpu.allocate(indexBytes[0]);
          CUdeviceptr workspace = dnn.gpu.allocate(workspaceBytes[0]);
          if (workspaceBytes[0] > 0) {
            assertThat(
                    JCudnn.cudnnReduceTensor(
                        dnn.handle,
                        descriptor,
                        indices,
                        indexBytes[0],
                        workspace,
                        workspaceBytes[0] - 1,
                        scalar(alpha, wide),
                        a.descriptor,
                        a.memory,
                        scalar(beta, wide),
                        c.descriptor,
                        c.memory))
                .isEqualTo(BAD_PARAM);
          }
          ok(
              JCudnn.cudnnReduceTensor(
                  dnn.handle,
                  descriptor,
                  indices,
                  indexBytes[0],
                  workspace,
                  workspaceBytes[0],
                  scalar(alpha, wide),
                  a.descriptor,
                  a.memory,
                  scalar(beta, wide),
                  c.descriptor,
                  c.memory));
          int count = product(dims) / product(kept);
          double[] expected = new double[product(kept)];
          int[] expectedIndices = new int[product(kept)];
          for (int k = 0; k < expected.length; k++) {
            double[] members = new double[count];
            int found = 0;
            int[] at = new int[4];
            for (int i = 0; i < source.length; i++) {
              unravel(i, dims, at);
              int to = 0;
              for (int d = 0; d < 4; d++) {
                to = to * kept[d] + (kept[d] == 1 ? 0 : at[d]);
              }
              if (to == k) {
                members[found++] = source[i];
              }
            }
            expected[k] = reduced(op, members);
            for (int i = 0; i < count; i++) {
              expectedIndices[k] = members[i] == expected[k] ? i : expectedIndices[k];
            }
          }
          c.assertHolds(blended(expected, alpha, beta, old));
          if (indexed) {
            assertThat(dnn.gpu.ints(indices, expected.length)).isEqualTo(expectedIndices);
          }
          ok(JCudnn.cudnnDestroyReduceTensorDescriptor(descriptor));
        });
  }

  @Test
  void minimaAndMaximaPropagateNanWhereAskedTo() {
    double none = Double.NaN;
    Tensor a = dnn.packed(false, new double[] {1, none, 3, none, 5, 4}, 1, 2, 3, 1);
    Tensor kept = dnn.packed(false, new double[2], 1, 2, 1, 1);
    Tensor b = dnn.packed(false, new double[] {2, 2, none, none, 9, 0}, 1, 2, 3, 1);
    Tensor c = dnn.packed(false, new double[6], 1, 2, 3, 1);
    CUdeviceptr workspace = dnn.gpu.allocate(4096);
    for (int nan : new int[] {0, 1}) {
      cudnnReduceTensorDescriptor reduce = new cudnnReduceTensorDescriptor();
      ok(JCudnn.cudnnCreateReduceTensorDescriptor(reduce));
      ok(
          JCudnn.cudnnSetReduceTensorDescriptor(
              reduce, cudnnReduceTensorOp.CUDNN_REDUCE_TENSOR_MAX, dataType(false), nan, 0, 0));
      ok(
          JCudnn.cudnnReduceTensor(
              dnn.handle,
              reduce,
              new CUdeviceptr(),
              0,
              workspace,
              4096,
              scalar(1, false),
              a.descriptor,
              a.memory,
              scalar(0, false),
              kept.descriptor,
              kept.memory));
      kept.assertHolds(nan == 1 ? filled(2, none) : new double[] {3, 5});
      ok(JCudnn.cudnnDestroyReduceTensorDescriptor(reduce));
      cudnnOpTensorDescriptor op = new cudnnOpTensorDescriptor();
      ok(JCudnn.cudnnCreateOpTensorDescriptor(op));
      ok(
          JCudnn.cudnnSetOpTensorDescriptor(
              op, cudnnOpTensorOp.CUDNN_OP_TENSOR_MIN, dataType(false), nan));
      ok(
          JCudnn.cudnnOpTensor(
              dnn.handle,
              op,
              scalar(1, false),
              a.descriptor,
              a.memory,
              scalar(1, false),
              b.descriptor,
              b.memory,
              scalar(0, false),
              c.descriptor,
              c.memory));
      c.assertHolds(
          nan == 1 ? new double[] {1, none, none, none, 5, 0} : new double[] {1, 2, 3, none, 5, 0});
      ok(JCudnn.cudnnDestroyOpTensorDescriptor(op));
    }
  }

  private static double reduced(int op, double[] members) {
    return switch (op) {
      case cudnnReduceTensorOp.CUDNN_REDUCE_TENSOR_ADD -> Arrays.stream(members).sum();
      case cudnnReduceTensorOp.CUDNN_REDUCE_TENSOR_MUL ->
          Arrays.stream(members).reduce(1, (a, b) -> a * b);
      case cudnnReduceTensorOp.CUDNN_REDUCE_TENSOR_MIN ->
          Arrays.stream(members).min().orElseThrow();
      case cudnnReduceTensorOp.CUDNN_REDUCE_TENSOR_MAX ->
          Arrays.stream(members).max().orElseThrow();
      case cudnnReduceTensorOp.CUDNN_REDUCE_TENSOR_AMAX ->
          Arrays.stream(members).map(Math::abs).max().orElseThrow();
      case cudnnReduceTensorOp.CUDNN_REDUCE_TENSOR_AVG ->
          Arrays.stream(members).average().orElseThrow();
      case cudnnReduceTensorOp.CUDNN_REDUCE_TENSOR_NORM1 ->
          Arrays.stream(members).map(Math::abs).sum();
      case cudnnReduceTensorOp.CUDNN_REDUCE_TENSOR_NORM2 ->
          Math.sqrt(Arrays.stream(members).map(v -> v * v).sum());
      default -> Arrays.stream(members).filter(v -> v != 0).reduce(1, (a, b) -> a * b);
    };
  }

  // ---- dropout

  @Test
  void dropoutDrawsAnewAtEachReplayAndGoesBackByTheSameMask() {
    long[] statesBytes = new long[1];
    ok(JCudnn.cudnnDropoutGetStatesSize(dnn.handle, statesBytes));
    CUdeviceptr states = dnn.gpu.allocate(statesBytes[0]);
    cudnnDropoutDescriptor dropout = new cudnnDropoutDescriptor();
    ok(JCudnn.cudnnCreateDropoutDescriptor(dropout));
    assertThat(
            JCudnn.cudnnSetDropoutDescriptor(
                dropout, dnn.handle, 0.5f, states, statesBytes[0] - 1, 7))
        .isEqualTo(BAD_PARAM);
    ok(JCudnn.cudnnSetDropoutDescriptor(dropout, dnn.handle, 0.25f, states, statesBytes[0], 7));
    Tensor x = dnn.packed(false, filled(4000, 3), 4, 10, 10, 10);
    Tensor y = dnn.packed(false, new double[4000], 4, 10, 10, 10);
    Tensor dx = dnn.packed(false, new double[4000], 4, 10, 10, 10);
    long[] reserveBytes = new long[1];
    ok(JCudnn.cudnnDropoutGetReserveSpaceSize(x.descriptor, reserveBytes));
    CUdeviceptr reserve = dnn.gpu.allocate(reserveBytes[0]);
    CUgraphExec exec =
        dnn.gpu.capture(
            2,
            () -> {
              ok(
                  JCudnn.cudnnDropoutForward(
                      dnn.handle,
                      dropout,
                      x.descriptor,
                      x.memory,
                      y.descriptor,
                      y.memory,
                      reserve,
                      reserveBytes[0]));
              ok(
                  JCudnn.cudnnDropoutBackward(
                      dnn.handle,
                      dropout,
                      x.descriptor,
                      x.memory,
                      dx.descriptor,
                      dx.memory,
                      reserve,
                      reserveBytes[0]));
            });
    dnn.gpu.launch(exec);
    double[] first = y.read();
    dx.assertHolds(first);
    long kept = Arrays.stream(first).filter(value -> value != 0).count();
    assertThat(kept).isBetween(2900L, 3100L); // 3000 expected, standard deviation 27
    assertThat(Arrays.stream(first).distinct().toArray()).containsExactlyInAnyOrder(0, 4);
    dnn.gpu.launch(exec);
    dx.assertHolds(y.read());
    assertThat(y.read()).isNotEqualTo(first);
    dnn.gpu.destroy(exec);
    ok(JCudnn.cudnnDestroyDropoutDescriptor(dropout));
  }

  // ---- descriptors, handles, faults

  @Test
  void descriptorsGiveBackWhatTheyWereSetTo() {
    cudnnTensorDescriptor tensor = dnn.tensorDescriptor();
    ok(JCudnn.cudnnSetTensor4dDescriptor(tensor, 1, 0, 2, 3, 4, 5)); // channels last
    int[] type = new int[1];
    int[] nd = new int[1];
    int[] dims = new int[4];
    int[] strides = new int[4];
    ok(JCudnn.cudnnGetTensorNdDescriptor(tensor, 4, type, nd, dims, strides));
    assertThat(nd[0]).isEqualTo(4);
    assertThat(dims).containsExactly(2, 3, 4, 5);
    assertThat(strides).containsExactly(60, 1, 15, 3);
    long[] bytes = new long[1];
    ok(JCudnn.cudnnGetTensorSizeInBytes(tensor, bytes));
    assertThat(bytes[0]).isEqualTo(480);
    ok(JCudnn.cudnnSetTensor4dDescriptorEx(tensor, 1, 1, 2, 1, 3, 99, 10, 5, 2));
    ok(JCudnn.cudnnGetTensorSizeInBytes(tensor, bytes));
    assertThat(bytes[0]).isEqualTo(8 * (10 + 4 + 1));
    for (int[] bad : new int[][] {{0, 1, 1, 1}, {1, -1, 1, 1}}) {
      assertThat(JCudnn.cudnnSetTensor4dDescriptor(tensor, 0, 0, bad[0], bad[1], bad[2], bad[3]))
          .isEqualTo(BAD_PARAM);
    }
    assertThat(JCudnn.cudnnSetTensor4dDescriptor(tensor, 0, 99, 1, 1, 1, 1)).isEqualTo(BAD_PARAM);
    assertThat(JCudnn.cudnnSetTensor4dDescriptor(tensor, 3, 0, 1, 1, 1, 1)).isEqualTo(BAD_PARAM);
    assertThat(JCudnn.cudnnSetTensor4dDescriptorEx(tensor, 0, 1, 1, 1, 1, -1, 1, 1, 1))
        .isEqualTo(BAD_PARAM);
    assertThat(JCudnn.cudnnSetTensorNdDescriptor(tensor, 0, 3, new int[3], new int[3]))
        .as("fewer than four dimensions")
        .isEqualTo(NOT_SUPPORTED);
    assertThat(JCudnn.cudnnSetTensor4dDescriptor(tensor, 0, 0, 1 << 10, 1 << 10, 1 << 10, 1 << 2))
        .as("more than 2^31 elements")
        .isEqualTo(NOT_SUPPORTED);
    double[] coefficient = new double[1];
    ok(JCudnn.cudnnGetActivationDescriptor(dnn.activation(4, 1, 1.5), type, nd, coefficient));
    assertThat(new double[] {type[0], nd[0], coefficient[0]}).containsExactly(4, 1, 1.5);
  }

  @Test
  void eachCallCanBeMadeToFailAndDescriptorsLeftOpenAreCounted() {
    Tensor x = dnn.packed(false, filled(4, -1), 1, 4, 1, 1);
    cudnnActivationDescriptor relu = dnn.activation(1, 0, 0);
    long open = Emulator.open().getOrDefault("cudnnTensorDescriptor", 0L);
    assertThat(open).isEqualTo(1);
    cudnnTensorDescriptor other = new cudnnTensorDescriptor();
    ok(JCudnn.cudnnCreateTensorDescriptor(other));
    assertThat(Emulator.open()).containsEntry("cudnnTensorDescriptor", 2L);
    ok(JCudnn.cudnnDestroyTensorDescriptor(other));
    assertThat(JCudnn.cudnnSetTensor4dDescriptor(other, 0, 0, 1, 1, 1, 1))
        .as("a destroyed descriptor")
        .isEqualTo(BAD_PARAM);
    Emulator.fail("cudnnActivationForward", 1, CudnnFixture.EXECUTION_FAILED);
    assertThat(
            JCudnn.cudnnActivationForward(
                dnn.handle,
                relu,
                scalar(1, false),
                x.descriptor,
                x.memory,
                scalar(0, false),
                x.descriptor,
                x.memory))
        .isEqualTo(CudnnFixture.EXECUTION_FAILED);
    x.assertHolds(filled(4, -1));
    dnn.gpu.free(x.memory);
    ok(
        JCudnn.cudnnActivationForward(
            dnn.handle,
            relu,
            scalar(1, false),
            x.descriptor,
            x.memory,
            scalar(0, false),
            x.descriptor,
            x.memory));
    dnn.gpu.assertIllegalAccess();
  }

  @Test
  void whatIsNotEmulatedIsNotSupported() {
    long[] bytes = {0};
    assertThat(
            JCudnn.cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
                dnn.handle,
                1,
                0,
                dnn.activation(1, 0, 0),
                dnn.packed(false, new double[1], 1, 1, 1, 1).descriptor,
                bytes))
        .isEqualTo(NOT_SUPPORTED);
    assertThat(Emulator.unknownCalls())
        .containsExactly("cudnnGetBatchNormalizationTrainingExReserveSpaceSize");
    assertThat(JCudnn.cudnnGetVersion()).isBetween(90000L, 99999L);
  }
}
