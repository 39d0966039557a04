package dev.nimble.onnx;

import static dev.nimble.onnx.NodeImport.axis;

import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Value;
import dev.nimble.op.Conv;
import dev.nimble.op.Reduce;
import dev.nimble.op.UnaryFunction;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Linear quantisation. Products of integers are taken in I32, convolutions in F64, which holds
 * their sums exactly.
 */
final class Quantization {
  private Quantization() {}

  static List<Value> quantize(NodeImport n) {
    n.count(2, 3);
    n.attributes().only("block_size", 0);
    n.attributes().ignore("saturate"); // only for floats of 8 bits, which are rejected
    Composition c = new Composition(n);
    DataType to = DataType.U8;
    if (n.has(2)) {
      to = n.operand(2).type().dataType();
    } else if (n.attributes().integer("output_dtype", 0) != 0) {
      to = TensorReader.dataType(n.attributes().small("output_dtype", 0), "the result");
    }
    n.attributes().ignore("output_dtype");
    long axis = n.attributes().integer("axis", 1);
    Value scale = perAxis(n, c, c.cast(n.operand(1), DataType.F32), axis);
    Value zero = n.has(2) ? perAxis(n, c, n.operand(2), axis) : null;
    Value scaled = c.div(c.cast(n.operand(0), DataType.F32), scale);
    return List.of(saturated(c, scaled, zero, to));
  }

  /** A scalar, or a vector along an axis of operand 0. */
  private static Value perAxis(NodeImport n, Composition c, Value value, long along) {
    if (value.type().elements() == 1) {
      return c.reshape(value, Shape.scalar());
    }
    int rank = n.shape(0).rank();
    int place = axis(along, rank);
    if (value.type().shape().rank() != 1 || value.type().elements() != n.shape(0).extent(place)) {
      throw new InvalidModelException(
          "scale and zero point must be scalars or vectors along axis " + place);
    }
    return c.along(value, place, rank);
  }

  /** {@code scaled} rounded to the nearest even, plus the zero point, within the type's range. */
  private static Value saturated(Composition c, Value scaled, @Nullable Value zero, DataType to) {
    if (!to.isInteger() || to.sizeBytes() > 2) {
      throw new InvalidModelException("cannot quantize to " + to);
    }
    int bits = 8 * to.sizeBytes();
    double least = to.isUnsigned() ? 0 : -(1 << (bits - 1));
    double most = to.isUnsigned() ? (1 << bits) - 1 : (1 << (bits - 1)) - 1;
    Value rounded = c.unary(UnaryFunction.ROUND, scaled);
    if (zero != null) {
      rounded = c.add(rounded, c.cast(zero, DataType.F32));
    }
    Value within = c.min(c.max(rounded, c.scalar(rounded, least)), c.scalar(rounded, most));
    return c.cast(within, to);
  }

  static List<Value> dequantize(NodeImport n) {
    n.count(2, 3);
    n.attributes().only("block_size", 0);
    Composition c = new Composition(n);
    long axis = n.attributes().integer("axis", 1);
    DataType type = n.operand(1).type().dataType();
    Value x = c.cast(n.operand(0), DataType.I32);
    if (n.has(2)) {
      x = c.sub(x, c.cast(perAxis(n, c, n.operand(2), axis), DataType.I32));
    }
    Value scale = perAxis(n, c, c.cast(n.operand(1), DataType.F32), axis);
    return List.of(c.cast(c.mul(c.cast(x, DataType.F32), scale), type));
  }

  static List<Value> dynamicQuantize(NodeImport n) {
    n.count(1, 1);
    Composition c = new Composition(n);
    Value x = n.operand(0);
    int[] all = new int[n.shape(0).rank()];
    java.util.Arrays.setAll(all, i -> i);
    Value nothing = c.scalar(x, 0);
    Value most = c.max(c.reduce(Reduce.Function.MAX, x, false, all), nothing);
    Value least = c.min(c.reduce(Reduce.Function.MIN, x, false, all), nothing);
    Value scale = c.div(c.sub(most, least), c.scalar(x, 255));
    Value zero = saturated(c, c.div(c.sub(nothing, least), scale), null, DataType.U8);
    return List.of(saturated(c, c.div(x, scale), zero, DataType.U8), scale, zero);
  }

  static List<Value> matMulInteger(NodeImport n) {
    n.count(2, 4);
    Composition c = new Composition(n);
    return List.of(
        c.matMul(
            shifted(n, c, 0, n.has(2) ? n.operand(2) : null, true),
            shifted(n, c, 1, n.has(3) ? n.operand(3) : null, false)));
  }

  /** Operand {@code index} in I32 less its zero point: a scalar, or one a row or a column. */
  private static Value shifted(
      NodeImport n, Composition c, int index, @Nullable Value zero, boolean rows) {
    Value x = c.cast(n.operand(index), DataType.I32);
    if (zero == null) {
      return x;
    }
    Value wide = c.cast(zero, DataType.I32);
    int elements = wide.type().elements();
    if (elements == 1) {
      wide = c.reshape(wide, Shape.scalar());
    } else if (wide.type().shape().rank() == 1 && rows) {
      wide = c.reshape(wide, elements, 1);
    }
    return c.sub(x, wide);
  }

  static List<Value> convInteger(NodeImport n) {
    n.count(2, 4);
    Composition c = new Composition(n);
    Value sums =
        convolution(n, c, 0, 1, n.has(2) ? n.operand(2) : null, n.has(3) ? n.operand(3) : null);
    return List.of(c.cast(sums, DataType.I32));
  }

  /** The convolution of integers less their zero points, in F64. */
  private static Value convolution(
      NodeImport n, Composition c, int x, int w, @Nullable Value xZero, @Nullable Value wZero) {
    Value data = c.cast(shifted(n, c, x, xZero, false), DataType.F64);
    Value filters = c.cast(n.operand(w), DataType.I32);
    if (wZero != null) {
      Value zero = c.cast(wZero, DataType.I32);
      filters =
          c.sub(
              filters,
              zero.type().elements() == 1
                  ? c.reshape(zero, Shape.scalar())
                  : c.along(zero, 0, n.shape(w).rank()));
    }
    Conv conv = Windows.convOf(n, n.shape(x), n.shape(w));
    return c.apply(conv, data, c.cast(filters, DataType.F64));
  }

  static List<Value> qLinearMatMul(NodeImport n) {
    n.count(8, 8);
    Composition c = new Composition(n);
    Value product =
        c.matMul(shifted(n, c, 0, n.operand(2), true), shifted(n, c, 3, n.operand(5), false));
    Value factor =
        c.div(
            c.mul(factor(c, n.operand(1), true), factor(c, n.operand(4), false)),
            factor(c, n.operand(6), true));
    return List.of(
        saturated(
            c,
            c.mul(c.cast(product, DataType.F32), factor),
            factor(c, n.operand(7), true),
            n.operand(7).type().dataType()));
  }

  /** A scale or zero point: a scalar, or one a row or a column. */
  private static Value factor(Composition c, Value value, boolean rows) {
    Value wide = value.type().dataType().isFloating() ? c.cast(value, DataType.F32) : value;
    int elements = wide.type().elements();
    if (elements == 1) {
      return c.reshape(wide, Shape.scalar());
    }
    return wide.type().shape().rank() == 1 && rows ? c.reshape(wide, elements, 1) : wide;
  }

  static List<Value> qLinearConv(NodeImport n) {
    n.count(8, 9);
    Composition c = new Composition(n);
    int rank = n.shape(0).rank();
    Value sums = convolution(n, c, 0, 3, n.operand(2), n.operand(5));
    if (n.has(8)) {
      sums = c.add(sums, c.along(c.cast(n.operand(8), DataType.F64), 1, rank));
    }
    Value weightScale = n.operand(4);
    weightScale =
        weightScale.type().elements() == 1
            ? c.reshape(weightScale, Shape.scalar())
            : c.along(weightScale, 1, rank);
    Value factor =
        c.div(
            c.mul(c.reshape(n.operand(1), Shape.scalar()), weightScale),
            c.reshape(n.operand(6), Shape.scalar()));
    return List.of(
        saturated(
            c,
            c.mul(c.cast(sums, DataType.F32), factor),
            c.reshape(n.operand(7), Shape.scalar()),
            n.operand(7).type().dataType()));
  }
}
