package dev.nimble.op;

import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * Combines the elements along some axes into one. Floating results are accumulated in double
 * precision and rounded once; integer results in 64 bits. Over no elements, Sum gives 0, Prod 1,
 * Max and Min the least and greatest value of the type.
 *
 * @param function how
 * @param axes which axes, rising and not negative; none reduces nothing
 * @param keepDims whether reduced axes stay, with extent 1
 */
public record Reduce(Function function, ImmutableIntArray axes, boolean keepDims)
    implements Operator {
  /** The reductions of ONNX. */
  public enum Function {
    SUM("ReduceSum"),
    MEAN("ReduceMean"),
    MAX("ReduceMax"),
    MIN("ReduceMin"),
    PROD("ReduceProd"),
    L1("ReduceL1"),
    L2("ReduceL2"),
    LOG_SUM("ReduceLogSum"),
    LOG_SUM_EXP("ReduceLogSumExp"),
    SUM_SQUARE("ReduceSumSquare");

    private final String onnxName;

    Function(String onnxName) {
      this.onnxName = onnxName;
    }
  }

  @Override
  public String name() {
    return function.onnxName;
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 1, 1);
    TensorType type = inputs.get(0);
    Checks.numeric(type);
    if (function != Function.SUM && function != Function.PROD) {
      Checks.notUnsignedLong(type);
    }
    if (function == Function.L2
        || function == Function.LOG_SUM
        || function == Function.LOG_SUM_EXP) {
      Checks.floating(type);
    }
    int rank = type.shape().rank();
    boolean[] reduced = new boolean[rank];
    for (int axis : axes.asList()) {
      Checks.that(
          axis >= 0 && axis < rank && !reduced[axis],
          "axes " + axes + " are not distinct axes of " + type);
      reduced[axis] = true;
    }
    ImmutableIntArray.Builder extents = ImmutableIntArray.builder();
    for (int axis = 0; axis < rank; axis++) {
      if (!reduced[axis]) {
        extents.add(type.shape().extent(axis));
      } else if (keepDims) {
        extents.add(1);
      }
    }
    return List.of(new TensorType(type.dataType(), Shape.of(extents.build().toArray())));
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor in = inputs.get(0);
    Tensor out = outputs.get(0);
    Shape shape = in.type().shape();
    int[] kept = new int[shape.rank()];
    int[] gone = new int[shape.rank()];
    for (int axis = 0; axis < shape.rank(); axis++) {
      boolean reduced = axes.contains(axis);
      kept[axis] = reduced ? 1 : shape.extent(axis);
      gone[axis] = reduced ? shape.extent(axis) : 1;
    }
    Odometer outer = new Odometer(Shape.of(kept), shape.strides());
    Odometer inner = new Odometer(Shape.of(gone), shape.strides());
    int outerCount = out.type().elements();
    int innerCount = Shape.of(gone).elements();
    boolean floating = in.type().dataType().isFloating();
    return () -> {
      outer.reset();
      for (int i = 0; i < outerCount; i++, outer.next()) {
        if (floating) {
          out.setDouble(i, combineDoubles(in, outer.offset(0), inner, innerCount));
        } else {
          out.setLong(i, combineLongs(in, outer.offset(0), inner, innerCount));
        }
      }
    };
  }

  private double combineDoubles(Tensor in, int start, Odometer inner, int count) {
    inner.reset();
    double largest = Double.NEGATIVE_INFINITY;
    if (function == Function.LOG_SUM_EXP) {
      for (int j = 0; j < count; j++, inner.next()) {
        largest = Math.max(largest, in.getDouble(start + inner.offset(0)));
      }
      largest = Double.isInfinite(largest) ? 0 : largest;
      inner.reset();
    }
    double result = function == Function.PROD ? 1 : 0;
    result = function == Function.MAX ? Double.NEGATIVE_INFINITY : result;
    result = function == Function.MIN ? Double.POSITIVE_INFINITY : result;
    for (int j = 0; j < count; j++, inner.next()) {
      double x = in.getDouble(start + inner.offset(0));
      switch (function) {
        case PROD:
          result *= x;
          break;
        case MAX:
          result = Math.max(result, x);
          break;
        case MIN:
          result = Math.min(result, x);
          break;
        case L1:
          result += Math.abs(x);
          break;
        case L2:
        case SUM_SQUARE:
          result += x * x;
          break;
        case LOG_SUM_EXP:
          result += Math.exp(x - largest);
          break;
        default:
          result += x;
          break;
      }
    }
    switch (function) {
      case MEAN:
        return result / count;
      case L2:
        return Math.sqrt(result);
      case LOG_SUM:
        return Math.log(result);
      case LOG_SUM_EXP:
        return Math.log(result) + largest;
      default:
        return result;
    }
  }

  private long combineLongs(Tensor in, int start, Odometer inner, int count) {
    inner.reset();
    DataType type = in.type().dataType();
    long result = function == Function.PROD ? 1 : 0;
    result = function == Function.MAX ? least(type) : result;
    result = function == Function.MIN ? greatest(type) : result;
    for (int j = 0; j < count; j++, inner.next()) {
      long x = in.getLong(start + inner.offset(0));
      switch (function) {
        case PROD:
          result *= x;
          break;
        case MAX:
          result = Math.max(result, x);
          break;
        case MIN:
          result = Math.min(result, x);
          break;
        case L1:
          result += Math.abs(x);
          break;
        case SUM_SQUARE:
          result += x * x;
          break;
        default:
          result += x;
          break;
      }
    }
    return function == Function.MEAN ? (count == 0 ? 0 : result / count) : result;
  }

  private static long least(DataType type) {
    switch (type) {
      case I64:
        return Long.MIN_VALUE;
      case I32:
        return Integer.MIN_VALUE;
      case I16:
        return Short.MIN_VALUE;
      case I8:
        return Byte.MIN_VALUE;
      default:
        return 0;
    }
  }

  private static long greatest(DataType type) {
    return type.isUnsigned() ? (1L << 8 * type.sizeBytes()) - 1 : -(least(type) + 1);
  }

  @Override
  public String toString() {
    return name() + "(axes=" + axes + (keepDims ? ", keepDims)" : ")");
  }
}
