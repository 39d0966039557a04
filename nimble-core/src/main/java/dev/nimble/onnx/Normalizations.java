package dev.nimble.onnx;

import static dev.nimble.onnx.NodeImport.axis;

import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Value;
import dev.nimble.op.BatchNormalization;
import dev.nimble.op.LayerNormalization;
import dev.nimble.op.Pool;
import dev.nimble.op.Reduce;
import dev.nimble.op.UnaryFunction;
import dev.nimble.op.Window;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/** Normalisations. */
final class Normalizations {
  private Normalizations() {}

  static List<Value> layer(NodeImport n) {
    n.count(2, 3);
    n.attributes().only("stash_type", 1);
    int rank = n.shape(0).rank();
    int first = axis(n.attributes().integer("axis", -1), rank);
    float epsilon = n.attributes().real("epsilon", 1e-5f);
    Value y = n.emit(new LayerNormalization(first, epsilon), n.operands(2, 3)).get(0);
    if (!n.wants(1) && !n.wants(2)) {
      return List.of(y);
    }
    Composition c = new Composition(n);
    int[] axes = IntStream.range(first, rank).toArray();
    Value x = n.operand(0);
    x = x.type().dataType() == DataType.F64 ? x : c.cast(x, DataType.F32);
    Value mean = c.mean(x, true, axes);
    Value far = c.sub(x, mean);
    Value variance = c.add(c.mean(c.mul(far, far), true, axes), c.scalar(x, epsilon));
    Value inverse = c.unary(UnaryFunction.RECIPROCAL, c.unary(UnaryFunction.SQRT, variance));
    return List.of(y, mean, inverse);
  }

  /** Each channel of each instance is normalised as a layer, then scaled by its own factors. */
  static List<Value> instance(NodeImport n) {
    n.count(3, 3);
    Shape x = n.shape(0);
    if (x.rank() < 3) {
      throw new InvalidModelException("needs an operand of rank 3 or more, not " + x);
    }
    Composition c = new Composition(n);
    int channels = x.extent(1);
    Value scale = perChannel(n, c, 1, channels, 1);
    Value bias = perChannel(n, c, 2, channels, 1);
    Shape plane = Shape.of(Arrays.copyOfRange(x.toArray(), 2, x.rank()));
    Value ones = c.full(n.operand(0).type().dataType(), plane, 1);
    float epsilon = n.attributes().real("epsilon", 1e-5f);
    Value normal = c.apply(new LayerNormalization(2, epsilon), n.operand(0), ones);
    return List.of(c.add(c.mul(normal, scale), bias));
  }

  /** A vector of one factor a channel, or one a group of channels, along axis 1. */
  private static Value perChannel(NodeImport n, Composition c, int index, int channels, int group) {
    Value factor = n.operand(index);
    int rank = n.shape(0).rank();
    if (factor.type().shape().equals(Shape.of(channels))) {
      return c.along(factor, 1, rank);
    }
    int groups = channels / group;
    if (group == 1 || !factor.type().shape().equals(Shape.of(groups))) {
      throw new InvalidModelException(
          "operand " + index + " must be [" + channels + "], not " + factor.type());
    }
    Value each = c.expand(c.reshape(factor, groups, 1), Shape.of(groups, group));
    return c.along(c.reshape(each, channels), 1, rank);
  }

  static List<Value> group(NodeImport n) {
    n.count(3, 3);
    n.attributes().only("stash_type", 1);
    Shape x = n.shape(0);
    int groups = n.attributes().small("num_groups", 0);
    if (x.rank() < 2 || groups < 1 || x.extent(1) % groups != 0) {
      throw new InvalidModelException(
          "num_groups = " + groups + " does not divide the channels of " + x);
    }
    Composition c = new Composition(n);
    int channels = x.extent(1);
    int size = x.elements() / Math.max(1, x.extent(0) * groups);
    Value flat = c.reshape(n.operand(0), x.extent(0), groups, size);
    Value ones = c.full(flat.type().dataType(), Shape.of(size), 1);
    float epsilon = n.attributes().real("epsilon", 1e-5f);
    Value normal = c.reshape(c.apply(new LayerNormalization(2, epsilon), flat, ones), x);
    Value scale = perChannel(n, c, 1, channels, channels / groups);
    return List.of(c.add(c.mul(normal, scale), perChannel(n, c, 2, channels, channels / groups)));
  }

  static List<Value> lp(NodeImport n) {
    n.count(1, 1);
    Composition c = new Composition(n);
    long p = n.attributes().integer("p", 2);
    if (p != 1 && p != 2) {
      throw new InvalidModelException("p must be 1 or 2, not " + p);
    }
    Value x = n.operand(0);
    int along = axis(n.attributes().integer("axis", -1), n.shape(0).rank());
    Value norm = c.reduce(p == 1 ? Reduce.Function.L1 : Reduce.Function.L2, x, true, along);
    Value none = c.equal(norm, c.scalar(x, 0)); // all are zero: they stay so
    return List.of(c.div(x, c.where(none, c.scalar(x, 1), norm)));
  }

  static List<Value> meanVariance(NodeImport n) {
    n.count(1, 1);
    Composition c = new Composition(n);
    Value x = n.operand(0);
    int rank = n.shape(0).rank();
    long[] given = n.attributes().integers("axes");
    int[] axes =
        Arrays.stream(given == null ? new long[] {0, 2, 3} : given)
            .mapToInt(a -> axis(a, rank))
            .sorted()
            .toArray();
    Value far = c.sub(x, c.mean(x, true, axes));
    Value deviation = c.unary(UnaryFunction.SQRT, c.mean(c.mul(far, far), true, axes));
    return List.of(c.div(far, c.add(deviation, c.scalar(x, 1e-9))));
  }

  /** Local response: the squares around a channel are summed as a mean pool over channels. */
  static List<Value> localResponse(NodeImport n) {
    n.count(1, 1);
    Composition c = new Composition(n);
    Value x = n.operand(0);
    Shape shape = n.shape(0);
    int size = n.attributes().small("size", 0);
    if (shape.rank() < 3 || size < 1) {
      throw new InvalidModelException("needs size and an operand [N, C, ...]");
    }
    int channels = shape.extent(1);
    int batch = shape.extent(0);
    int plane = shape.elements() / Math.max(1, batch * channels);
    Value squares = c.reshape(c.mul(x, x), batch, 1, channels, plane);
    ImmutableIntArray unit = ImmutableIntArray.of(1, 1);
    Window window =
        new Window(
            unit, unit, ImmutableIntArray.of((size - 1) / 2, 0), ImmutableIntArray.of(size / 2, 0));
    Pool pool = new Pool(Pool.Function.AVERAGE, ImmutableIntArray.of(size, 1), window, false, true);
    Value mean = c.reshape(c.apply(pool, squares), shape);
    float alpha = n.attributes().real("alpha", 1e-4f);
    Value base =
        c.add(c.mul(mean, c.scalar(x, alpha)), c.scalar(x, n.attributes().real("bias", 1)));
    return List.of(c.div(x, c.pow(base, n.attributes().real("beta", 0.75f))));
  }

  static List<Value> batch(NodeImport n) {
    n.attributes().only("spatial", 1);
    float epsilon = n.attributes().real("epsilon", 1e-5f);
    float momentum = n.attributes().real("momentum", 0.9f);
    boolean training = n.attributes().flag("training_mode", false);
    if (n.opset() < 7) {
      training = !n.attributes().flag("is_test", false);
    }
    BatchNormalization normalization = new BatchNormalization(epsilon);
    if (!training) {
      return n.emit(normalization, n.operands(5, 5));
    }
    if (n.opset() < 14) {
      throw new InvalidModelException("training is only supported from opset 14");
    }
    n.count(5, 5);
    Composition c = new Composition(n);
    Value x = n.operand(0);
    int[] axes = IntStream.range(0, n.shape(0).rank()).filter(i -> i != 1).toArray();
    Value mean = c.mean(x, true, axes);
    Value far = c.sub(x, mean);
    int channels = n.shape(0).extent(1);
    Value flatMean = c.reshape(mean, channels);
    Value variance = c.reshape(c.mean(c.mul(far, far), true, axes), channels);
    Value y = c.apply(normalization, x, n.operand(1), n.operand(2), flatMean, variance);
    return List.of(
        y,
        running(c, n.operand(3), flatMean, momentum),
        running(c, n.operand(4), variance, momentum));
  }

  private static Value running(Composition c, Value old, Value now, float momentum) {
    return c.add(
        c.mul(old, c.scalar(old, momentum)), c.mul(now, c.scalar(now, 1 - (double) momentum)));
  }
}
