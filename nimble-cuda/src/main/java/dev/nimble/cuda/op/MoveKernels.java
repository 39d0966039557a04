package dev.nimble.cuda.op;

import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.cuda.driver.DeviceAddress;
import dev.nimble.cuda.driver.LaunchDimensions;
import dev.nimble.cuda.kernel.KernelArguments;
import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.op.Assign;
import dev.nimble.op.Binary;
import dev.nimble.op.BinaryFunction;
import dev.nimble.op.Concat;
import dev.nimble.op.Expand;
import dev.nimble.op.Gather;
import dev.nimble.op.Identity;
import dev.nimble.op.KernelChoice;
import dev.nimble.op.Pad;
import dev.nimble.op.Reshape;
import dev.nimble.op.Resize;
import dev.nimble.op.ShapeOf;
import dev.nimble.op.Split;
import dev.nimble.op.StridedSlice;
import dev.nimble.op.Tile;
import dev.nimble.op.Transpose;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Operators that move elements: move.cu, resize.cu, and plain copies. */
final class MoveKernels {
  private static final String MOVE = "move.cu";

  private final Toolbox toolbox;
  private final List<TensorType> inputs;
  private final List<TensorType> outputs;

  private MoveKernels(Toolbox toolbox, List<TensorType> inputs, List<TensorType> outputs) {
    this.toolbox = toolbox;
    this.inputs = inputs;
    this.outputs = outputs;
  }

  /** The kernel, or null if the operator is of another family. */
  static @Nullable CudaKernel of(
      Toolbox toolbox, Operator operator, List<TensorType> inputs, List<TensorType> outputs) {
    return new MoveKernels(toolbox, inputs, outputs).of(operator);
  }

  private @Nullable CudaKernel of(Operator operator) {
    if (operator instanceof Reshape || operator instanceof Identity) {
      CudaKernel copy = kernel("copy", this::copyAll);
      return new PlainKernel(copy.choice().asView(), copy::bind);
    }
    if (operator instanceof Assign) {
      return assign((Assign) operator);
    }
    if (operator instanceof ShapeOf) {
      return shapeOf();
    }
    if (operator instanceof Concat) {
      return kernel("concat", o -> concat(((Concat) operator).axis(), o));
    }
    if (operator instanceof Split) {
      return kernel("split", o -> split(((Split) operator).axis(), o));
    }
    if (operator instanceof Gather) {
      return gather((Gather) operator);
    }
    if (operator instanceof Pad) {
      return pad((Pad) operator);
    }
    if (operator instanceof Resize) {
      return resize((Resize) operator);
    }
    return strided(operator);
  }

  private CudaKernel kernel(String name, Function<Operands, List<Launch>> binding) {
    return new PlainKernel(KernelChoice.of(name, Demands.of(0, inputs, outputs)), binding);
  }

  private List<Launch> copyAll(Operands operands) {
    return copy(operands.in(0), operands.out(), outputs.get(0).sizeBytes());
  }

  /** A copy node; nothing for no bytes or from a place to itself. */
  private static List<Launch> copy(DeviceAddress from, DeviceAddress to, long bytes) {
    return bytes == 0 || from.value() == to.value()
        ? List.of()
        : List.of(Launches.copy(from, to, bytes));
  }

  private CudaKernel assign(Assign assign) {
    TensorType type = inputs.get(0);
    if (!assign.accumulate()) {
      return kernel("copy", o -> copy(o.in(1), o.in(0), type.sizeBytes()));
    }
    CudaKernel add =
        ElementwiseKernel.of(
            toolbox, new Binary(BinaryFunction.ADD), List.of(type, type), List.of(type));
    if (add == null) {
      throw new IllegalStateException("Add is elementwise");
    }
    return new PlainKernel(
        KernelChoice.of("generated add", Demands.of(type.elements(), inputs, outputs)),
        add.generated(),
        o -> ((ElementwiseKernel) add).bind(o.inputs(), o.in(0)));
  }

  private CudaKernel shapeOf() {
    Shape shape = inputs.get(0).shape();
    Tensor extents = Tensor.zeros(outputs.get(0));
    ShapeOf.write(shape, extents);
    return kernel(
        "constant fill",
        o -> {
          List<Launch> fills = new ArrayList<>();
          for (int axis = 0; axis < shape.rank(); axis++) {
            fills.add(
                Launches.kernel(
                    toolbox.function(MOVE, "fill_i64"),
                    LaunchDimensions.of(1, 1),
                    new KernelArguments()
                        .longInteger(extents.longs().get(axis))
                        .address(o.out().plus((long) axis * Long.BYTES))));
          }
          return fills;
        });
  }

  /** A copy between strided tensors, of {@code extents}; starts in elements. */
  private List<Launch> move(
      int[] extents,
      DeviceAddress in,
      long inStart,
      int[] inStrides,
      DeviceAddress out,
      long outStart,
      int[] outStrides) {
    long n = elements(extents);
    if (n == 0) {
      return List.of();
    }
    Walk walk = Walk.of(extents, inStrides, outStrides);
    int size = outputs.get(0).dataType().sizeBytes();
    KernelArguments arguments = walk.addExtents(new KernelArguments().longInteger(n));
    walk.addStrides(arguments.address(in).longInteger(inStart), 0);
    walk.addStrides(arguments.address(out).longInteger(outStart), 1);
    return List.of(
        Launches.kernel(
            toolbox.function(MOVE, "copy_" + size), LaunchDimensions.forElements(n), arguments));
  }

  private static long elements(int[] extents) {
    long n = 1;
    for (int extent : extents) {
      n *= extent;
    }
    return n;
  }

  private List<Launch> concat(int axis, Operands operands) {
    Shape result = outputs.get(0).shape();
    int along = axis < 0 ? axis + result.rank() : axis;
    int[] strides = result.strides();
    List<Launch> launches = new ArrayList<>();
    long start = 0;
    for (int k = 0; k < inputs.size(); k++) {
      Shape part = inputs.get(k).shape();
      launches.addAll(
          move(
              part.toArray(),
              operands.in(k),
              0,
              part.strides(),
              operands.out(),
              start * strides[along],
              strides));
      start += part.extent(along);
    }
    return launches;
  }

  private List<Launch> split(int axis, Operands operands) {
    Shape whole = inputs.get(0).shape();
    int along = axis < 0 ? axis + whole.rank() : axis;
    int[] strides = whole.strides();
    List<Launch> launches = new ArrayList<>();
    long start = 0;
    for (int k = 0; k < outputs.size(); k++) {
      Shape part = outputs.get(k).shape();
      launches.addAll(
          move(
              part.toArray(),
              operands.in(0),
              start * strides[along],
              strides,
              operands.outputs().get(k),
              0,
              part.strides()));
      start += part.extent(along);
    }
    return launches;
  }

  /** Operators whose result is a strided walk over the operand; null for any other. */
  private @Nullable CudaKernel strided(Operator operator) {
    if (!(operator instanceof Transpose
        || operator instanceof StridedSlice
        || operator instanceof Expand
        || operator instanceof Tile)) {
      return null;
    }
    Shape shape = inputs.get(0).shape();
    int[] own = shape.strides();
    int[] extents = outputs.get(0).shape().toArray();
    int[] strides = new int[extents.length];
    long start = 0;
    if (operator instanceof Transpose) {
      ImmutableIntArray permutation = ((Transpose) operator).permutation();
      Arrays.setAll(strides, axis -> own[permutation.get(axis)]);
    } else if (operator instanceof StridedSlice) {
      StridedSlice slice = (StridedSlice) operator;
      for (int axis = 0; axis < extents.length; axis++) {
        strides[axis] = own[axis] * slice.steps().get(axis);
        start += (long) own[axis] * slice.starts().get(axis);
      }
    } else if (operator instanceof Expand) {
      strides = shape.broadcastStrides(outputs.get(0).shape());
    } else { // each axis as two: the repeats, which do not move in the operand, and the extent
      ImmutableIntArray repeats = ((Tile) operator).repeats();
      extents = new int[2 * own.length];
      strides = new int[2 * own.length];
      for (int axis = 0; axis < own.length; axis++) {
        extents[2 * axis] = repeats.get(axis);
        extents[2 * axis + 1] = shape.extent(axis);
        strides[2 * axis + 1] = own[axis];
      }
    }
    int[] walked = extents;
    int[] steps = strides;
    long first = start;
    int[] dense = elements(walked) == 0 ? new int[walked.length] : Shape.of(walked).strides();
    if (elements(walked) > 0) {
      Walk.of(walked, steps, dense); // so that what cannot run is refused before it is planned
    }
    return kernel(
        "strided " + operator.name().toLowerCase(java.util.Locale.ROOT),
        o -> move(walked, o.in(0), first, steps, o.out(), 0, dense));
  }

  private CudaKernel gather(Gather gather) {
    Shape data = inputs.get(0).shape();
    int along = gather.axis() < 0 ? gather.axis() + data.rank() : gather.axis();
    long n = outputs.get(0).elements();
    int size = inputs.get(0).dataType().sizeBytes();
    String indices = inputs.get(1).dataType() == DataType.I32 ? "i32" : "i64";
    return kernel(
        "gather",
        o ->
            n == 0
                ? List.of()
                : List.of(
                    Launches.kernel(
                        toolbox.function(MOVE, "gather_" + size + "_" + indices),
                        LaunchDimensions.forElements(n),
                        new KernelArguments()
                            .longInteger(n)
                            .longInteger(inputs.get(1).elements())
                            .longInteger(data.strides()[along])
                            .longInteger(data.extent(along))
                            .address(o.in(0))
                            .address(o.in(1))
                            .address(o.out())
                            .integer(o.node())
                            .address(o.report()))));
  }

  private CudaKernel pad(Pad pad) {
    Shape in = inputs.get(0).shape();
    Shape out = outputs.get(0).shape();
    checkRank(out.rank());
    int size = inputs.get(0).dataType().sizeBytes();
    return kernel(
        "pad",
        o ->
            out.elements() == 0
                ? List.of()
                : List.of(
                    Launches.kernel(
                        toolbox.function(MOVE, "pad_" + size),
                        LaunchDimensions.forElements(out.elements()),
                        new KernelArguments()
                            .longInteger(out.elements())
                            .integer(out.rank())
                            .integers(out.toArray(), Walk.MOST_AXES)
                            .integers(in.toArray(), Walk.MOST_AXES)
                            .integers(in.strides(), Walk.MOST_AXES)
                            .integers(pad.before().toArray(), Walk.MOST_AXES)
                            .integer(pad.mode().ordinal())
                            .address(o.in(0))
                            .address(inputs.size() > 1 ? o.in(1) : null)
                            .address(o.out()))));
  }

  private static void checkRank(int rank) {
    if (rank > Walk.MOST_AXES) {
      throw new InvalidModelException(
          "has " + rank + " axes; the CUDA device has kernels for " + Walk.MOST_AXES);
    }
  }

  private CudaKernel resize(Resize resize) {
    TensorType in = inputs.get(0);
    Shape out = outputs.get(0).shape();
    checkRank(out.rank());
    boolean nearest = resize.mode() == Resize.Mode.NEAREST;
    return kernel(
        nearest ? "resize nearest" : "resize interpolating",
        o -> out.elements() == 0 ? List.of() : List.of(resize(resize, in, out, o)));
  }

  private Launch resize(Resize resize, TensorType in, Shape out, Operands operands) {
    KernelArguments arguments =
        new KernelArguments()
            .longInteger(out.elements())
            .integer(out.rank())
            .integers(out.toArray(), Walk.MOST_AXES)
            .integers(in.shape().toArray(), Walk.MOST_AXES)
            .integers(in.shape().strides(), Walk.MOST_AXES);
    double[] scales = resize.scales().toArray();
    LaunchDimensions size = LaunchDimensions.forElements(out.elements());
    if (resize.mode() == Resize.Mode.NEAREST) {
      arguments
          .doubles(scales, Walk.MOST_AXES)
          .integer(resize.transform().ordinal())
          .integer(resize.rounding().ordinal())
          .address(operands.in(0))
          .address(operands.out());
      String name = "resize_nearest_" + in.dataType().sizeBytes();
      return Launches.kernel(toolbox.function("resize.cu", name), size, arguments);
    }
    int[] resized = new int[out.rank()];
    boolean shifts = resize.transform() == Resize.Transform.TF_HALF_PIXEL_FOR_NN; // at any scale
    for (int axis = 0; axis < resized.length; axis++) {
      boolean kept = scales[axis] == 1 && out.extent(axis) == in.shape().extent(axis);
      resized[axis] = kept && !shifts ? 0 : 1;
    }
    arguments
        .integers(resized, Walk.MOST_AXES)
        .doubles(scales, Walk.MOST_AXES)
        .integer(resize.transform().ordinal())
        .integer(resize.mode() == Resize.Mode.LINEAR ? 2 : 4)
        .number(resize.cubicCoefficient())
        .integer(resize.excludeOutside() ? 1 : 0)
        .address(operands.in(0))
        .address(operands.out());
    String name = "interpolate_" + CType.suffix(in.dataType());
    return Launches.kernel(toolbox.function("resize.cu", name), size, arguments);
  }
}
