package dev.nimble.onnx;

import com.google.common.primitives.ImmutableDoubleArray;
import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import dev.nimble.op.Conv;
import dev.nimble.op.ConvTranspose;
import dev.nimble.op.MaxPoolIndices;
import dev.nimble.op.Pool;
import dev.nimble.op.Resize;
import dev.nimble.op.Scatter;
import dev.nimble.op.UnaryFunction;
import dev.nimble.op.Window;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** The operators that slide a window or resample: convolutions, pools, Resize. */
final class Windows {
  private Windows() {}

  static List<Value> conv(NodeImport n) {
    List<Value> operands = n.operands(2, 3);
    return n.emit(convOf(n, n.shape(0), n.shape(1)), operands);
  }

  /** The convolution that the node's attributes describe, of X and W of these shapes. */
  static Conv convOf(NodeImport n, Shape x, Shape w) {
    if (w.rank() < 3 || w.rank() != x.rank()) {
      throw new InvalidModelException("X and W need one rank of 3 or more");
    }
    Window window = window(n, kernelOf(n, w), x, false);
    return new Conv(window, n.attributes().small("group", 1));
  }

  /** The kernel's extents from W, with which the attribute must agree. */
  private static int[] kernelOf(NodeImport n, Shape w) {
    if (w.rank() < 3 || w.rank() != n.shape(0).rank()) {
      throw new InvalidModelException("X and W need one rank of 3 or more");
    }
    int[] kernel = Arrays.copyOfRange(w.toArray(), 2, w.rank());
    long[] given = n.attributes().integers("kernel_shape");
    if (given != null && !Arrays.equals(given, Arrays.stream(kernel).asLongStream().toArray())) {
      throw new InvalidModelException(
          "kernel_shape " + Arrays.toString(given) + " contradicts W " + w);
    }
    return kernel;
  }

  /** Reads strides, dilations and pads; works out the pads of {@code auto_pad}. */
  private static Window window(NodeImport n, int[] kernel, Shape x, boolean ceil) {
    int rank = kernel.length;
    if (x.rank() != rank + 2) {
      throw new InvalidModelException(
          "a kernel of " + rank + " axes does not fit the operand " + x);
    }
    int[] strides = list(n, "strides", rank, 1);
    int[] dilations = list(n, "dilations", rank, 1);
    int[] pads = list(n, "pads", 2 * rank, 0);
    String auto = n.attributes().text("auto_pad", "NOTSET");
    for (int i = 0; i < rank && !auto.equals("NOTSET"); i++) {
      long total = 0;
      if (auto.startsWith("SAME_")) {
        if (strides[i] < 1) {
          throw new InvalidModelException("strides must be positive");
        }
        long extent = x.extent(2 + i);
        long windows = (extent + strides[i] - 1) / strides[i];
        long reach = (long) dilations[i] * (kernel[i] - 1) + 1;
        total = Math.max(0, (windows - 1) * strides[i] + reach - extent);
      } else if (!auto.equals("VALID")) {
        throw new InvalidModelException("auto_pad = '" + auto + "' is not defined");
      }
      long less = total / 2;
      pads[i] = (int) (auto.equals("SAME_UPPER") ? less : total - less);
      pads[rank + i] = (int) (total - pads[i]);
    }
    return new Window(
        ImmutableIntArray.copyOf(strides),
        ImmutableIntArray.copyOf(dilations),
        ImmutableIntArray.copyOf(Arrays.copyOf(pads, rank)),
        ImmutableIntArray.copyOf(Arrays.copyOfRange(pads, rank, 2 * rank)));
  }

  private static int[] list(NodeImport n, String name, int length, int otherwise) {
    long[] given = n.attributes().integers(name);
    if (given == null) {
      int[] list = new int[length];
      Arrays.fill(list, otherwise);
      return list;
    }
    if (given.length != length) {
      throw new InvalidModelException(name + " needs " + length + " entries, not " + given.length);
    }
    return NodeImport.ints(given).toArray();
  }

  static List<Value> convTranspose(NodeImport n) {
    List<Value> operands = n.operands(2, 3);
    int[] kernel = kernelOf(n, n.shape(1));
    int rank = kernel.length;
    int[] outputPadding = list(n, "output_padding", rank, 0);
    long[] outputShape = n.attributes().integers("output_shape");
    String auto = n.attributes().text("auto_pad", "NOTSET");
    Window window;
    if (outputShape != null || auto.startsWith("SAME_")) {
      window = transposedPads(n, kernel, outputPadding, outputShape, auto);
    } else {
      window = window(n, kernel, n.shape(0), false);
    }
    return n.emit(
        new ConvTranspose(
            window,
            ImmutableIntArray.copyOf(outputPadding),
            n.attributes().small("group", 1),
            null),
        operands);
  }

  /** The pads that give a wished result, by the formula of ConvTranspose's documentation. */
  private static Window transposedPads(
      NodeImport n, int[] kernel, int[] outputPadding, long @Nullable [] wished, String auto) {
    int rank = kernel.length;
    int[] strides = list(n, "strides", rank, 1);
    int[] dilations = list(n, "dilations", rank, 1);
    n.attributes().ignore("pads");
    int[] before = new int[rank];
    int[] after = new int[rank];
    for (int i = 0; i < rank; i++) {
      long extent = n.shape(0).extent(2 + i);
      if (wished != null && wished.length != rank && wished.length != rank + 2) {
        throw new InvalidModelException("output_shape needs " + rank + " entries");
      }
      long target = wished == null ? extent * strides[i] : wished[wished.length - rank + i];
      long total =
          strides[i] * (extent - 1)
              + outputPadding[i]
              + (long) (kernel[i] - 1) * dilations[i]
              + 1
              - target;
      if (total < 0) { // the result is longer than what reaches it: pad its end
        outputPadding[i] = NodeImport.narrow(outputPadding[i] - total);
        total = 0;
      }
      long less = total / 2;
      before[i] = NodeImport.narrow(auto.equals("SAME_UPPER") ? less : total - less);
      after[i] = NodeImport.narrow(total - before[i]);
    }
    return new Window(
        ImmutableIntArray.copyOf(strides),
        ImmutableIntArray.copyOf(dilations),
        ImmutableIntArray.copyOf(before),
        ImmutableIntArray.copyOf(after));
  }

  static List<Value> pool(NodeImport n, Pool.Function function) {
    n.operands(1, 1);
    long[] kernel = n.attributes().integers("kernel_shape");
    if (kernel == null) {
      throw new InvalidModelException("kernel_shape must be given");
    }
    boolean columnMajor = n.attributes().flag("storage_order", false);
    boolean ceil = n.attributes().flag("ceil_mode", false);
    ImmutableIntArray extents = NodeImport.ints(kernel);
    Pool pool =
        new Pool(
            function,
            extents,
            window(n, extents.toArray(), n.shape(0), ceil),
            ceil,
            n.attributes().flag("count_include_pad", false));
    List<Value> result = n.emit(pool, n.operand(0));
    if (function == Pool.Function.AVERAGE || !n.wants(1)) {
      return result;
    }
    Operator indices = new MaxPoolIndices(pool, columnMajor);
    return List.of(result.get(0), n.extra("indices", indices, n.operand(0)));
  }

  /** Each element of X goes back to where it was before a maximum pool; the rest is zero. */
  static List<Value> maxUnpool(NodeImport n) {
    n.count(2, 3);
    Shape x = n.shape(0);
    long[] kernel = NodeImport.required(n.attributes().integers("kernel_shape"), "kernel_shape");
    int rank = kernel.length;
    if (x.rank() != rank + 2 || !n.shape(1).equals(x)) {
      throw new InvalidModelException("X, I and kernel_shape do not fit");
    }
    int[] strides = list(n, "strides", rank, 1);
    int[] pads = list(n, "pads", 2 * rank, 0);
    long[] extents = new long[rank + 2];
    extents[0] = x.extent(0);
    extents[1] = x.extent(1);
    for (int i = 0; i < rank; i++) {
      extents[2 + i] = (x.extent(2 + i) - 1L) * strides[i] + kernel[i] - pads[i] - pads[rank + i];
    }
    Composition c = new Composition(n);
    Shape shape = Shape.ofLongs(extents);
    Value zeros = c.full(n.operand(0).type().dataType(), Shape.of(shape.elements()), 0);
    Value indices = c.reshape(c.cast(n.operand(1), DataType.I64), x.elements());
    Value flat =
        c.apply(
            new Scatter(Scatter.Reduction.NONE),
            zeros,
            indices,
            c.reshape(n.operand(0), x.elements()));
    Value result = c.reshape(flat, shape);
    long[] wished = n.knownIntegers(2, "output_shape");
    if (wished == null) {
      return List.of(result);
    }
    int[] after = new int[shape.rank()];
    for (int i = 0; i < after.length; i++) {
      after[i] = wished.length == after.length ? NodeImport.narrow(wished[i] - extents[i]) : -1;
      if (after[i] < 0) {
        throw new InvalidModelException(
            "output_shape " + Arrays.toString(wished) + " does not hold " + shape);
      }
    }
    return List.of(c.pad(result, new int[after.length], after));
  }

  /** The p-norm of each window: a convolution of |x|^p with ones. */
  static List<Value> lpPool(NodeImport n) {
    n.count(1, 1);
    n.attributes().only("ceil_mode", 0);
    long[] given = NodeImport.required(n.attributes().integers("kernel_shape"), "kernel_shape");
    int[] kernel = NodeImport.ints(given).toArray();
    Shape x = n.shape(0);
    Window window = window(n, kernel, x, false);
    Composition c = new Composition(n);
    double p = power(n);
    int planes = x.extent(0) * x.extent(1);
    int[] flat = x.toArray();
    flat[0] = planes;
    flat[1] = 1;
    int[] filter = new int[x.rank()];
    filter[0] = 1;
    filter[1] = 1;
    System.arraycopy(kernel, 0, filter, 2, kernel.length);
    DataType type = n.operand(0).type().dataType();
    Value powers = c.pow(c.unary(UnaryFunction.ABS, c.reshape(n.operand(0), flat)), p);
    Value sums = c.apply(new Conv(window, 1), powers, c.full(type, Shape.of(filter), 1));
    int[] result = sums.type().shape().toArray();
    result[0] = x.extent(0);
    result[1] = x.extent(1);
    return List.of(c.reshape(c.pow(sums, 1 / p), result));
  }

  static List<Value> globalLpPool(NodeImport n) {
    n.count(1, 1);
    Composition c = new Composition(n);
    int[] axes = IntStream.range(2, n.shape(0).rank()).toArray();
    double p = power(n);
    Value powers = c.pow(c.unary(UnaryFunction.ABS, n.operand(0)), p);
    return List.of(c.pow(c.sum(powers, true, axes), 1 / p));
  }

  private static double power(NodeImport n) {
    double p = n.opset() < 2 ? n.attributes().real("p", 2) : n.attributes().integer("p", 2);
    if (!(p >= 1)) {
      throw new InvalidModelException("p must be 1 or more, not " + p);
    }
    return p;
  }

  static List<Value> resize(NodeImport n) {
    n.count(1, 4);
    boolean first = n.opset() < 11; // operands x, scales; the meaning of "asymmetric"
    Attributes attributes = n.attributes();
    Tensor scales = n.known(first ? 1 : 2, "scales");
    Tensor sizes = first ? null : n.known(3, "sizes");
    attributes.ignore("extrapolation_value");
    attributes.ignore("keep_aspect_ratio_policy"); // means nothing with scales
    attributes.only("antialias", 0);
    boolean bySizes = sizes != null && sizes.type().elements() > 0;
    double[] given = perAxis(n, bySizes ? sizes : scales, bySizes);
    double[] factors = bySizes ? factors(n, given) : given;
    long[] extents = new long[given.length];
    for (int axis = 0; axis < extents.length; axis++) {
      extents[axis] = bySizes ? (long) given[axis] : scaled(n.shape(0).extent(axis), given[axis]);
    }
    return resample(
        n,
        extents,
        factors,
        mode(attributes.text("mode", "nearest")),
        first
            ? Resize.Transform.ASYMMETRIC
            : transform(attributes.text("coordinate_transformation_mode", "half_pixel")),
        first
            ? Resize.Rounding.FLOOR
            : rounding(attributes.text("nearest_mode", "round_prefer_floor")));
  }

  /** In single precision, as scales are given: 10 * 0.7f is 7. */
  private static long scaled(int extent, double scale) {
    return (long) Math.floor(extent * (float) scale);
  }

  /** Sizes or scales for every axis; an axis that {@code axes} leaves out keeps its extent. */
  private static double[] perAxis(NodeImport n, @Nullable Tensor given, boolean sizes) {
    int rank = n.shape(0).rank();
    int[] axes = resizedAxes(n);
    if (given == null || given.type().elements() != axes.length) {
      throw new InvalidModelException("needs scales or sizes for each of " + axes.length + " axes");
    }
    double[] all = new double[rank];
    for (int axis = 0; axis < rank; axis++) {
      all[axis] = sizes ? n.shape(0).extent(axis) : 1;
    }
    for (int i = 0; i < axes.length; i++) {
      all[axes[i]] = given.getDouble(i);
    }
    return all;
  }

  private static int[] resizedAxes(NodeImport n) {
    int rank = n.shape(0).rank();
    long[] axes = n.attributes().integers("axes");
    return axes == null
        ? IntStream.range(0, rank).toArray()
        : Arrays.stream(axes).mapToInt(a -> NodeImport.axis(a, rank)).toArray();
  }

  /** The scales that give {@code sizes}; those change where the aspect ratio is kept. */
  private static double[] factors(NodeImport n, double[] sizes) {
    Shape own = n.shape(0);
    double[] factors = new double[sizes.length];
    Arrays.setAll(factors, axis -> sizes[axis] / own.extent(axis));
    String policy = n.attributes().text("keep_aspect_ratio_policy", "stretch");
    boolean smaller = policy.equals("not_larger");
    if (policy.equals("stretch")) {
      return factors;
    } else if (!smaller && !policy.equals("not_smaller")) {
      throw new InvalidModelException("keep_aspect_ratio_policy '" + policy + "' is not defined");
    }
    int[] axes = resizedAxes(n);
    double common = smaller ? Double.POSITIVE_INFINITY : 0;
    for (int axis : axes) {
      common = smaller ? Math.min(common, factors[axis]) : Math.max(common, factors[axis]);
    }
    for (int axis : axes) {
      factors[axis] = common;
      sizes[axis] = Math.floor(common * own.extent(axis) + 0.5);
    }
    return factors;
  }

  static List<Value> upsample(NodeImport n) {
    n.operands(1, 2);
    Tensor scales = n.known(1, "scales");
    float[] attribute = n.attributes().reals("scales");
    if (n.attributes().has("height_scale") && n.shape(0).rank() == 4) {
      attribute =
          new float[] {
            1, 1, n.attributes().real("height_scale", 1), n.attributes().real("width_scale", 1)
          };
    }
    if (attribute != null) {
      scales = Tensor.of(Shape.of(attribute.length), attribute);
    }
    double[] factors = perAxis(n, scales, false);
    long[] extents = new long[factors.length];
    for (int axis = 0; axis < extents.length; axis++) {
      extents[axis] = scaled(n.shape(0).extent(axis), factors[axis]);
    }
    return resample(
        n,
        extents,
        factors,
        mode(n.attributes().text("mode", "nearest")),
        Resize.Transform.ASYMMETRIC,
        Resize.Rounding.FLOOR);
  }

  private static List<Value> resample(
      NodeImport n,
      long[] extents,
      double[] scales,
      Resize.Mode mode,
      Resize.Transform transform,
      Resize.Rounding rounding) {
    for (int axis = 0; axis < extents.length; axis++) {
      if (!(scales[axis] > 0 && scales[axis] < Double.POSITIVE_INFINITY)) {
        throw new InvalidModelException("cannot scale axis " + axis + " by " + scales[axis]);
      }
    }
    Operator operator =
        new Resize(
            mode,
            transform,
            rounding,
            n.attributes().real("cubic_coeff_a", -0.75f),
            n.attributes().flag("exclude_outside", false),
            Shape.ofLongs(extents),
            ImmutableDoubleArray.copyOf(scales));
    return n.emit(operator, n.operand(0));
  }

  private static Resize.Mode mode(String name) {
    switch (name) {
      case "nearest":
        return Resize.Mode.NEAREST;
      case "bilinear": // the name in opset 1
      case "linear":
        return Resize.Mode.LINEAR;
      case "cubic":
        return Resize.Mode.CUBIC;
      default:
        throw new InvalidModelException("mode '" + name + "' is not supported");
    }
  }

  private static Resize.Transform transform(String name) {
    switch (name) {
      case "half_pixel":
        return Resize.Transform.HALF_PIXEL;
      case "pytorch_half_pixel":
        return Resize.Transform.PYTORCH_HALF_PIXEL;
      case "align_corners":
        return Resize.Transform.ALIGN_CORNERS;
      case "tf_half_pixel_for_nn":
        return Resize.Transform.TF_HALF_PIXEL_FOR_NN;
      case "half_pixel_symmetric":
        return Resize.Transform.HALF_PIXEL_SYMMETRIC;
      case "asymmetric":
        return Resize.Transform.ASYMMETRIC;
      default:
        throw new InvalidModelException(
            "coordinate_transformation_mode '" + name + "' is not supported");
    }
  }

  private static Resize.Rounding rounding(String name) {
    switch (name) {
      case "round_prefer_floor":
        return Resize.Rounding.ROUND_PREFER_FLOOR;
      case "round_prefer_ceil":
        return Resize.Rounding.ROUND_PREFER_CEIL;
      case "floor":
        return Resize.Rounding.FLOOR;
      case "ceil":
        return Resize.Rounding.CEIL;
      default:
        throw new InvalidModelException("nearest_mode '" + name + "' is not supported");
    }
  }
}
