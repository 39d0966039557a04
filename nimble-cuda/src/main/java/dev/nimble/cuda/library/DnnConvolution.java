package dev.nimble.cuda.library;

import dev.nimble.cuda.driver.CudaContext;
import dev.nimble.cuda.driver.CudaDriver;
import dev.nimble.cuda.driver.CudaStream;
import dev.nimble.cuda.driver.DeviceAddress;
import dev.nimble.cuda.driver.DeviceMemory;
import dev.nimble.graph.DataType;
import java.util.Arrays;
import java.util.stream.Stream;
import jcuda.Pointer;
import jcuda.jcudnn.JCudnn;
import jcuda.jcudnn.cudnnActivationDescriptor;
import jcuda.jcudnn.cudnnActivationMode;
import jcuda.jcudnn.cudnnConvolutionBwdDataAlgoPerf;
import jcuda.jcudnn.cudnnConvolutionDescriptor;
import jcuda.jcudnn.cudnnConvolutionFwdAlgo;
import jcuda.jcudnn.cudnnConvolutionFwdAlgoPerf;
import jcuda.jcudnn.cudnnDeterminism;
import jcuda.jcudnn.cudnnFilterDescriptor;
import jcuda.jcudnn.cudnnTensorDescriptor;
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
        context.deviceName(),
        "driver " + CudaDriver.version(),
        "cudnn " + Dnn.version(),
        description());
  }

  /** Everything but the machine on which the choice of an algorithm depends. */
  public String description() {
    return String.join(
        "|",
        "convolution",
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
        Descriptors descriptors = new Descriptors(context)) {
      Described d = describe(descriptors);
      long scratchBytes = scratchBytes(on, d, mostWorkspaceBytes);
      try (DeviceMemory memory = new DeviceMemory(context, operandBytes + scratchBytes)) {
        memory.clear(0, operandBytes);
        return candidates(on, d, memory, scratchBytes)
            .filter(candidate -> candidate.fits(mostWorkspaceBytes))
            .map(Candidate::algorithm)
            .findFirst()
            .orElse(null);
      }
    }
  }

  /** What cuDNN says of an algorithm that it has tried. */
  private record Candidate(Algorithm algorithm, int status, int determinism) {
    boolean fits(long mostBytes) {
      return status == 0
          && determinism == cudnnDeterminism.CUDNN_DETERMINISTIC
          && algorithm.workspaceBytes() >= 0
          && algorithm.workspaceBytes() <= mostBytes;
    }
  }

  /** Runs every algorithm; the fastest comes first. */
  private Stream<Candidate> candidates(
      LibraryStream on, Described d, DeviceMemory memory, long scratchBytes) {
    DeviceAddress source = memory.at(0);
    DeviceAddress filter = memory.at(bytes(x));
    DeviceAddress result = memory.at(bytes(x) + bytes(w));
    DeviceAddress scratch = memory.at(memory.sizeBytes() - scratchBytes);
    int[] found = new int[1];
    if (backwardData) {
      cudnnConvolutionBwdDataAlgoPerf[] all = new cudnnConvolutionBwdDataAlgoPerf[CANDIDATES];
      Arrays.setAll(all, i -> new cudnnConvolutionBwdDataAlgoPerf());
      Dnn.check(
          "cudnnFindConvolutionBackwardDataAlgorithmEx",
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
              scratch,
              scratchBytes));
      return Arrays.stream(all, 0, found[0])
          .map(p -> candidate(p.algo, p.memory, p.time, p.status, p.determinism));
    }
    cudnnConvolutionFwdAlgoPerf[] all = new cudnnConvolutionFwdAlgoPerf[CANDIDATES];
    Arrays.setAll(all, i -> new cudnnConvolutionFwdAlgoPerf());
    Dnn.check(
        "cudnnFindConvolutionForwardAlgorithmEx",
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
            scratch,
            scratchBytes));
    return Arrays.stream(all, 0, found[0])
        .map(p -> candidate(p.algo, p.memory, p.time, p.status, p.determinism));
  }

  private static Candidate candidate(
      int number, long bytes, float millis, int status, int determinism) {
    return new Candidate(
        new Algorithm(number, bytes, Math.round(millis * 1e6)), status, determinism);
  }

  /** The largest workspace within the limit that some algorithm asks for; never 0. */
  private long scratchBytes(LibraryStream on, Described d, long most) {
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
    Pointer scratch = workspace == null ? new Pointer() : workspace;
    return Dnn.call(
        context,
        descriptors -> {
          Described d = describe(descriptors);
          if (backwardData) {
            return on -> backwardData(on, d, algorithm, source, filter, result, scratch);
          }
          if (bias == null) {
            return on -> forward(on, d, algorithm, source, filter, result, scratch);
          }
          int[] extents = new int[y.length];
          Arrays.fill(extents, 1);
          extents[1] = y[1];
          cudnnTensorDescriptor added = descriptors.tensor(type, extents);
          cudnnActivationDescriptor activation =
              descriptors.activation(
                  relu
                      ? cudnnActivationMode.CUDNN_ACTIVATION_RELU
                      : cudnnActivationMode.CUDNN_ACTIVATION_IDENTITY);
          return on ->
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
                      added,
                      bias,
                      activation,
                      d.y,
                      result));
        });
  }

  private void backwardData(
      LibraryStream on,
      Described d,
      Algorithm algorithm,
      DeviceAddress source,
      DeviceAddress filter,
      DeviceAddress result,
      Pointer scratch) {
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
  }

  private void forward(
      LibraryStream on,
      Described d,
      Algorithm algorithm,
      DeviceAddress source,
      DeviceAddress filter,
      DeviceAddress result,
      Pointer scratch) {
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
  }

  /** The native descriptions of operands and operation. */
  private record Described(
      cudnnTensorDescriptor x,
      cudnnFilterDescriptor w,
      cudnnTensorDescriptor y,
      cudnnConvolutionDescriptor convolution) {}

  private Described describe(Descriptors descriptors) {
    return new Described(
        descriptors.tensor(type, x),
        descriptors.filter(type, w),
        descriptors.tensor(type, y),
        descriptors.convolution(this));
  }
}
