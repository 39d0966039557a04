package dev.nimble.cuda.library;

import dev.nimble.cuda.driver.CudaContext;
import dev.nimble.cuda.driver.CudaDriver;
import dev.nimble.cuda.driver.CudaStream;
import dev.nimble.cuda.driver.DeviceAddress;
import dev.nimble.cuda.driver.DeviceMemory;
import dev.nimble.error.DeviceException;
import dev.nimble.graph.DataType;
import java.util.Arrays;
import jcuda.Pointer;
import jcuda.jcudnn.JCudnn;
import jcuda.jcudnn.cudnnActivationDescriptor;
import jcuda.jcudnn.cudnnActivationMode;
import jcuda.jcudnn.cudnnConvolutionBwdDataAlgoPerf;
import jcuda.jcudnn.cudnnConvolutionDescriptor;
import jcuda.jcudnn.cudnnConvolutionFwdAlgo;
import jcuda.jcudnn.cudnnConvolutionFwdAlgoPerf;
import jcuda.jcudnn.cudnnConvolutionMode;
import jcuda.jcudnn.cudnnDeterminism;
import jcuda.jcudnn.cudnnFilterDescriptor;
import jcuda.jcudnn.cudnnMathType;
import jcuda.jcudnn.cudnnNanPropagation;
import jcuda.jcudnn.cudnnTensorDescriptor;
import jcuda.jcudnn.cudnnTensorFormat;
import org.jspecify.annotations.Nullable;

/**
 * One convolution as cuDNN takes it, forward or with respect to its data (which is a transposed
 * convolution). Padding is the same at both ends of an axis; extents are those of 4 or 5 axes.
 *
 * @param type f32 or f64
 * @param tensorFloat whether f32 factors may be rounded to TF32
 * @param backwardData whether y is given and x computed
 * @param x extents of [N, C, spatial...]
 * @param w extents of [M, C / group, kernel...]
 * @param y extents of [N, M, spatial...]
 * @param pads padding of each spatial axis
 * @param strides steps between windows
 * @param dilations steps between elements of a window
 * @param groups channel groups
 */
public record DnnConvolution(
    DataType type,
    boolean tensorFloat,
    boolean backwardData,
    int[] x,
    int[] w,
    int[] y,
    int[] pads,
    int[] strides,
    int[] dilations,
    int groups) {
  private static final int PRECOMPUTED =
      cudnnConvolutionFwdAlgo.CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
  private static final int CANDIDATES = 10;

  /**
   * A way to compute it.
   *
   * @param number cuDNN's number of the algorithm
   * @param workspaceBytes what it needs while it runs
   * @param nanos its measured time
   */
  public record Algorithm(int number, long workspaceBytes, long nanos) {
    /** As kept on disk. */
    public String asText() {
      return number + " " + workspaceBytes + " " + nanos;
    }

    /** Reads {@link #asText}; null if it is anything else. */
    public static @Nullable Algorithm ofText(String text) {
      String[] parts = text.trim().split(" ");
      if (parts.length != 3 || !Arrays.stream(parts).allMatch(p -> p.matches("\\d{1,18}"))) {
        return null;
      }
      return new Algorithm(
          Math.toIntExact(Long.parseLong(parts[0]) & 0xffff),
          Long.parseLong(parts[1]),
          Long.parseLong(parts[2]));
    }
  }

  /** Everything on which the choice of an algorithm depends. */
  public String key(CudaContext context) {
    return String.join(
        "|",
        "convolution",
        context.deviceName(),
        "driver " + CudaDriver.version(),
        "cudnn " + Dnn.version(),
        type + (tensorFloat ? " tf32" : "") + (backwardData ? " data" : " forward"),
        Arrays.toString(x) + Arrays.toString(w) + Arrays.toString(y),
        Arrays.toString(pads) + Arrays.toString(strides) + Arrays.toString(dilations),
        "groups " + groups);
  }

  /**
   * Measures the algorithms on scratch operands and returns the fastest deterministic one that
   * needs at most {@code mostWorkspaceBytes}; null if cuDNN has none. The context must be current,
   * and nothing may be capturing.
   */
  public @Nullable Algorithm measure(CudaContext context, long mostWorkspaceBytes) {
    long operandBytes = bytes(x) + bytes(w) + bytes(y);
    try (CudaStream stream = new CudaStream(context);
        LibraryStream on = new LibraryStream(stream);
        Descriptors d = new Descriptors(context, this);
        DeviceMemory memory =
            new DeviceMemory(context, operandBytes + scratchBytes(on, d, mostWorkspaceBytes))) {
      memory.clear(0, operandBytes);
      long workspaceBytes = memory.sizeBytes() - operandBytes;
      DeviceAddress source = memory.at(0);
      DeviceAddress filter = memory.at(bytes(x));
      DeviceAddress result = memory.at(bytes(x) + bytes(w));
      DeviceAddress workspace = memory.at(operandBytes);
      int[] found = new int[1];
      if (backwardData) {
        cudnnConvolutionBwdDataAlgoPerf[] all = new cudnnConvolutionBwdDataAlgoPerf[CANDIDATES];
        Arrays.setAll(all, i -> new cudnnConvolutionBwdDataAlgoPerf());
        int code =
            JCudnn.cudnnFindConvolutionBackwardDataAlgorithmEx(
                on.dnn(),
                d.w,
                filter,
                d.y,
                result,
                d.convolution,
                d.x,
                source,
                CANDIDATES,
                found,
                all,
                workspace,
                workspaceBytes);
        Dnn.check("cudnnFindConvolutionBackwardDataAlgorithmEx", code);
        for (int i = 0; i < found[0]; i++) {
          if (fits(all[i].status, all[i].determinism, all[i].memory, mostWorkspaceBytes)) {
            return new Algorithm(all[i].algo, all[i].memory, Math.round(all[i].time * 1e6));
          }
        }
        return null;
      }
      cudnnConvolutionFwdAlgoPerf[] all = new cudnnConvolutionFwdAlgoPerf[CANDIDATES];
      Arrays.setAll(all, i -> new cudnnConvolutionFwdAlgoPerf());
      int code =
          JCudnn.cudnnFindConvolutionForwardAlgorithmEx(
              on.dnn(),
              d.x,
              source,
              d.w,
              filter,
              d.convolution,
              d.y,
              result,
              CANDIDATES,
              found,
              all,
              workspace,
              workspaceBytes);
      Dnn.check("cudnnFindConvolutionForwardAlgorithmEx", code);
      for (int i = 0; i < found[0]; i++) {
        if (fits(all[i].status, all[i].determinism, all[i].memory, mostWorkspaceBytes)) {
          return new Algorithm(all[i].algo, all[i].memory, Math.round(all[i].time * 1e6));
        }
      }
      return null;
    }
  }

  /** The largest workspace within the limit that some algorithm asks for; never 0. */
  private long scratchBytes(LibraryStream on, Descriptors d, long most) {
    long largest = 256;
    for (int algorithm = 0; algorithm < CANDIDATES; algorithm++) {
      long[] bytes = new long[1];
      int code =
          backwardData
              ? JCudnn.cudnnGetConvolutionBackwardDataWorkspaceSize(
                  on.dnn(), d.w, d.y, d.convolution, d.x, algorithm, bytes)
              : JCudnn.cudnnGetConvolutionForwardWorkspaceSize(
                  on.dnn(), d.x, d.w, d.convolution, d.y, algorithm, bytes);
      if (code == 0 && bytes[0] <= most) { // the size of a refused algorithm is not set
        largest = Math.max(largest, bytes[0]);
      }
    }
    return largest;
  }

  private static boolean fits(int status, int determinism, long bytes, long most) {
    return status == 0
        && determinism == cudnnDeterminism.CUDNN_DETERMINISTIC
        && bytes >= 0
        && bytes <= most;
  }

  private long bytes(int[] extents) {
    long elements = 1;
    for (int extent : extents) {
      elements *= extent;
    }
    return (elements * type.sizeBytes() + 255) / 256 * 256;
  }

  /** Whether cuDNN can add a bias, and apply Relu if asked, in the same call. */
  public boolean fusesBias(Algorithm algorithm, boolean relu) {
    return !backwardData && (relu || algorithm.number() == PRECOMPUTED);
  }

  /**
   * The convolution of these operands.
   *
   * @param source x forward; y with respect to data
   * @param bias added in the same call if not null; see {@link #fusesBias}
   */
  public Dnn.Call bind(
      CudaContext context,
      Algorithm algorithm,
      DeviceAddress source,
      DeviceAddress filter,
      @Nullable DeviceAddress bias,
      boolean relu,
      DeviceAddress result,
      @Nullable DeviceAddress workspace) {
    Descriptors d = new Descriptors(context, this);
    try {
      if (bias != null) {
        d.addBias(relu);
      }
    } catch (DeviceException e) {
      d.close();
      throw e;
    }
    Pointer scratch = workspace == null ? new Pointer() : workspace;
    return new Dnn.Call() {
      @Override
      public void enqueue(LibraryStream on) {
        if (backwardData) {
          Dnn.check(
              "cudnnConvolutionBackwardData",
              JCudnn.cudnnConvolutionBackwardData(
                  on.dnn(),
                  Dnn.one(type),
                  d.w,
                  filter,
                  d.y,
                  source,
                  d.convolution,
                  algorithm.number(),
                  scratch,
                  algorithm.workspaceBytes(),
                  Dnn.zero(type),
                  d.x,
                  result));
        } else if (bias == null) {
          Dnn.check(
              "cudnnConvolutionForward",
              JCudnn.cudnnConvolutionForward(
                  on.dnn(),
                  Dnn.one(type),
                  d.x,
                  source,
                  d.w,
                  filter,
                  d.convolution,
                  algorithm.number(),
                  scratch,
                  algorithm.workspaceBytes(),
                  Dnn.zero(type),
                  d.y,
                  result));
        } else {
          Dnn.check(
              "cudnnConvolutionBiasActivationForward",
              JCudnn.cudnnConvolutionBiasActivationForward(
                  on.dnn(),
                  Dnn.one(type),
                  d.x,
                  source,
                  d.w,
                  filter,
                  d.convolution,
                  algorithm.number(),
                  scratch,
                  algorithm.workspaceBytes(),
                  Dnn.zero(type),
                  d.y,
                  result,
                  d.bias,
                  bias,
                  d.activation,
                  d.y,
                  result));
        }
      }

      @Override
      public void close() {
        d.close();
      }
    };
  }

  /** The native descriptions of operands and operation. */
  private static final class Descriptors implements AutoCloseable {
    private final CudaContext context;
    private final DnnConvolution of;
    private @Nullable cudnnTensorDescriptor x;
    private @Nullable cudnnTensorDescriptor y;
    private @Nullable cudnnFilterDescriptor w;
    private @Nullable cudnnConvolutionDescriptor convolution;
    private @Nullable cudnnTensorDescriptor bias;
    private @Nullable cudnnActivationDescriptor activation;

    Descriptors(CudaContext context, DnnConvolution of) {
      this.context = context;
      this.of = of;
      try {
        x = Dnn.tensor(context, of.type, of.x);
        y = Dnn.tensor(context, of.type, of.y);
        cudnnFilterDescriptor filter = new cudnnFilterDescriptor();
        Dnn.check("cudnnCreateFilterDescriptor", JCudnn.cudnnCreateFilterDescriptor(filter));
        context.opened();
        w = filter;
        Dnn.check(
            "cudnnSetFilterNdDescriptor",
            JCudnn.cudnnSetFilterNdDescriptor(
                filter,
                Dnn.dataType(of.type),
                cudnnTensorFormat.CUDNN_TENSOR_NCHW,
                of.w.length,
                of.w));
        cudnnConvolutionDescriptor made = new cudnnConvolutionDescriptor();
        Dnn.check(
            "cudnnCreateConvolutionDescriptor", JCudnn.cudnnCreateConvolutionDescriptor(made));
        context.opened();
        convolution = made;
        Dnn.check(
            "cudnnSetConvolutionNdDescriptor",
            JCudnn.cudnnSetConvolutionNdDescriptor(
                made,
                of.pads.length,
                of.pads,
                of.strides,
                of.dilations,
                cudnnConvolutionMode.CUDNN_CROSS_CORRELATION,
                Dnn.dataType(of.type)));
        Dnn.check(
            "cudnnSetConvolutionGroupCount", JCudnn.cudnnSetConvolutionGroupCount(made, of.groups));
        Dnn.check(
            "cudnnSetConvolutionMathType",
            JCudnn.cudnnSetConvolutionMathType(
                made,
                of.tensorFloat ? cudnnMathType.CUDNN_DEFAULT_MATH : cudnnMathType.CUDNN_FMA_MATH));
      } catch (DeviceException e) {
        close();
        throw e;
      }
    }

    void addBias(boolean relu) {
      int[] extents = new int[of.y.length];
      Arrays.fill(extents, 1);
      extents[1] = of.y[1];
      bias = Dnn.tensor(context, of.type, extents);
      cudnnActivationDescriptor made = new cudnnActivationDescriptor();
      Dnn.check("cudnnCreateActivationDescriptor", JCudnn.cudnnCreateActivationDescriptor(made));
      context.opened();
      activation = made;
      Dnn.check(
          "cudnnSetActivationDescriptor",
          JCudnn.cudnnSetActivationDescriptor(
              made,
              relu
                  ? cudnnActivationMode.CUDNN_ACTIVATION_RELU
                  : cudnnActivationMode.CUDNN_ACTIVATION_IDENTITY,
              cudnnNanPropagation.CUDNN_NOT_PROPAGATE_NAN, // all that the fused call takes
              0));
    }

    @Override
    public void close() {
      for (cudnnTensorDescriptor tensor : new cudnnTensorDescriptor[] {x, y, bias}) {
        if (tensor != null) {
          Dnn.destroy(context, tensor);
        }
      }
      if (w != null) {
        JCudnn.cudnnDestroyFilterDescriptor(w);
        context.released();
      }
      if (convolution != null) {
        JCudnn.cudnnDestroyConvolutionDescriptor(convolution);
        context.released();
      }
      if (activation != null) {
        JCudnn.cudnnDestroyActivationDescriptor(activation);
        context.released();
      }
    }
  }
}
