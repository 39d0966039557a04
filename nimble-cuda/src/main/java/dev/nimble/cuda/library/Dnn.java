package dev.nimble.cuda.library;

import dev.nimble.cuda.driver.CudaContext;
import dev.nimble.cuda.driver.DeviceAddress;
import dev.nimble.error.DeviceException;
import dev.nimble.error.LibraryError;
import dev.nimble.graph.DataType;
import jcuda.Pointer;
import jcuda.jcudnn.JCudnn;
import jcuda.jcudnn.cudnnBatchNormMode;
import jcuda.jcudnn.cudnnDataType;
import jcuda.jcudnn.cudnnNanPropagation;
import jcuda.jcudnn.cudnnPoolingDescriptor;
import jcuda.jcudnn.cudnnPoolingMode;
import jcuda.jcudnn.cudnnSoftmaxAlgorithm;
import jcuda.jcudnn.cudnnSoftmaxMode;
import jcuda.jcudnn.cudnnTensorDescriptor;
import jcuda.jcudnn.cudnnTensorFormat;

/**
 * Calls of cuDNN other than convolution, each with its descriptors. Descriptors belong to the
 * context's count of open handles and are freed by close.
 */
public final class Dnn {
  static final Pointer ONE_F32 = Pointer.to(new float[] {1});
  static final Pointer ZERO_F32 = Pointer.to(new float[] {0});
  private static final Pointer ONE_F64 = Pointer.to(new double[] {1});
  private static final Pointer ZERO_F64 = Pointer.to(new double[] {0});

  private Dnn() {}

  /** A call that may be enqueued again and again, and owns its descriptors. */
  public interface Call extends AutoCloseable {
    /** Enqueues the call. */
    void enqueue(LibraryStream on);

    @Override
    void close();
  }

  static void check(String call, int code) {
    if (code != 0) {
      throw new DeviceException(
          new LibraryError("cuDNN", call, code, JCudnn.cudnnGetErrorString(code)), "");
    }
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

  /** A dense tensor of these extents; 4 or 5 of them. */
  static cudnnTensorDescriptor tensor(CudaContext context, DataType type, int... extents) {
    cudnnTensorDescriptor descriptor = new cudnnTensorDescriptor();
    check("cudnnCreateTensorDescriptor", JCudnn.cudnnCreateTensorDescriptor(descriptor));
    context.opened();
    int[] strides = new int[extents.length];
    int stride = 1;
    for (int axis = extents.length - 1; axis >= 0; axis--) {
      strides[axis] = stride;
      stride *= extents[axis];
    }
    int code =
        extents.length == 4
            ? JCudnn.cudnnSetTensor4dDescriptor(
                descriptor,
                cudnnTensorFormat.CUDNN_TENSOR_NCHW,
                dataType(type),
                extents[0],
                extents[1],
                extents[2],
                extents[3])
            : JCudnn.cudnnSetTensorNdDescriptor(
                descriptor, dataType(type), extents.length, extents, strides);
    if (code != 0) {
      destroy(context, descriptor);
      check("cudnnSetTensorNdDescriptor", code);
    }
    return descriptor;
  }

  static void destroy(CudaContext context, cudnnTensorDescriptor descriptor) {
    JCudnn.cudnnDestroyTensorDescriptor(descriptor);
    context.released();
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
    cudnnTensorDescriptor tensor = tensor(context, type, outer, extent, inner, 1);
    return new Call() {
      @Override
      public void enqueue(LibraryStream on) {
        check(
            "cudnnSoftmaxForward",
            JCudnn.cudnnSoftmaxForward(
                on.dnn(),
                log
                    ? cudnnSoftmaxAlgorithm.CUDNN_SOFTMAX_LOG
                    : cudnnSoftmaxAlgorithm.CUDNN_SOFTMAX_ACCURATE,
                cudnnSoftmaxMode.CUDNN_SOFTMAX_MODE_CHANNEL,
                one(type),
                tensor,
                in,
                zero(type),
                tensor,
                out));
      }

      @Override
      public void close() {
        destroy(context, tensor);
      }
    };
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
    cudnnTensorDescriptor tensor = tensor(context, type, images, channels, area, 1);
    cudnnTensorDescriptor parameters;
    try {
      parameters = tensor(context, type, 1, channels, 1, 1);
    } catch (DeviceException e) {
      destroy(context, tensor);
      throw e;
    }
    return new Call() {
      @Override
      public void enqueue(LibraryStream on) {
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
      }

      @Override
      public void close() {
        destroy(context, tensor);
        destroy(context, parameters);
      }
    };
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
      cudnnTensorDescriptor source = tensor(context, type, in);
      cudnnTensorDescriptor result;
      try {
        result = tensor(context, type, out);
      } catch (DeviceException e) {
        destroy(context, source);
        throw e;
      }
      cudnnPoolingDescriptor pooling = new cudnnPoolingDescriptor();
      int made = JCudnn.cudnnCreatePoolingDescriptor(pooling);
      int set =
          made != 0
              ? made
              : JCudnn.cudnnSetPoolingNdDescriptor(
                  pooling,
                  mode(),
                  cudnnNanPropagation.CUDNN_PROPAGATE_NAN,
                  kernel.length,
                  kernel,
                  pads,
                  strides);
      if (set != 0) {
        destroy(context, source);
        destroy(context, result);
        if (made == 0) {
          JCudnn.cudnnDestroyPoolingDescriptor(pooling);
        }
        check(made != 0 ? "cudnnCreatePoolingDescriptor" : "cudnnSetPoolingNdDescriptor", set);
      }
      context.opened();
      return new Call() {
        @Override
        public void enqueue(LibraryStream on) {
          check(
              "cudnnPoolingForward",
              JCudnn.cudnnPoolingForward(
                  on.dnn(), pooling, one(type), source, x, zero(type), result, y));
        }

        @Override
        public void close() {
          destroy(context, source);
          destroy(context, result);
          JCudnn.cudnnDestroyPoolingDescriptor(pooling);
          context.released();
        }
      };
    }
  }
}
