package dev.nimble.onnx;

import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.Binary;
import dev.nimble.op.BinaryFunction;
import dev.nimble.op.Cast;
import dev.nimble.op.Compare;
import dev.nimble.op.Concat;
import dev.nimble.op.Expand;
import dev.nimble.op.Gather;
import dev.nimble.op.Logical;
import dev.nimble.op.MatMul;
import dev.nimble.op.Not;
import dev.nimble.op.Pad;
import dev.nimble.op.Reduce;
import dev.nimble.op.Reshape;
import dev.nimble.op.StridedSlice;
import dev.nimble.op.Transpose;
import dev.nimble.op.Unary;
import dev.nimble.op.UnaryFunction;
import dev.nimble.op.Where;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntToLongFunction;
import java.util.stream.IntStream;

/**
 * Adds the several nodes that one ONNX node becomes, an operator a method. Steps that would change
 * nothing (a reshape to the same shape) add no node.
 */
final class Composition {
  private final NodeImport n;
  private int steps;

  Composition(NodeImport n) {
    this.n = n;
  }

  Value apply(Operator operator, Value... operands) {
    return n.extra(Integer.toString(++steps), operator, operands);
  }

  List<Value> applyAll(Operator operator, Value... operands) {
    return n.extras(Integer.toString(++steps), operator, operands);
  }

  Value add(Value a, Value b) {
    return apply(new Binary(BinaryFunction.ADD), a, b);
  }

  Value sub(Value a, Value b) {
    return apply(new Binary(BinaryFunction.SUB), a, b);
  }

  Value mul(Value a, Value b) {
    return apply(new Binary(BinaryFunction.MUL), a, b);
  }

  Value div(Value a, Value b) {
    return apply(new Binary(BinaryFunction.DIV), a, b);
  }

  Value min(Value a, Value b) {
    return apply(new Binary(BinaryFunction.MIN), a, b);
  }

  Value max(Value a, Value b) {
    return apply(new Binary(BinaryFunction.MAX), a, b);
  }

  Value pow(Value a, double exponent) {
    return apply(new Binary(BinaryFunction.POW), a, scalar(a, exponent));
  }

  Value unary(UnaryFunction function, Value x) {
    return apply(Unary.of(function), x);
  }

  Value compare(Compare.Relation relation, Value a, Value b) {
    return apply(new Compare(relation), a, b);
  }

  Value equal(Value a, Value b) {
    return compare(Compare.Relation.EQUAL, a, b);
  }

  Value less(Value a, Value b) {
    return compare(Compare.Relation.LESS, a, b);
  }

  Value and(Value a, Value b) {
    return apply(new Logical(Logical.Connective.AND), a, b);
  }

  Value or(Value a, Value b) {
    return apply(new Logical(Logical.Connective.OR), a, b);
  }

  Value not(Value a) {
    return apply(new Not(), a);
  }

  Value where(Value condition, Value x, Value y) {
    return apply(new Where(), condition, x, y);
  }

  Value cast(Value x, DataType to) {
    return x.type().dataType() == to ? x : apply(new Cast(to), x);
  }

  Value reshape(Value x, int... extents) {
    return reshape(x, Shape.of(extents));
  }

  Value reshape(Value x, Shape shape) {
    return x.type().shape().equals(shape) ? x : apply(new Reshape(shape), x);
  }

  Value expand(Value x, Shape shape) {
    return x.type().shape().equals(shape) ? x : apply(new Expand(shape), x);
  }

  Value transpose(Value x, int... permutation) {
    boolean same = true;
    for (int i = 0; i < permutation.length; i++) {
      same &= permutation[i] == i;
    }
    return same ? x : apply(new Transpose(ImmutableIntArray.copyOf(permutation)), x);
  }

  Value reduce(Reduce.Function function, Value x, boolean keepDims, int... axes) {
    return apply(new Reduce(function, ImmutableIntArray.copyOf(axes), keepDims), x);
  }

  Value sum(Value x, boolean keepDims, int... axes) {
    return reduce(Reduce.Function.SUM, x, keepDims, axes);
  }

  Value mean(Value x, boolean keepDims, int... axes) {
    return reduce(Reduce.Function.MEAN, x, keepDims, axes);
  }

  Value matMul(Value a, Value b) {
    return apply(new MatMul(), a, b);
  }

  Value gather(Value data, int axis, Value indices) {
    return apply(new Gather(axis), data, indices);
  }

  Value concat(int axis, List<Value> parts) {
    return parts.size() == 1 ? parts.get(0) : apply(new Concat(axis), parts.toArray(Value[]::new));
  }

  /** {@code count} elements along an axis, {@code step} apart. */
  Value slice(Value x, int axis, int from, int count, int step) {
    Shape shape = x.type().shape();
    if (from == 0 && step == 1 && count == shape.extent(axis)) {
      return x;
    }
    int[] starts = new int[shape.rank()];
    int[] extents = shape.toArray();
    int[] steps = new int[shape.rank()];
    Arrays.fill(steps, 1);
    starts[axis] = count == 0 ? 0 : from;
    extents[axis] = count;
    steps[axis] = step;
    return apply(
        new StridedSlice(
            ImmutableIntArray.copyOf(starts),
            ImmutableIntArray.copyOf(extents),
            ImmutableIntArray.copyOf(steps)),
        x);
  }

  /** Element {@code index} along an axis, which goes. */
  Value pick(Value x, int axis, int index) {
    int[] kept = IntStream.range(0, x.type().shape().rank()).filter(i -> i != axis).toArray();
    int[] extents = Arrays.stream(kept).map(x.type().shape()::extent).toArray();
    return reshape(slice(x, axis, index, 1, 1), extents);
  }

  /** Zeros before and after. */
  Value pad(Value x, int[] before, int[] after) {
    return Arrays.stream(before).allMatch(p -> p == 0) && Arrays.stream(after).allMatch(p -> p == 0)
        ? x
        : apply(
            new Pad(
                Pad.Mode.CONSTANT,
                ImmutableIntArray.copyOf(before),
                ImmutableIntArray.copyOf(after)),
            x);
  }

  Value constant(Tensor contents) {
    return n.constant(Integer.toString(++steps), contents);
  }

  /** A constant of rank 0. */
  Value scalar(DataType type, double value) {
    Tensor scalar = Tensor.zeros(new TensorType(type, Shape.scalar()));
    scalar.setDouble(0, value);
    return constant(scalar);
  }

  /** A constant of rank 0 of the element type of {@code like}. */
  Value scalar(Value like, double value) {
    return scalar(like.type().dataType(), value);
  }

  /** A constant of I64 elements. */
  Value longs(Shape shape, IntToLongFunction element) {
    Tensor tensor = n.allocate(new TensorType(DataType.I64, shape));
    for (int i = 0; i < shape.elements(); i++) {
      tensor.longs().put(i, element.applyAsLong(i));
    }
    return constant(tensor);
  }

  /** A constant with equal elements. */
  Value full(DataType type, Shape shape, double value) {
    Tensor tensor = n.allocate(new TensorType(type, shape));
    for (int i = 0; i < shape.elements() && value != 0; i++) {
      tensor.setDouble(i, value);
    }
    return constant(tensor);
  }

  /** Indices (I32 or I64) as I64 in which a negative one counts from the end of {@code extent}. */
  Value fromFront(Value indices, int extent) {
    Value wide = cast(indices, DataType.I64);
    Value zero = scalar(DataType.I64, 0);
    return where(less(wide, zero), add(wide, scalar(DataType.I64, extent)), wide);
  }

  /** A vector as the shape in which it broadcasts along {@code axis} of a tensor of that rank. */
  Value along(Value vector, int axis, int rank) {
    int[] extents = new int[rank];
    Arrays.fill(extents, 1);
    extents[axis] = vector.type().elements();
    return reshape(vector, extents);
  }

  /** 0, 1, ... along an axis, 1 elsewhere. */
  Value counting(int axis, int rank, int extent) {
    int[] extents = new int[rank];
    Arrays.fill(extents, 1);
    extents[axis] = extent;
    return longs(Shape.of(extents), i -> i);
  }
}
