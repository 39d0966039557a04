package dev.nimble.cuda.library;

import dev.nimble.cuda.driver.CudaContext;
import dev.nimble.cuda.driver.Resources;
import dev.nimble.graph.DataType;
import java.util.function.IntSupplier;
import jcuda.jcudnn.JCudnn;
import jcuda.jcudnn.cudnnActivationDescriptor;
import jcuda.jcudnn.cudnnConvolutionDescriptor;
import jcuda.jcudnn.cudnnConvolutionMode;
import jcuda.jcudnn.cudnnFilterDescriptor;
import jcuda.jcudnn.cudnnMathType;
import jcuda.jcudnn.cudnnNanPropagation;
import jcuda.jcudnn.cudnnPoolingDescriptor;
import jcuda.jcudnn.cudnnTensorDescriptor;
import jcuda.jcudnn.cudnnTensorFormat;

/** Owner of cuDNN's descriptions of operands and operations. */
final class Descriptors implements AutoCloseable {
  private final CudaContext context;
  private final Resources owned = new Resources();

  Descriptors(CudaContext context) {
    this.context = context;
  }

  private void own(String destroyer, IntSupplier destroy) {
    context.opened();
    owned.own(() -> Dnn.checkClosed(context, destroyer, destroy.getAsInt()));
  }

  /** A dense tensor of these extents; 4 or 5 of them. */
  cudnnTensorDescriptor tensor(DataType type, int... extents) {
    cudnnTensorDescriptor made = new cudnnTensorDescriptor();
    Dnn.check("cudnnCreateTensorDescriptor", JCudnn.cudnnCreateTensorDescriptor(made));
    own("cudnnDestroyTensorDescriptor", () -> JCudnn.cudnnDestroyTensorDescriptor(made));
    if (extents.length == 4) {
      Dnn.check(
          "cudnnSetTensor4dDescriptor",
          JCudnn.cudnnSetTensor4dDescriptor(
              made,
              cudnnTensorFormat.CUDNN_TENSOR_NCHW,
              Dnn.dataType(type),
              extents[0],
              extents[1],
              extents[2],
              extents[3]));
      return made;
    }
    int[] strides = new int[extents.length];
    int stride = 1;
    for (int axis = extents.length - 1; axis >= 0; axis--) {
      strides[axis] = stride;
      stride *= extents[axis];
    }
    Dnn.check(
        "cudnnSetTensorNdDescriptor",
        JCudnn.cudnnSetTensorNdDescriptor(
            made, Dnn.dataType(type), extents.length, extents, strides));
    return made;
  }

  /** A dense filter of these extents; 4 or 5 of them. */
  cudnnFilterDescriptor filter(DataType type, int... extents) {
    cudnnFilterDescriptor made = new cudnnFilterDescriptor();
    Dnn.check("cudnnCreateFilterDescriptor", JCudnn.cudnnCreateFilterDescriptor(made));
    own("cudnnDestroyFilterDescriptor", () -> JCudnn.cudnnDestroyFilterDescriptor(made));
    Dnn.check(
        "cudnnSetFilterNdDescriptor",
        JCudnn.cudnnSetFilterNdDescriptor(
            made,
            Dnn.dataType(type),
            cudnnTensorFormat.CUDNN_TENSOR_NCHW,
            extents.length,
            extents));
    return made;
  }

  cudnnConvolutionDescriptor convolution(DnnConvolution of) {
    cudnnConvolutionDescriptor made = new cudnnConvolutionDescriptor();
    Dnn.check("cudnnCreateConvolutionDescriptor", JCudnn.cudnnCreateConvolutionDescriptor(made));
    own("cudnnDestroyConvolutionDescriptor", () -> JCudnn.cudnnDestroyConvolutionDescriptor(made));
    Dnn.check(
        "cudnnSetConvolutionNdDescriptor",
        JCudnn.cudnnSetConvolutionNdDescriptor(
            made,
            of.pads().length,
            of.pads(),
            of.strides(),
            of.dilations(),
            cudnnConvolutionMode.CUDNN_CROSS_CORRELATION,
            Dnn.dataType(of.type())));
    Dnn.check(
        "cudnnSetConvolutionGroupCount", JCudnn.cudnnSetConvolutionGroupCount(made, of.groups()));
    Dnn.check(
        "cudnnSetConvolutionMathType",
        JCudnn.cudnnSetConvolutionMathType(
            made,
            of.tensorFloat() ? cudnnMathType.CUDNN_DEFAULT_MATH : cudnnMathType.CUDNN_FMA_MATH));
    return made;
  }

  /** A pool of {@code mode} over as many axes as {@code kernel} has. */
  cudnnPoolingDescriptor pooling(int mode, int[] kernel, int[] pads, int[] strides) {
    cudnnPoolingDescriptor made = new cudnnPoolingDescriptor();
    Dnn.check("cudnnCreatePoolingDescriptor", JCudnn.cudnnCreatePoolingDescriptor(made));
    own("cudnnDestroyPoolingDescriptor", () -> JCudnn.cudnnDestroyPoolingDescriptor(made));
    Dnn.check(
        "cudnnSetPoolingNdDescriptor",
        JCudnn.cudnnSetPoolingNdDescriptor(
            made,
            mode,
            cudnnNanPropagation.CUDNN_PROPAGATE_NAN,
            kernel.length,
            kernel,
            pads,
            strides));
    return made;
  }

  /** An activation for fused convolutions, which take no other treatment of NaN than this. */
  cudnnActivationDescriptor activation(int mode) {
    cudnnActivationDescriptor made = new cudnnActivationDescriptor();
    Dnn.check("cudnnCreateActivationDescriptor", JCudnn.cudnnCreateActivationDescriptor(made));
    own("cudnnDestroyActivationDescriptor", () -> JCudnn.cudnnDestroyActivationDescriptor(made));
    Dnn.check(
        "cudnnSetActivationDescriptor",
        JCudnn.cudnnSetActivationDescriptor(
            made, mode, cudnnNanPropagation.CUDNN_NOT_PROPAGATE_NAN, 0));
    return made;
  }

  /** Destroys them. Idempotent. */
  @Override
  public void close() {
    owned.close();
  }
}
