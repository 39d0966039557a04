package dev.nimble.cuda.op;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.cuda.driver.DeviceAddress;
import dev.nimble.cuda.driver.LaunchDimensions;
import dev.nimble.cuda.kernel.KernelArguments;
import dev.nimble.cuda.kernel.KernelSource;
import dev.nimble.cuda.library.Dnn;
import dev.nimble.cuda.library.DnnConvolution;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.TensorType;
import dev.nimble.op.Conv;
import dev.nimble.op.ConvTranspose;
import dev.nimble.op.KernelChoice;
import dev.nimble.op.MaxPoolIndices;
import dev.nimble.op.Pool;
import dev.nimble.op.Unary;
import dev.nimble.op.UnaryFunction;
import dev.nimble.op.Window;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Convolutions and pools: cuDNN in f32 and f64 where it takes them, window.cu for depthwise
 * convolution, uneven padding of pools, dilated pools, and 16-bit types. Where cuDNN would need
 * uneven padding of a convolution, the operand is padded first, into the workspace.
 */
final class WindowKernels {
  private static final String WINDOW = "window.cu";
  private static final int DEPTHWISE_THREADS = 128;
  private static final int MOST_GRID_Y = 65535;
  private static final int ALIGNMENT = 256;

  private final Toolbox toolbox;
  private final List<TensorType> inputs;
  private final TensorType output;

  private WindowKernels(Toolbox toolbox, List<TensorType> inputs, TensorType output) {
    this.toolbox = toolbox;
    this.inputs = inputs;
    this.output = output;
  }

  /** The kernel, or null if the operator is of another family. */
  static @Nullable CudaKernel of(
      Toolbox toolbox, Operator operator, List<TensorType> inputs, List<TensorType> outputs) {
    if (outputs.isEmpty()) {
      return null;
    }
    WindowKernels family = new WindowKernels(toolbox, inputs, outputs.get(0));
    if (operator instanceof Pool) {
      return family.pool((Pool) operator);
    }
    if (operator instanceof MaxPoolIndices) {
      return family.poolIndices((MaxPoolIndices) operator);
    }
    if (operator instanceof Conv) {
      return family.conv((Conv) operator);
    }
    if (operator instanceof ConvTranspose) {
      return family.convTranspose((ConvTranspose) operator);
    }
    return null;
  }

  private KernelChoice choice(String name, long operations) {
    return KernelChoice.of(name, Demands.of(operations, inputs, List.of(output)));
  }

  // Pools.

  private long operations(Pool pool) {
    long volume = 1;
    for (int extent : pool.kernel().asList()) {
      volume *= extent;
    }
    return volume * output.elements();
  }

  private CudaKernel pool(Pool pool) {
    TensorType x = inputs.get(0);
    Window window = pool.window();
    boolean max = pool.function() == Pool.Function.MAX;
    boolean even = window.padsBefore().equals(window.padsAfter());
    boolean dilated = window.dilations().stream().anyMatch(d -> d != 1);
    if (toolbox.dnnTakes(x.dataType())
        && even
        && !dilated
        && !pool.ceilMode()
        && output.elements() > 0) {
      Dnn.Pooling pooling =
          new Dnn.Pooling(
              x.dataType(),
              max,
              pool.countIncludePad(),
              twoOrThree(x.shape()),
              spatial(pool.kernel(), 1),
              spatial(window.padsBefore(), 0),
              spatial(window.strides(), 1),
              twoOrThree(output.shape()));
      return new PlainKernel(
          choice("cudnn pool", operations(pool)),
          o -> List.of(Launches.dnn(pooling.bind(toolbox.context(), o.in(0), o.out()))));
    }
    return windowed("window pool", "pool_", pool, max ? 0 : 1, pool.countIncludePad() ? 1 : 0);
  }

  private CudaKernel poolIndices(MaxPoolIndices indices) {
    return windowed(
        "window pool indices", "pool_indices_", indices.pool(), indices.columnMajor() ? 1 : 0);
  }

  /** A kernel of window.cu, which takes {@code flags} after the window. */
  private CudaKernel windowed(String name, String prefix, Pool pool, int... flags) {
    TensorType x = inputs.get(0);
    return new PlainKernel(
        choice(name, operations(pool)),
        o -> {
          if (output.elements() == 0) {
            return List.of();
          }
          KernelArguments arguments = new KernelArguments().longInteger(output.elements());
          addWindow(arguments, x.shape(), pool.kernel(), output.shape(), pool.window());
          for (int flag : flags) {
            arguments.integer(flag);
          }
          return List.of(
              Launches.kernel(
                  toolbox.function(WINDOW, prefix + CType.suffix(x.dataType())),
                  LaunchDimensions.forElements(output.elements()),
                  arguments.address(o.in(0)).address(o.out())));
        });
  }

  /** [N, C, spatial...] with at least two spatial axes: one is preceded by an axis of extent 1. */
  private static int[] twoOrThree(Shape shape) {
    return shape.rank() == 3
        ? new int[] {shape.extent(0), shape.extent(1), 1, shape.extent(2)}
        : shape.toArray();
  }

  private static int[] spatial(ImmutableIntArray list, int filler) {
    return list.length() == 1 ? new int[] {filler, list.get(0)} : list.toArray();
  }

  /** Adds the structure Window of window.cu. */
  private static KernelArguments addWindow(
      KernelArguments arguments, Shape in, ImmutableIntArray kernel, Shape out, Window window) {
    int[][] parts = {
      three(ImmutableIntArray.copyOf(in.toArray()).subArray(2, in.rank()), 1),
      three(kernel, 1),
      three(ImmutableIntArray.copyOf(out.toArray()).subArray(2, out.rank()), 1),
      three(window.strides(), 1),
      three(window.dilations(), 1),
      three(window.padsBefore(), 0),
      three(window.padsAfter(), 0)
    };
    int[] all = new int[3 * parts.length];
    for (int i = 0; i < parts.length; i++) {
      System.arraycopy(parts[i], 0, all, 3 * i, 3);
    }
    return arguments.integers(all, all.length);
  }

  private static int[] three(ImmutableIntArray list, int filler) {
    int[] three = {filler, filler, filler};
    for (int i = 0; i < list.length(); i++) {
      three[3 - list.length() + i] = list.get(i);
    }
    return three;
  }

  private static ImmutableIntArray kernelOf(Shape filter) {
    return ImmutableIntArray.copyOf(filter.toArray()).subArray(2, filter.rank());
  }

  // Convolutions.

  private CudaKernel conv(Conv conv) {
    Shape x = inputs.get(0).shape();
    Shape w = inputs.get(1).shape();
    long operations = 2L * output.elements() * w.extent(1) * volume(w);
    int group = conv.group();
    boolean depthwise =
        group > 1
            && w.extent(1) == 1
            && conv.window().rank() == 2
            && (long) x.extent(0) * w.extent(0) <= MOST_GRID_Y;
    if (output.elements() == 0 || x.elements() == 0 || w.elements() == 0) {
      return direct(
          "direct convolution", "conv_", operations, conv.window(), group, conv.activation());
    }
    if (depthwise) {
      return depthwise(conv, operations);
    }
    if (toolbox.dnnTakes(output.dataType())) {
      CudaKernel dnn = dnnConv(conv, operations);
      if (dnn != null) {
        return dnn;
      }
    }
    return direct(
        "direct convolution", "conv_", operations, conv.window(), group, conv.activation());
  }

  private static long volume(Shape filter) {
    long volume = 1;
    for (int axis = 2; axis < filter.rank(); axis++) {
      volume *= filter.extent(axis);
    }
    return volume;
  }

  private CudaKernel convTranspose(ConvTranspose conv) {
    Shape x = inputs.get(0).shape();
    Shape w = inputs.get(1).shape();
    long operations = 2L * x.elements() * w.extent(1) * volume(w);
    Window window = conv.window();
    if (toolbox.dnnTakes(output.dataType())
        && window.padsBefore().equals(window.padsAfter())
        && output.elements() > 0
        && x.elements() > 0
        && w.elements() > 0) {
      DnnConvolution convolution =
          new DnnConvolution(
              output.dataType(),
              toolbox.tensorFloat(),
              true,
              twoOrThree(output.shape()),
              twoOrThree(w),
              twoOrThree(x),
              spatial(window.padsBefore(), 0),
              spatial(window.strides(), 1),
              spatial(window.dilations(), 1),
              conv.group());
      Optional<DnnConvolution.Algorithm> algorithm = toolbox.algorithm(convolution);
      if (algorithm.isPresent()) {
        return dnn(
            "cudnn transposed convolution",
            convolution,
            algorithm.get(),
            operations,
            conv.activation(),
            null);
      }
    }
    return direct(
        "direct transposed convolution",
        "conv_transpose_",
        operations,
        window,
        conv.group(),
        conv.activation());
  }

  private @Nullable CudaKernel dnnConv(Conv conv, long operations) {
    Window window = conv.window();
    Shape x = inputs.get(0).shape();
    boolean even = window.padsBefore().equals(window.padsAfter());
    int[] padded = x.toArray();
    if (!even) {
      for (int i = 0; i < window.rank(); i++) {
        padded[2 + i] += window.padsBefore().get(i) + window.padsAfter().get(i);
      }
    }
    ImmutableIntArray none = ImmutableIntArray.copyOf(new int[window.rank()]);
    DnnConvolution convolution =
        new DnnConvolution(
            output.dataType(),
            toolbox.tensorFloat(),
            false,
            twoOrThree(Shape.of(padded)),
            twoOrThree(inputs.get(1).shape()),
            twoOrThree(output.shape()),
            spatial(even ? window.padsBefore() : none, 0),
            spatial(window.strides(), 1),
            spatial(window.dilations(), 1),
            conv.group());
    Optional<DnnConvolution.Algorithm> algorithm = toolbox.algorithm(convolution);
    return algorithm.isEmpty()
        ? null
        : dnn(
            "cudnn convolution",
            convolution,
            algorithm.get(),
            operations,
            conv.activation(),
            even ? null : window);
  }

  /** Padding into the workspace where {@code uneven}, then cuDNN, then what it cannot fuse. */
  private CudaKernel dnn(
      String name,
      DnnConvolution convolution,
      DnnConvolution.Algorithm algorithm,
      long operations,
      @Nullable Unary activation,
      @Nullable Window uneven) {
    boolean relu = activation != null && activation.function() == UnaryFunction.RELU;
    boolean biased = inputs.size() > 2;
    boolean fused =
        biased && (activation == null || relu) && convolution.fusesBias(algorithm, relu);
    ElementwiseKernel epilogue = fused ? null : epilogue(activation);
    long paddedBytes = uneven == null ? 0 : padded(uneven).sizeBytes();
    long aligned = (paddedBytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    KernelChoice choice =
        choice(name + " " + algorithm.number() + (fused ? ", bias fused" : ""), operations);
    return new PlainKernel(
        aligned + algorithm.workspaceBytes() == 0
            ? choice
            : choice.withWorkspace(aligned + algorithm.workspaceBytes()),
        sources(epilogue),
        ImmutableMap.of(convolution.description(), algorithm.asText()),
        o -> {
          // Made first: were they to fail, the call's descriptors would be left over.
          List<Launch> last = epilogue == null ? List.of() : after(epilogue, o);
          List<Launch> launches = new ArrayList<>();
          DeviceAddress workspace = o.workspace();
          DeviceAddress source = o.in(0);
          if (uneven != null && workspace != null) {
            launches.add(pad(uneven, source, workspace));
            source = workspace;
          }
          launches.add(
              Launches.dnn(
                  convolution.bind(
                      toolbox.context(),
                      algorithm,
                      source,
                      o.in(1),
                      fused ? o.in(2) : null,
                      relu,
                      o.out(),
                      workspace == null ? null : workspace.plus(aligned))));
          launches.addAll(last);
          return launches;
        });
  }

  private TensorType padded(Window window) {
    int[] extents = inputs.get(0).shape().toArray();
    for (int i = 0; i < window.rank(); i++) {
      extents[2 + i] += window.padsBefore().get(i) + window.padsAfter().get(i);
    }
    return new TensorType(output.dataType(), Shape.of(extents));
  }

  private Launch pad(Window window, DeviceAddress from, DeviceAddress to) {
    Shape in = inputs.get(0).shape();
    Shape out = padded(window).shape();
    int[] before = new int[in.rank()];
    for (int i = 0; i < window.rank(); i++) {
      before[2 + i] = window.padsBefore().get(i);
    }
    return Launches.kernel(
        toolbox.function("move.cu", "pad_" + output.dataType().sizeBytes()),
        LaunchDimensions.forElements(out.elements()),
        new KernelArguments()
            .longInteger(out.elements())
            .integer(out.rank())
            .integers(out.toArray(), Walk.MOST_AXES)
            .integers(in.toArray(), Walk.MOST_AXES)
            .integers(in.strides(), Walk.MOST_AXES)
            .integers(before, Walk.MOST_AXES)
            .integer(0)
            .address(from)
            .address(null)
            .address(to));
  }

  /** Bias and activation over the result; null if there is neither. */
  private @Nullable ElementwiseKernel epilogue(@Nullable Unary activation) {
    TensorType bias = null;
    if (inputs.size() > 2) {
      int[] extents = new int[output.shape().rank() - 1];
      Arrays.fill(extents, 1);
      extents[0] = output.shape().extent(1);
      bias = new TensorType(output.dataType(), Shape.of(extents));
    }
    return bias == null && activation == null
        ? null
        : ElementwiseKernel.epilogue(toolbox, output, bias, 1, activation);
  }

  private static ImmutableList<KernelSource> sources(@Nullable ElementwiseKernel epilogue) {
    return epilogue == null ? ImmutableList.of() : epilogue.generated();
  }

  private List<Launch> after(ElementwiseKernel epilogue, Operands operands) {
    List<DeviceAddress> from =
        inputs.size() > 2 ? List.of(operands.out(), operands.in(2)) : List.of(operands.out());
    return epilogue.bind(from, operands.out());
  }

  /** Our own kernel, with the bias in it; the activation follows. */
  private CudaKernel direct(
      String name,
      String kernel,
      long operations,
      Window window,
      int group,
      @Nullable Unary activation) {
    Shape x = inputs.get(0).shape();
    Shape w = inputs.get(1).shape();
    boolean transposed = kernel.startsWith("conv_transpose");
    ElementwiseKernel after =
        activation == null
            ? null
            : ElementwiseKernel.epilogue(toolbox, output, null, 1, activation);
    return new PlainKernel(
        choice(name, operations),
        sources(after),
        o -> {
          if (output.elements() == 0) {
            return List.of();
          }
          List<Launch> launches = new ArrayList<>();
          KernelArguments arguments =
              addWindow(
                  new KernelArguments().longInteger(output.elements()),
                  x,
                  kernelOf(w),
                  output.shape(),
                  window);
          arguments.integer(transposed ? w.extent(1) : w.extent(0));
          arguments.integer(transposed ? x.extent(1) / group : w.extent(1)).integer(group);
          arguments.address(o.in(0)).address(o.in(1));
          arguments.address(inputs.size() > 2 ? o.in(2) : null).address(o.out());
          launches.add(
              Launches.kernel(
                  toolbox.function(WINDOW, kernel + CType.suffix(output.dataType())),
                  LaunchDimensions.forElements(output.elements()),
                  arguments));
          if (after != null) {
            launches.addAll(after.bind(List.of(o.out()), o.out()));
          }
          return launches;
        });
  }

  private CudaKernel depthwise(Conv conv, long operations) {
    Shape x = inputs.get(0).shape();
    Shape w = inputs.get(1).shape();
    int filters = w.extent(0);
    int area = output.shape().extent(2) * output.shape().extent(3);
    int blocks = Math.min(1024, (area + DEPTHWISE_THREADS - 1) / DEPTHWISE_THREADS);
    LaunchDimensions size =
        new LaunchDimensions(
            blocks,
            x.extent(0) * filters,
            1,
            DEPTHWISE_THREADS,
            1,
            Math.toIntExact(volume(w) * Double.BYTES));
    ElementwiseKernel after =
        conv.activation() == null
            ? null
            : ElementwiseKernel.epilogue(toolbox, output, null, 1, conv.activation());
    return new PlainKernel(
        choice("depthwise convolution", operations),
        sources(after),
        o -> {
          KernelArguments arguments =
              addWindow(new KernelArguments(), x, kernelOf(w), output.shape(), conv.window());
          arguments.integer(filters).integer(filters / conv.group());
          arguments.address(o.in(0)).address(o.in(1));
          arguments.address(inputs.size() > 2 ? o.in(2) : null).address(o.out());
          List<Launch> launches = new ArrayList<>();
          launches.add(
              Launches.kernel(
                  toolbox.function(WINDOW, "depthwise_" + CType.suffix(output.dataType())),
                  size,
                  arguments));
          if (after != null) {
            launches.addAll(after.bind(List.of(o.out()), o.out()));
          }
          return launches;
        });
  }
}
