package dev.nimble.device.cpu;

import dev.nimble.graph.DataType;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.op.Conv;
import dev.nimble.op.ConvTranspose;
import dev.nimble.op.KernelChoice;
import dev.nimble.op.Unary;
import dev.nimble.op.Window;
import java.nio.FloatBuffer;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Convolutions over one or two spatial axes in single precision, with bias and activation.
 * Depthwise convolutions are summed row by row; others are matrix products whose right side, the
 * windows, is written straight into the product's panel and never exists as a whole. Transposed
 * convolutions whose windows do not overlap are a product whose rows are spread over the result.
 */
final class ConvKernel implements CpuKernel {
  private final Operator operator;
  private final List<TensorType> inputs;
  private final List<TensorType> outputs;
  private final Plane in;
  private final Plane out;
  private final Plane kernel;
  private final int images;
  private final int channels;
  private final int filters;
  private final int group;
  private final @Nullable Unary activation;
  private final int strideH;
  private final int strideW;
  private final int dilationH;
  private final int dilationW;
  private final int padH;
  private final int padW;

  /** Height and width; height is 1 where there is one spatial axis. */
  private record Plane(int height, int width) {
    static Plane of(Shape shape) {
      return new Plane(shape.rank() == 4 ? shape.extent(2) : 1, shape.extent(-1));
    }

    int area() {
      return height * width;
    }
  }

  private ConvKernel(
      Operator operator,
      Window window,
      int group,
      @Nullable Unary activation,
      List<TensorType> inputs,
      List<TensorType> outputs) {
    this.operator = operator;
    this.inputs = inputs;
    this.outputs = outputs;
    this.in = Plane.of(inputs.get(0).shape());
    this.out = Plane.of(outputs.get(0).shape());
    this.kernel = Plane.of(inputs.get(1).shape());
    this.images = inputs.get(0).shape().extent(0);
    this.channels = inputs.get(0).shape().extent(1);
    this.filters = outputs.get(0).shape().extent(1);
    this.group = group;
    this.activation = activation;
    int rank = window.rank();
    this.strideH = rank == 2 ? window.strides().get(0) : 1;
    this.strideW = window.strides().get(rank - 1);
    this.dilationH = rank == 2 ? window.dilations().get(0) : 1;
    this.dilationW = window.dilations().get(rank - 1);
    this.padH = rank == 2 ? window.padsBefore().get(0) : 0;
    this.padW = window.padsBefore().get(rank - 1);
  }

  /** The kernel, or null if the operator or a type is not for it. */
  static @Nullable CpuKernel of(
      Operator operator, List<TensorType> inputs, List<TensorType> outputs) {
    boolean single = inputs.stream().allMatch(type -> type.dataType() == DataType.F32);
    if (!single
        || outputs.isEmpty()
        || outputs.get(0).elements() == 0
        || inputs.get(0).elements() == 0) {
      return null;
    }
    if (operator instanceof Conv && ((Conv) operator).window().rank() <= 2) {
      Conv conv = (Conv) operator;
      return new ConvKernel(conv, conv.window(), conv.group(), conv.activation(), inputs, outputs);
    }
    if (operator instanceof ConvTranspose && isSpread((ConvTranspose) operator, inputs)) {
      ConvTranspose conv = (ConvTranspose) operator;
      return new ConvKernel(conv, conv.window(), 1, conv.activation(), inputs, outputs);
    }
    return null;
  }

  /** Whether each element of the result belongs to one window. */
  private static boolean isSpread(ConvTranspose conv, List<TensorType> inputs) {
    Window window = conv.window();
    boolean spread = window.rank() <= 2 && conv.group() == 1;
    for (int i = 0; spread && i < window.rank(); i++) {
      spread =
          window.strides().get(i) == inputs.get(1).shape().extent(2 + i)
              && window.dilations().get(i) == 1
              && window.padsBefore().get(i) == 0
              && window.padsAfter().get(i) == 0
              && conv.outputPadding().get(i) == 0;
    }
    return spread;
  }

  private boolean isDepthwise() {
    return operator instanceof Conv && group == channels && filters == channels;
  }

  @Override
  public KernelChoice choice() {
    long operations = 2L * images * filters * kernel.area() * (channels / group);
    operations *= operator instanceof Conv ? out.area() : in.area();
    String name =
        isDepthwise()
            ? "depthwise convolution"
            : operator instanceof Conv ? "product convolution" : "spread convolution";
    return KernelChoice.of(name, ReferenceKernel.demandOf(operations, inputs, outputs));
  }

  @Override
  public Runnable bind(List<Tensor> operands, List<Tensor> results, @Nullable Tensor workspace) {
    FloatBuffer x = operands.get(0).floats();
    FloatBuffer w = operands.get(1).floats();
    FloatBuffer bias = operands.size() > 2 ? operands.get(2).floats() : null;
    FloatBuffer y = results.get(0).floats();
    if (isDepthwise()) {
      return () -> depthwise(x, w, bias, y);
    }
    return operator instanceof Conv ? product(x, w, bias, y) : spread(x, w, bias, y);
  }

  private void finish(float[] row, int count, @Nullable FloatBuffer bias, int filter) {
    if (bias != null) {
      Loops.addScalar(row, bias.get(filter), count);
    }
    if (activation != null) {
      Loops.unary(activation, row, row, count);
    }
  }

  // -- products --

  private Runnable product(
      FloatBuffer x, FloatBuffer w, @Nullable FloatBuffer bias, FloatBuffer y) {
    int m = filters / group;
    int k = channels / group * kernel.area();
    int n = out.area();
    Windows windows = new Windows(x);
    Filters results = new Filters(bias, y);
    return () -> {
      for (int image = 0; image < images; image++) {
        for (int g = 0; g < group; g++) {
          windows.start = (image * channels + g * (channels / group)) * in.area();
          results.firstFilter = g * m;
          results.start = (image * filters + g * m) * n;
          Product.multiply(m, k, n, w, g * m * k, k, 1, windows, results);
        }
      }
    };
  }

  /** Row (channel, kernel row, kernel column) of the right side: that element of every window. */
  private final class Windows implements Product.Columns {
    private final FloatBuffer x;
    private final boolean dense;
    private int start;

    Windows(FloatBuffer x) {
      this.x = x;
      this.dense =
          kernel.area() == 1
              && strideH == 1
              && strideW == 1
              && padH == 0
              && padW == 0
              && in.equals(out);
    }

    @Override
    public void fill(float[][] panel, int from, int count) {
      int row = 0;
      for (int c = 0; c < channels / group; c++) {
        int plane = start + c * in.area();
        if (dense) {
          x.get(plane + from, panel[row++], 0, count);
          continue;
        }
        for (int a = 0; a < kernel.height(); a++) {
          for (int b = 0; b < kernel.width(); b++) {
            fillRow(panel[row++], plane, a, b, from, count);
          }
        }
      }
    }

    private void fillRow(float[] row, int plane, int a, int b, int from, int count) {
      int at = 0;
      while (at < count) {
        int h = (from + at) / out.width();
        int v = (from + at) % out.width();
        int run = Math.min(count - at, out.width() - v);
        int source = h * strideH + a * dilationH - padH;
        if (source < 0 || source >= in.height()) {
          Arrays.fill(row, at, at + run, 0f);
        } else {
          copyRow(
              x,
              plane + source * in.width(),
              in.width(),
              v * strideW + b * dilationW - padW,
              strideW,
              row,
              at,
              run);
        }
        at += run;
      }
    }
  }

  /** Writes a channel's results. */
  private final class Filters implements Product.Rows {
    private final @Nullable FloatBuffer bias;
    private final FloatBuffer y;
    private int firstFilter;
    private int start;

    Filters(@Nullable FloatBuffer bias, FloatBuffer y) {
      this.bias = bias;
      this.y = y;
    }

    @Override
    public void take(float[][] tile, int first, int rows, int from, int count) {
      for (int i = 0; i < rows; i++) {
        finish(tile[i], count, bias, firstFilter + first + i);
        y.put(start + (first + i) * out.area() + from, tile[i], 0, count);
      }
    }
  }

  /**
   * Copies every {@code stride}-th element of a row of {@code width} elements, from position {@code
   * at} on, which may lie outside: there are zeros.
   */
  private static void copyRow(
      FloatBuffer x,
      int rowStart,
      int width,
      int at,
      int stride,
      float[] target,
      int offset,
      int count) {
    int before = at >= 0 ? 0 : Math.min(count, (-at + stride - 1) / stride);
    int inside = width <= at ? 0 : (width - at + stride - 1) / stride;
    int end = Math.max(before, Math.min(count, inside));
    Arrays.fill(target, offset, offset + before, 0f);
    if (stride == 1) {
      if (end > before) {
        x.get(rowStart + at + before, target, offset + before, end - before);
      }
    } else {
      for (int i = before; i < end; i++) {
        target[offset + i] = x.get(rowStart + at + i * stride);
      }
    }
    Arrays.fill(target, offset + end, offset + count, 0f);
  }

  // -- depthwise --

  private void depthwise(FloatBuffer x, FloatBuffer w, @Nullable FloatBuffer bias, FloatBuffer y) {
    Scratch scratch = Scratch.get();
    float[][] rows = scratch.blocks(5);
    for (int plane = 0; plane < images * channels; plane++) {
      int channel = plane % channels;
      int weights = channel * kernel.area();
      for (int h = 0; h < out.height(); h++) {
        for (int from = 0; from < out.width(); from += Scratch.BLOCK) {
          int count = Math.min(Scratch.BLOCK, out.width() - from);
          float[] sum = rows[4];
          Arrays.fill(sum, 0, count, 0f);
          for (int a = 0; a < kernel.height(); a++) {
            int source = h * strideH + a * dilationH - padH;
            if (source >= 0 && source < in.height()) {
              int rowStart = plane * in.area() + source * in.width();
              sumRow(x, w, weights + a * kernel.width(), rowStart, from, count, rows);
            }
          }
          finish(sum, count, bias, channel);
          y.put(plane * out.area() + h * out.width() + from, sum, 0, count);
        }
      }
    }
  }

  /** Adds one row of the kernel, up to four elements at a time. */
  private void sumRow(
      FloatBuffer x,
      FloatBuffer w,
      int weights,
      int rowStart,
      int from,
      int count,
      float[][] rows) {
    for (int b = 0; b < kernel.width(); b += 4) {
      int taps = Math.min(4, kernel.width() - b);
      for (int t = 0; t < taps; t++) {
        int at = from * strideW + (b + t) * dilationW - padW;
        copyRow(x, rowStart, in.width(), at, strideW, rows[t], 0, count);
      }
      float w0 = w.get(weights + b);
      float w1 = taps > 1 ? w.get(weights + b + 1) : 0f;
      float w2 = taps > 2 ? w.get(weights + b + 2) : 0f;
      switch (taps) {
        case 1:
          add1(rows[4], rows[0], w0, count);
          break;
        case 2:
          add2(rows[4], rows[0], rows[1], w0, w1, count);
          break;
        case 3:
          add3(rows[4], rows[0], rows[1], rows[2], w0, w1, w2, count);
          break;
        default:
          add2(rows[4], rows[0], rows[1], w0, w1, count);
          add2(rows[4], rows[2], rows[3], w2, w.get(weights + b + 3), count);
          break;
      }
    }
  }

  private static void add1(float[] sum, float[] x, float w, int n) {
    for (int i = 0; i < n; i++) {
      sum[i] = Math.fma(w, x[i], sum[i]);
    }
  }

  private static void add2(float[] sum, float[] x, float[] y, float v, float w, int n) {
    for (int i = 0; i < n; i++) {
      sum[i] = Math.fma(w, y[i], Math.fma(v, x[i], sum[i]));
    }
  }

  private static void add3(
      float[] sum, float[] x, float[] y, float[] z, float u, float v, float w, int n) {
    for (int i = 0; i < n; i++) {
      sum[i] = Math.fma(w, z[i], Math.fma(v, y[i], Math.fma(u, x[i], sum[i])));
    }
  }

  // -- transposed, without overlap --

  private Runnable spread(FloatBuffer x, FloatBuffer w, @Nullable FloatBuffer bias, FloatBuffer y) {
    int m = filters * kernel.area(); // a row for each filter and kernel element
    Planes planes = new Planes(x);
    Spread results = new Spread(bias, y);
    return () -> {
      for (int image = 0; image < images; image++) {
        planes.start = image * channels * in.area();
        results.start = image * filters * out.area();
        // W is [channels, m]: its transpose is the left side.
        Product.multiply(m, channels, in.area(), w, 0, 1, m, planes, results);
      }
    };
  }

  private final class Planes implements Product.Columns {
    private final FloatBuffer x;
    private int start;

    Planes(FloatBuffer x) {
      this.x = x;
    }

    @Override
    public void fill(float[][] panel, int from, int count) {
      for (int c = 0; c < channels; c++) {
        x.get(start + c * in.area() + from, panel[c], 0, count);
      }
    }
  }

  private final class Spread implements Product.Rows {
    private final @Nullable FloatBuffer bias;
    private final FloatBuffer y;
    private int start;

    Spread(@Nullable FloatBuffer bias, FloatBuffer y) {
      this.bias = bias;
      this.y = y;
    }

    @Override
    public void take(float[][] tile, int first, int rows, int from, int count) {
      for (int i = 0; i < rows; i++) {
        int filter = (first + i) / kernel.area();
        int a = (first + i) % kernel.area() / kernel.width();
        int b = (first + i) % kernel.width();
        finish(tile[i], count, bias, filter);
        for (int j = 0; j < count; j++) {
          int h = (from + j) / in.width();
          int v = (from + j) % in.width();
          int at = (h * strideH + a) * out.width() + v * strideW + b;
          y.put(start + filter * out.area() + at, tile[i][j]);
        }
      }
    }
  }
}
