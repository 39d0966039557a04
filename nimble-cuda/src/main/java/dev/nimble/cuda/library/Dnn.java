package dev.nimble.cuda.library;

import dev.nimble.cuda.driver.CudaContext;
import dev.nimble.cuda.driver.CudaDriver;
import dev.nimble.cuda.driver.DeviceAddress;
import dev.nimble.cuda.driver.Resources;
import dev.nimble.error.DeviceException;
import dev.nimble.error.LibraryError;
import dev.nimble.graph.DataType;
import java.util.function.Function;
import jcuda.Pointer;
import jcuda.jcudnn.JCudnn;
import jcuda.jcudnn.cudnnBatchNormMode;
import jcuda.jcudnn.cudnnDataType;
import jcuda.jcudnn.cudnnPoolingDescriptor;
import jcuda.jcudnn.cudnnPoolingMode;
import jcuda.jcudnn.cudnnSoftmaxAlgorithm;
import jcuda.jcudnn.cudnnSoftmaxMode;
import jcuda.jcudnn.cudnnTensorDescriptor;

/**
 * Calls of cuDNN other than convolution, each with its descriptors. Descriptors belong to the
 * context's count of open handles and are freed by close.
 */
public final class Dnn {
  private static final Pointer ONE_F32 = Pointer.to(new float[] {1});
  private static final Pointer ZERO_F32 = Pointer.to(new float[] {0});
  private static final Pointer ONE_F64 = Pointer.to(new double[] {1});
  private static final Pointer ZERO_F64 = Pointer.to(new double[] {0});

  // CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED of cuDNN 9, which JCudnn does not name.
  private static final int NO_DEVICE_MEMORY = 4004;

  private Dnn() {}

  /** A call that may be enqueued again and again, and owns its descriptors. */
  public static final class Call implements AutoCloseable {
    private final Descriptors descriptors;
    private final Body body;

    private Call(Descriptors descriptors, Body body) {
      this.descriptors = descriptors;
      this.body = body;
    }

    /** Enqueues the call. */
    public void enqueue(LibraryStream on) {
      body.enqueue(on);
    }

    /** Destroys the descriptors. Idempotent. */
    @Override
    public void close() {
      descriptors.close();
    }
  }

  /** What a call does; allocates nothing. */
  interface Body {
    void enqueue(LibraryStream on);
  }

  /** A call by what {@code describe} makes of new descriptors. */
  static Call call(CudaContext context, Function<Descriptors, Body> describe) {
    Descriptors descriptors = new Descriptors(context);
    try {
      return new Call(descriptors, describe.apply(descriptors));
    } catch (Throwable failure) {
      Resources.of(descriptors).closeAfter(failure);
      throw failure;
    }
  }

  static void check(String call, int code) {
    if (code != 0) {
      throw new DeviceException(
          new LibraryError("cuDNN", call, code, JCudnn.cudnnGetErrorString(code)),
          code == NO_DEVICE_MEMORY ? CudaDriver.TOO_LITTLE_MEMORY : "");
    }
  }

  /** Counts a handle or descriptor as closed; its status matters while the context is sound. */
  static void checkClosed(CudaContext context, String call, int code) {
    context.closed(() -> check(call, code));
  }

  /** The library's version: 1000 or 10,000 times the major, by its age. */
  public static long version() {
    return JCudnn.cudnnGetVersion();
  }

  static int dataType(DataType type) {
    return type == DataType.F64 ? cudnnDataType.CUDNN_DATA_DOUBLE : cudnnDataType.CUDNN_DATA_FLOAT;
  }

  static Pointer one(DataType type) {
    return type == DataType.F64 ? ONE_F64 : ONE_F32;
  }

  static Pointer zero(DataType type) {
    return type == DataType.F64 ? ZERO_F64 : ZERO_F32;
  }

  /** Softmax, or its logarithm, along the middle axis of [outer, extent, inner]. */
  public static Call softmax(
      CudaContext context,
      DataType type,
      int outer,
      int extent,
      int inner,
      boolean log,
      DeviceAddress in,
      DeviceAddress out) {
    int algorithm =
        log
            ? cudnnSoftmaxAlgorithm.CUDNN_SOFTMAX_LOG
            : cudnnSoftmaxAlgorithm.CUDNN_SOFTMAX_ACCURATE;
    return call(
        context,
        descriptors -> {
          cudnnTensorDescriptor tensor = descriptors.tensor(type, outer, extent, inner, 1);
          return on ->
              check(
                  "cudnnSoftmaxForward",
                  JCudnn.cudnnSoftmaxForward(
                      on.dnn(),
                      algorithm,
                      cudnnSoftmaxMode.CUDNN_SOFTMAX_MODE_CHANNEL,
                      one(type),
                      tensor,
                      in,
                      zero(type),
                      tensor,
                      out));
        });
  }

  /**
   * Batch normalisation with fixed statistics.
   *
   * @param operands x, scale, bias, mean, variance
   */
  public static Call batchNormalization(
      CudaContext context,
      DataType type,
      int images,
      int channels,
      int area,
      double epsilon,
      DeviceAddress[] operands,
      DeviceAddress out) {
    return call(
        context,
        descriptors -> {
          cudnnTensorDescriptor tensor = descriptors.tensor(type, images, channels, area, 1);
          cudnnTensorDescriptor parameters = descriptors.tensor(type, 1, channels, 1, 1);
          return on ->
              check(
                  "cudnnBatchNormalizationForwardInference",
                  JCudnn.cudnnBatchNormalizationForwardInference(
                      on.dnn(),
                      cudnnBatchNormMode.CUDNN_BATCHNORM_SPATIAL,
                      one(type),
                      zero(type),
                      tensor,
                      operands[0],
                      tensor,
                      out,
                      parameters,
                      operands[1],
                      operands[2],
                      operands[3],
                      operands[4],
                      epsilon));
        });
  }

  /**
   * A pool over two or three spatial axes.
   *
   * @param in extents of the operand, [N, C, spatial...]
   * @param kernel the window
   * @param pads padding at both ends of each spatial axis
   * @param strides steps between windows
   * @param out extents of the result
   */
  public record Pooling(
      DataType type,
      boolean max,
      boolean includePad,
      int[] in,
      int[] kernel,
      int[] pads,
      int[] strides,
      int[] out) {
    private int mode() {
      return max
          ? cudnnPoolingMode.CUDNN_POOLING_MAX
          : includePad
              ? cudnnPoolingMode.CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING
              : cudnnPoolingMode.CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING;
    }

    /** The pool of these operands. */
    public Call bind(CudaContext context, DeviceAddress x, DeviceAddress y) {
      return call(
          context,
          descriptors -> {
            cudnnTensorDescriptor source = descriptors.tensor(type, in);
            cudnnTensorDescriptor result = descriptors.tensor(type, out);
            cudnnPoolingDescriptor pooling = descriptors.pooling(mode(), kernel, pads, strides);
            return on ->
                check(
                    "cudnnPoolingForward",
                    JCudnn.cudnnPoolingForward(
                        on.dnn(), pooling, one(type), source, x, zero(type), result, y));
          });
    }
  }
}
