package dev.nimble.cuda.emulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import jcuda.Pointer;
import jcuda.driver.CUdeviceptr;
import jcuda.jcudnn.JCudnn;
import jcuda.jcudnn.cudnnActivationDescriptor;
import jcuda.jcudnn.cudnnConvolutionDescriptor;
import jcuda.jcudnn.cudnnDataType;
import jcuda.jcudnn.cudnnFilterDescriptor;
import jcuda.jcudnn.cudnnHandle;
import jcuda.jcudnn.cudnnPoolingDescriptor;
import jcuda.jcudnn.cudnnTensorDescriptor;
import jcuda.jcudnn.cudnnTensorFormat;

/** A cuDNN handle on an emulated GPU, and tensors on it with layouts of many kinds. */
final class CudnnFixture implements AutoCloseable {
  /** Status codes of cuDNN 9, which the classes of jcudnn 11.7.0 do not have. */
  static final int NOT_INITIALIZED = 1001;

  static final int BAD_PARAM = 2000;
  static final int NOT_SUPPORTED = 3000;
  static final int EXECUTION_FAILED = 5000;

  final EmulatedGpu gpu = new EmulatedGpu();
  final cudnnHandle handle = new cudnnHandle();
  private final List<Runnable> descriptors = new ArrayList<>();

  CudnnFixture() {
    ok(JCudnn.cudnnCreate(handle));
    ok(JCudnn.cudnnSetStream(handle, gpu.runtimeStream()));
  }

  static void ok(int status) {
    assertThat(status).as("cudnnStatus_t (%s)", JCudnn.cudnnGetErrorString(status)).isZero();
  }

  @Override
  public void close() {
    descriptors.forEach(Runnable::run);
    ok(JCudnn.cudnnDestroy(handle));
    gpu.close();
  }

  // ---- descriptors

  cudnnTensorDescriptor tensorDescriptor() {
    cudnnTensorDescriptor descriptor = new cudnnTensorDescriptor();
    ok(JCudnn.cudnnCreateTensorDescriptor(descriptor));
    descriptors.add(() -> ok(JCudnn.cudnnDestroyTensorDescriptor(descriptor)));
    return descriptor;
  }

  cudnnFilterDescriptor filterDescriptor() {
    cudnnFilterDescriptor descriptor = new cudnnFilterDescriptor();
    ok(JCudnn.cudnnCreateFilterDescriptor(descriptor));
    descriptors.add(() -> ok(JCudnn.cudnnDestroyFilterDescriptor(descriptor)));
    return descriptor;
  }

  cudnnConvolutionDescriptor convolutionDescriptor() {
    cudnnConvolutionDescriptor descriptor = new cudnnConvolutionDescriptor();
    ok(JCudnn.cudnnCreateConvolutionDescriptor(descriptor));
    descriptors.add(() -> ok(JCudnn.cudnnDestroyConvolutionDescriptor(descriptor)));
    return descriptor;
  }

  cudnnPoolingDescriptor poolingDescriptor() {
    cudnnPoolingDescriptor descriptor = new cudnnPoolingDescriptor();
    ok(JCudnn.cudnnCreatePoolingDescriptor(descriptor));
    descriptors.add(() -> ok(JCudnn.cudnnDestroyPoolingDescriptor(descriptor)));
    return descriptor;
  }

  cudnnActivationDescriptor activation(int mode, int nan, double coefficient) {
    cudnnActivationDescriptor descriptor = new cudnnActivationDescriptor();
    ok(JCudnn.cudnnCreateActivationDescriptor(descriptor));
    descriptors.add(() -> ok(JCudnn.cudnnDestroyActivationDescriptor(descriptor)));
    ok(JCudnn.cudnnSetActivationDescriptor(descriptor, mode, nan, coefficient));
    return descriptor;
  }

  // ---- tensors

  /** A tensor on the device, of single or double precision, with any strides. */
  final class Tensor {
    final int[] dims;
    final int[] strides;
    final boolean wide;
    final double[] values; // packed, last dimension fastest
    final cudnnTensorDescriptor descriptor = tensorDescriptor();
    final CUdeviceptr memory;

    Tensor(int[] dims, int[] strides, boolean wide, double[] values) {
      this.dims = dims.clone();
      this.strides = strides.clone();
      this.wide = wide;
      this.values = values.clone();
      ok(
          JCudnn.cudnnSetTensorNdDescriptor(
              descriptor, dataType(wide), dims.length, this.dims, this.strides));
      double[] spread = new double[extent()];
      Arrays.fill(spread, GAP);
      for (int i = 0; i < values.length; i++) {
        spread[offset(i)] = values[i];
      }
      memory = upload(spread, wide);
    }

    private int extent() {
      int last = 0;
      for (int d = 0; d < dims.length; d++) {
        last += (dims[d] - 1) * strides[d];
      }
      return last + 1;
    }

    /** Where the element of packed index {@code i} is. */
    int offset(int i) {
      int at = 0;
      for (int d = dims.length - 1; d >= 0; d--) {
        at += i % dims[d] * strides[d];
        i /= dims[d];
      }
      return at;
    }

    /** What is on the device now, packed; what lies between the elements must be untouched. */
    double[] read() {
      double[] spread = download(memory, extent(), wide);
      double[] packed = new double[values.length];
      boolean[] element = new boolean[spread.length];
      for (int i = 0; i < packed.length; i++) {
        packed[i] = spread[offset(i)];
        element[offset(i)] = true;
      }
      for (int i = 0; i < spread.length; i++) {
        if (!element[i]) {
          assertThat(spread[i]).as("gap at %d", i).isEqualTo(GAP);
        }
      }
      return packed;
    }

    void assertHolds(double[] expected) {
      assertClose(read(), expected, wide ? 1e-11 : 1e-4);
    }
  }

  private static final double GAP = -77;

  /** Values in [-1, 1), in a layout drawn at random: packed, channels last, or with gaps. */
  Tensor tensor(Random random, boolean wide, int... dims) {
    return tensor(random, wide, values(random, product(dims), wide), dims);
  }

  /** The same with the given values. */
  Tensor tensor(Random random, boolean wide, double[] values, int... dims) {
    int[] order = new int[dims.length];
    for (int d = 0; d < order.length; d++) {
      order[d] = dims.length - 1 - d;
    }
    int kind = random.nextInt(3);
    if (kind == 1) { // channels last: the channels vary fastest
      order[0] = 1;
      for (int d = 1; d < order.length - 1; d++) {
        order[d] = dims.length - d;
      }
    }
    int[] strides = new int[dims.length];
    int stride = 1;
    for (int d : order) {
      strides[d] = stride;
      stride *= dims[d];
      if (kind == 2) {
        stride += random.nextInt(3);
      }
    }
    return new Tensor(dims, strides, wide, values);
  }

  /** A packed tensor. */
  Tensor packed(boolean wide, double[] values, int... dims) {
    int[] strides = new int[dims.length];
    int stride = 1;
    for (int d = dims.length - 1; d >= 0; d--) {
      strides[d] = stride;
      stride *= dims[d];
    }
    return new Tensor(dims, strides, wide, values);
  }

  /** A packed filter: k, c, spatial. */
  cudnnFilterDescriptor filter(boolean wide, int... dims) {
    cudnnFilterDescriptor descriptor = filterDescriptor();
    ok(
        JCudnn.cudnnSetFilterNdDescriptor(
            descriptor, dataType(wide), cudnnTensorFormat.CUDNN_TENSOR_NCHW, dims.length, dims));
    return descriptor;
  }

  CUdeviceptr upload(double[] values, boolean wide) {
    return wide ? gpu.upload(values) : gpu.upload(narrowed(values));
  }

  double[] download(CUdeviceptr pointer, int count, boolean wide) {
    if (wide) {
      return gpu.doubles(pointer, count);
    }
    float[] values = gpu.floats(pointer, count);
    double[] widened = new double[count];
    for (int i = 0; i < count; i++) {
      widened[i] = values[i];
    }
    return widened;
  }

  // ---- values

  static int dataType(boolean wide) {
    return wide ? cudnnDataType.CUDNN_DATA_DOUBLE : cudnnDataType.CUDNN_DATA_FLOAT;
  }

  /** A scaling factor of the type that goes with the tensors' type. */
  static Pointer scalar(double value, boolean wide) {
    return wide ? Pointer.to(new double[] {value}) : Pointer.to(new float[] {(float) value});
  }

  static int product(int... dims) {
    int product = 1;
    for (int dim : dims) {
      product *= dim;
    }
    return product;
  }

  static double[] values(Random random, int count, boolean wide) {
    double[] values = new double[count];
    for (int i = 0; i < count; i++) {
      double value = random.nextDouble() * 2 - 1;
      values[i] = wide ? value : (float) value;
    }
    return values;
  }

  static double[] filled(int count, double value) {
    double[] values = new double[count];
    Arrays.fill(values, value);
    return values;
  }

  static float[] narrowed(double[] values) {
    float[] narrowed = new float[values.length];
    for (int i = 0; i < values.length; i++) {
      narrowed[i] = (float) values[i];
    }
    return narrowed;
  }

  static double pick(Random random, double... choices) {
    return choices[random.nextInt(choices.length)];
  }

  /** alpha * result + beta * old, where a beta of 0 does not read the old value. */
  static double[] blended(double[] result, double alpha, double beta, double[] old) {
    double[] blended = new double[result.length];
    for (int i = 0; i < blended.length; i++) {
      blended[i] = alpha * result[i] + (beta == 0 ? 0 : beta * old[i]);
    }
    return blended;
  }

  /** What was in a result before: NaN where it must not be read. */
  static double[] before(Random random, int count, boolean wide, double beta) {
    return beta == 0 ? filled(count, Double.NaN) : values(random, count, wide);
  }

  static void assertClose(double[] actual, double[] expected, double tolerance) {
    assertThat(actual).hasSameSizeAs(expected);
    for (int i = 0; i < actual.length; i++) {
      if (Double.isNaN(expected[i])) {
        assertThat(actual[i]).as("element %d", i).isNaN();
      } else {
        assertThat(actual[i])
            .as("element %d", i)
            .isCloseTo(expected[i], within(tolerance * Math.max(1, Math.abs(expected[i]))));
      }
    }
  }
}
