package dev.nimble.onnx;

import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Value;
import dev.nimble.op.BinaryFunction;
import dev.nimble.op.UnaryFunction;
import java.util.List;

/**
 * GridSample of images: every tap of the interpolation is one gather of rows of channels, weighted
 * and added.
 */
final class GridSampling {
  private final Composition c;
  private final boolean align;
  private final String padding;
  private final int images;
  private final int height;
  private final int width;
  private final Value rows;

  private GridSampling(NodeImport n, Composition c, String padding) {
    this.c = c;
    this.padding = padding;
    this.align = n.attributes().flag("align_corners", false);
    Shape x = n.shape(0);
    images = x.extent(0);
    height = x.extent(2);
    width = x.extent(3);
    rows = c.reshape(c.transpose(n.operand(0), 0, 2, 3, 1), images * height * width, x.extent(1));
  }

  static List<Value> gridSample(NodeImport n) {
    n.count(2, 2);
    Shape x = n.shape(0);
    Shape grid = n.shape(1);
    if (x.rank() != 4
        || grid.rank() != 4
        || grid.extent(3) != 2
        || grid.extent(0) != x.extent(0)
        || x.elements() == 0) {
      throw new InvalidModelException("needs X [N, C, H, W] and a grid [N, H', W', 2]");
    }
    String padding = n.attributes().text("padding_mode", "zeros");
    if (!List.of("zeros", "border", "reflection").contains(padding)) {
      throw new InvalidModelException("padding_mode '" + padding + "' is not defined");
    }
    Composition c = new Composition(n);
    GridSampling sampling = new GridSampling(n, c, padding);
    String mode = n.attributes().text("mode", "bilinear");
    Value across = sampling.place(c.pick(n.operand(1), 3, 0), sampling.width);
    Value down = sampling.place(c.pick(n.operand(1), 3, 1), sampling.height);
    if (mode.equals("nearest")) {
      across = c.unary(UnaryFunction.ROUND, across);
      down = c.unary(UnaryFunction.ROUND, down);
    }
    if (!mode.endsWith("cubic")) { // whose taps alone are brought within the image
      across = sampling.inward(across, sampling.width);
      down = sampling.inward(down, sampling.height);
    }
    Value sum;
    switch (mode) {
      case "nearest":
        sum = sampling.tap(across, down, c.scalar(across, 1));
        break;
      case "bilinear":
      case "linear":
        sum = sampling.interpolate(across, down, 0, 2);
        break;
      case "bicubic":
      case "cubic":
        sum = sampling.interpolate(across, down, -1, 4);
        break;
      default:
        throw new InvalidModelException("mode '" + mode + "' is not defined");
    }
    return List.of(c.transpose(sum, 0, 3, 1, 2));
  }

  /** From [-1, 1] to elements. */
  private Value place(Value normal, int extent) {
    double factor = align ? (extent - 1) / 2.0 : extent / 2.0;
    double shift = align ? factor : (extent - 1) / 2.0;
    return c.add(c.mul(normal, c.scalar(normal, factor)), c.scalar(normal, shift));
  }

  private double least() {
    return align ? 0 : -0.5;
  }

  private double most(int extent) {
    return align ? extent - 1 : extent - 0.5;
  }

  /** A position as the padding mode brings it within the image; zeros leave it. */
  private Value inward(Value at, int extent) {
    switch (padding) {
      case "border":
        return within(at, extent);
      case "reflection":
        return reflected(at, extent);
      default:
        return at;
    }
  }

  private Value within(Value at, int extent) {
    return c.min(c.max(at, c.scalar(at, 0)), c.scalar(at, extent - 1));
  }

  /** A triangle wave between the image's ends. */
  private Value reflected(Value at, int extent) {
    double range = most(extent) - least();
    if (range == 0) {
      return c.mul(at, c.scalar(at, 0));
    }
    Value low = c.scalar(at, least());
    Value far = c.unary(UnaryFunction.ABS, c.sub(at, low));
    Value whole = c.scalar(at, 2 * range);
    Value turn = c.apply(new dev.nimble.op.Binary(BinaryFunction.FMOD), far, whole);
    return c.add(low, c.min(turn, c.sub(whole, turn)));
  }

  private Value interpolate(Value across, Value down, int first, int taps) {
    Value left = c.unary(UnaryFunction.FLOOR, across);
    Value top = c.unary(UnaryFunction.FLOOR, down);
    Value[] weightsAcross = weights(c.sub(across, left), taps);
    Value[] weightsDown = weights(c.sub(down, top), taps);
    Value sum = null;
    for (int i = 0; i < taps; i++) {
      for (int j = 0; j < taps; j++) {
        Value weight = c.mul(weightsDown[i], weightsAcross[j]);
        Value x = c.add(left, c.scalar(left, first + j));
        Value y = c.add(top, c.scalar(top, first + i));
        Value part = tap(x, y, weight);
        sum = sum == null ? part : c.add(sum, part);
      }
    }
    if (sum == null) {
      throw new IllegalStateException("an interpolation has taps");
    }
    return sum;
  }

  /** The weights of two or four neighbours, for a position that far after the first or second. */
  private Value[] weights(Value t, int taps) {
    Value rest = c.sub(c.scalar(t, 1), t);
    if (taps == 2) {
      return new Value[] {rest, t};
    }
    double a = -0.75;
    return new Value[] {
      outer(c.add(t, c.scalar(t, 1)), a),
      inner(t, a),
      inner(rest, a),
      outer(c.add(rest, c.scalar(t, 1)), a)
    };
  }

  /** Keys' cubic within one element of the position. */
  private Value inner(Value t, double a) {
    Value line = c.sub(c.mul(t, c.scalar(t, a + 2)), c.scalar(t, a + 3));
    return c.add(c.mul(line, c.mul(t, t)), c.scalar(t, 1));
  }

  /** And from one to two elements away. */
  private Value outer(Value t, double a) {
    Value line = c.sub(c.mul(t, c.scalar(t, a)), c.scalar(t, 5 * a));
    Value square = c.add(c.mul(line, t), c.scalar(t, 8 * a));
    return c.sub(c.mul(square, t), c.scalar(t, 4 * a));
  }

  /** The elements at whole positions, times a weight: [N, H', W', C]. */
  private Value tap(Value across, Value down, Value weight) {
    Value x = inward(across, width);
    Value y = inward(down, height);
    Value used = weight;
    if (padding.equals("zeros")) {
      Value outside = c.or(beyond(x, width), beyond(y, height));
      used = c.where(outside, c.scalar(weight, 0), weight);
    }
    Value column = c.cast(within(x, width), DataType.I64);
    Value row = c.cast(within(y, height), DataType.I64);
    Value image = c.longs(Shape.of(images, 1, 1), i -> (long) i * height);
    Value place = c.add(c.mul(c.add(row, image), c.scalar(row, width)), column);
    Value picked = c.gather(rows, 0, place);
    int[] extents = java.util.Arrays.copyOf(used.type().shape().toArray(), 4);
    if (used.type().shape().rank() == 0) {
      return c.mul(picked, used);
    }
    extents[3] = 1;
    return c.mul(picked, c.reshape(used, extents));
  }

  private Value beyond(Value at, int extent) {
    return c.or(c.less(at, c.scalar(at, 0)), c.less(c.scalar(at, extent - 1), at));
  }
}
