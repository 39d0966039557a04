package dev.nimble.capture;

import com.google.common.primitives.ImmutableDoubleArray;
import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.error.InvalidModelException;
import dev.nimble.error.Location;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Operand;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.op.ArgReduce;
import dev.nimble.op.Assign;
import dev.nimble.op.BatchNormalization;
import dev.nimble.op.Binary;
import dev.nimble.op.BinaryFunction;
import dev.nimble.op.Cast;
import dev.nimble.op.Compare;
import dev.nimble.op.Concat;
import dev.nimble.op.Conv;
import dev.nimble.op.ConvTranspose;
import dev.nimble.op.Expand;
import dev.nimble.op.Gather;
import dev.nimble.op.Gemm;
import dev.nimble.op.GlobalPool;
import dev.nimble.op.Identity;
import dev.nimble.op.LayerNormalization;
import dev.nimble.op.Logical;
import dev.nimble.op.MatMul;
import dev.nimble.op.Not;
import dev.nimble.op.Pad;
import dev.nimble.op.Pool;
import dev.nimble.op.Reduce;
import dev.nimble.op.Reshape;
import dev.nimble.op.Resize;
import dev.nimble.op.ShapeOf;
import dev.nimble.op.Softmax;
import dev.nimble.op.Split;
import dev.nimble.op.StridedSlice;
import dev.nimble.op.Tile;
import dev.nimble.op.Transpose;
import dev.nimble.op.Unary;
import dev.nimble.op.UnaryFunction;
import dev.nimble.op.Where;
import dev.nimble.op.Window;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The operators, as model code calls them. One set of methods serves tracing and eager execution:
 * all of them come down to {@link #applyAll}. Operands broadcast as in ONNX; axes may be negative,
 * counted from the end. What does not fit is an {@link InvalidModelException} that names the
 * module's path, the operator and the operand types.
 */
public abstract class Ops {
  private final Paths paths;
  private final boolean training;
  private final Map<Parameter, Operand> parameters = new HashMap<>();
  private final Map<Scalar, Operand> numbers = new HashMap<>();
  private Scope scope = new Scope("", false);

  /** A scalar constant: the bits of its value as a double, and its type. */
  private record Scalar(long bits, DataType dataType) {}

  /** The module whose code is running. */
  private static final class Scope {
    final String path;
    private boolean pathIsFree;

    Scope(String path, boolean isLeaf) {
      this.path = path;
      this.pathIsFree = isLeaf && !path.isEmpty();
    }

    /** A leaf's first node has the leaf's own name; others are named after their operators. */
    String nameOf(Operator operator) {
      if (pathIsFree) {
        pathIsFree = false;
        return path;
      }
      return path.isEmpty() ? operator.name() : path + "." + operator.name();
    }
  }

  Ops(Paths paths, boolean training) {
    this.paths = paths;
    this.training = training;
  }

  // -- what tracing and eager execution do each in their way --

  /** Computes or records one operator; operands are not parameters. */
  abstract List<Operand> emit(String name, Operator operator, List<Operand> operands);

  /** Makes a constant; one that is kept may be used in later steps. */
  abstract Operand constant(String name, Tensor contents, boolean kept);

  /** Makes a variable, which is kept. */
  abstract Operand variable(String name, Tensor initial);

  /** Whether operators may update it. */
  abstract boolean isVariable(Operand operand);

  // -- modules and parameters --

  /** Whether the model is captured for training. */
  public final boolean training() {
    return training;
  }

  /** Runs a module in its own scope. */
  final List<Operand> within(Module module, List<Operand> inputs) {
    String path = paths.of(module);
    Scope outer = scope;
    scope = new Scope(path, module.isLeaf());
    try {
      return List.copyOf(module.forward(this, inputs));
    } catch (InvalidModelException e) {
      if (!e.location().equals(Location.NOWHERE)) {
        throw e;
      }
      throw new InvalidModelException(
          e.what(),
          Location.ofNode(path.isEmpty() ? "model" : path, module.kind(), typesOf(inputs)),
          e);
    } finally {
      scope = outer;
    }
  }

  /** The operand itself; for a parameter what it is bound to. */
  final Operand resolved(Operand operand) {
    if (!(operand instanceof Parameter)) {
      return operand;
    }
    Parameter parameter = (Parameter) operand;
    Operand bound = parameters.get(parameter);
    if (bound == null) {
      String path = paths.of(parameter);
      bound =
          parameter.isVariable(training)
              ? variable(path, parameter.contents())
              : constant(path, parameter.contents(), true);
      parameters.put(parameter, bound);
    }
    return bound;
  }

  static String typesOf(List<Operand> operands) {
    return operands.stream().map(o -> o.type().toString()).collect(Collectors.joining(", "));
  }

  // -- the general forms --

  /** Applies an operator and returns all its results. */
  public final List<Operand> applyAll(Operator operator, List<Operand> operands) {
    String name = scope.nameOf(operator);
    List<Operand> bound = new ArrayList<>(operands.size());
    operands.forEach(operand -> bound.add(resolved(operand)));
    for (int mutated : operator.mutatedInputs()) {
      if (mutated < bound.size() && !isVariable(bound.get(mutated))) {
        throw new InvalidModelException(
            "updates its operand "
                + mutated
                + ", which must be state, or in training a parameter or buffer",
            Location.ofNode(name, operator.name(), typesOf(bound)));
      }
    }
    return emit(name, operator, bound);
  }

  /** Applies an operator of one result. */
  public final Operand apply(Operator operator, Operand... operands) {
    List<Operand> results = applyAll(operator, List.of(operands));
    if (results.size() != 1) {
      throw new InvalidModelException(
          operator + " has " + results.size() + " results; use applyAll, which returns them all");
    }
    return results.get(0);
  }

  /** A tensor that never changes; shared with the graph: do not modify. */
  public final Operand constant(Tensor contents) {
    String name = scope.path.isEmpty() ? "constant" : scope.path + ".constant";
    return constant(name, contents, false);
  }

  /**
   * A number as a constant of rank 0.
   *
   * @throws InvalidModelException if an integer type cannot hold it
   */
  public final Operand scalar(double number, DataType dataType) {
    Tensor contents = Tensor.zeros(TensorType.of(dataType));
    contents.setDouble(0, number);
    double held = contents.getDouble(0);
    if (!dataType.isFloating() && held != number) {
      throw new InvalidModelException(number + " is not a value of " + dataType);
    }
    return numbers.computeIfAbsent(
        new Scalar(Double.doubleToLongBits(held), dataType),
        key -> constant(held + ":" + dataType, contents, true));
  }

  // -- functions of one operand --

  /** |x|. */
  public final Operand abs(Operand x) {
    return apply(Unary.of(UnaryFunction.ABS), x);
  }

  /** -x. */
  public final Operand neg(Operand x) {
    return apply(Unary.of(UnaryFunction.NEG), x);
  }

  /** -1, 0 or 1. */
  public final Operand sign(Operand x) {
    return apply(Unary.of(UnaryFunction.SIGN), x);
  }

  /** max(x, 0). */
  public final Operand relu(Operand x) {
    return apply(Unary.of(UnaryFunction.RELU), x);
  }

  /** e to the x. */
  public final Operand exp(Operand x) {
    return apply(Unary.of(UnaryFunction.EXP), x);
  }

  /** The natural logarithm. */
  public final Operand log(Operand x) {
    return apply(Unary.of(UnaryFunction.LOG), x);
  }

  /** The square root. */
  public final Operand sqrt(Operand x) {
    return apply(Unary.of(UnaryFunction.SQRT), x);
  }

  /** 1 / x. */
  public final Operand reciprocal(Operand x) {
    return apply(Unary.of(UnaryFunction.RECIPROCAL), x);
  }

  /** The next integer below. */
  public final Operand floor(Operand x) {
    return apply(Unary.of(UnaryFunction.FLOOR), x);
  }

  /** The next integer above. */
  public final Operand ceil(Operand x) {
    return apply(Unary.of(UnaryFunction.CEIL), x);
  }

  /** The nearest integer, ties to even. */
  public final Operand round(Operand x) {
    return apply(Unary.of(UnaryFunction.ROUND), x);
  }

  /** The error function. */
  public final Operand erf(Operand x) {
    return apply(Unary.of(UnaryFunction.ERF), x);
  }

  /** 1 / (1 + exp(-x)). */
  public final Operand sigmoid(Operand x) {
    return apply(Unary.of(UnaryFunction.SIGMOID), x);
  }

  /** The hyperbolic tangent. */
  public final Operand tanh(Operand x) {
    return apply(Unary.of(UnaryFunction.TANH), x);
  }

  /** The sine. */
  public final Operand sin(Operand x) {
    return apply(Unary.of(UnaryFunction.SIN), x);
  }

  /** The cosine. */
  public final Operand cos(Operand x) {
    return apply(Unary.of(UnaryFunction.COS), x);
  }

  /** The tangent. */
  public final Operand tan(Operand x) {
    return apply(Unary.of(UnaryFunction.TAN), x);
  }

  /** The arcsine. */
  public final Operand asin(Operand x) {
    return apply(Unary.of(UnaryFunction.ASIN), x);
  }

  /** The arccosine. */
  public final Operand acos(Operand x) {
    return apply(Unary.of(UnaryFunction.ACOS), x);
  }

  /** The arctangent. */
  public final Operand atan(Operand x) {
    return apply(Unary.of(UnaryFunction.ATAN), x);
  }

  /** The hyperbolic sine. */
  public final Operand sinh(Operand x) {
    return apply(Unary.of(UnaryFunction.SINH), x);
  }

  /** The hyperbolic cosine. */
  public final Operand cosh(Operand x) {
    return apply(Unary.of(UnaryFunction.COSH), x);
  }

  /** The inverse hyperbolic sine. */
  public final Operand asinh(Operand x) {
    return apply(Unary.of(UnaryFunction.ASINH), x);
  }

  /** The inverse hyperbolic cosine. */
  public final Operand acosh(Operand x) {
    return apply(Unary.of(UnaryFunction.ACOSH), x);
  }

  /** The inverse hyperbolic tangent. */
  public final Operand atanh(Operand x) {
    return apply(Unary.of(UnaryFunction.ATANH), x);
  }

  /** log(1 + exp(x)). */
  public final Operand softplus(Operand x) {
    return apply(Unary.of(UnaryFunction.SOFTPLUS), x);
  }

  /** x / (1 + |x|). */
  public final Operand softsign(Operand x) {
    return apply(Unary.of(UnaryFunction.SOFTSIGN), x);
  }

  /** x max(0, min(1, x / 6 + 1 / 2)). */
  public final Operand hardSwish(Operand x) {
    return apply(Unary.of(UnaryFunction.HARD_SWISH), x);
  }

  /** x times the normal distribution function of x. */
  public final Operand gelu(Operand x) {
    return apply(Unary.of(UnaryFunction.GELU), x);
  }

  /** GELU by its approximation with tanh. */
  public final Operand geluTanh(Operand x) {
    return apply(Unary.of(UnaryFunction.GELU_TANH), x);
  }

  /** x tanh(softplus(x)). */
  public final Operand mish(Operand x) {
    return apply(Unary.of(UnaryFunction.MISH), x);
  }

  /** x, or alpha x where x is negative. */
  public final Operand leakyRelu(Operand x, float alpha) {
    return apply(new Unary(UnaryFunction.LEAKY_RELU, alpha, 0), x);
  }

  /** x, or alpha (exp(x) - 1) where x is negative. */
  public final Operand elu(Operand x, float alpha) {
    return apply(new Unary(UnaryFunction.ELU, alpha, 0), x);
  }

  /** max(x, 0) + min(0, alpha (exp(x / alpha) - 1)). */
  public final Operand celu(Operand x, float alpha) {
    return apply(new Unary(UnaryFunction.CELU, alpha, 0), x);
  }

  /** x where it is above alpha, else 0. */
  public final Operand thresholdedRelu(Operand x, float alpha) {
    return apply(new Unary(UnaryFunction.THRESHOLDED_RELU, alpha, 0), x);
  }

  /** gamma (x, or alpha (exp(x) - 1) where x is negative). */
  public final Operand selu(Operand x, float alpha, float gamma) {
    return apply(new Unary(UnaryFunction.SELU, alpha, gamma), x);
  }

  /** max(0, min(1, alpha x + beta)). */
  public final Operand hardSigmoid(Operand x, float alpha, float beta) {
    return apply(new Unary(UnaryFunction.HARD_SIGMOID, alpha, beta), x);
  }

  /** x, but no less than {@code least} and no more than {@code most}. */
  public final Operand clip(Operand x, float least, float most) {
    return apply(new Unary(UnaryFunction.CLIP, least, most), x);
  }

  /** x sigmoid(x). */
  public final Operand silu(Operand x) {
    return mul(x, sigmoid(x));
  }

  /** Whether x is false. */
  public final Operand not(Operand x) {
    return apply(new Not(), x);
  }

  /** x in another element type; itself if it has that type. */
  public final Operand cast(Operand x, DataType to) {
    return x.type().dataType() == to ? x : apply(new Cast(to), x);
  }

  /** A copy: what a variable holds at this point, say. */
  public final Operand identity(Operand x) {
    return apply(new Identity(), x);
  }

  // -- functions of two and three operands --

  /** a + b. */
  public final Operand add(Operand a, Operand b) {
    return apply(new Binary(BinaryFunction.ADD), a, b);
  }

  /** a + b. */
  public final Operand add(Operand a, double b) {
    return add(a, scalar(b, a.type().dataType()));
  }

  /** a - b. */
  public final Operand sub(Operand a, Operand b) {
    return apply(new Binary(BinaryFunction.SUB), a, b);
  }

  /** a - b. */
  public final Operand sub(Operand a, double b) {
    return sub(a, scalar(b, a.type().dataType()));
  }

  /** a b. */
  public final Operand mul(Operand a, Operand b) {
    return apply(new Binary(BinaryFunction.MUL), a, b);
  }

  /** a b. */
  public final Operand mul(Operand a, double b) {
    return mul(a, scalar(b, a.type().dataType()));
  }

  /** a / b; integers truncate, and give 0 for b = 0. */
  public final Operand div(Operand a, Operand b) {
    return apply(new Binary(BinaryFunction.DIV), a, b);
  }

  /** a / b; integers truncate, and give 0 for b = 0. */
  public final Operand div(Operand a, double b) {
    return div(a, scalar(b, a.type().dataType()));
  }

  /** a to the b, which may have another element type. */
  public final Operand pow(Operand a, Operand b) {
    return apply(new Binary(BinaryFunction.POW), a, b);
  }

  /** a to the b, which may have another element type. */
  public final Operand pow(Operand a, double b) {
    return pow(a, scalar(b, a.type().dataType()));
  }

  /** The smaller. */
  public final Operand min(Operand a, Operand b) {
    return apply(new Binary(BinaryFunction.MIN), a, b);
  }

  /** The smaller. */
  public final Operand min(Operand a, double b) {
    return min(a, scalar(b, a.type().dataType()));
  }

  /** The larger. */
  public final Operand max(Operand a, Operand b) {
    return apply(new Binary(BinaryFunction.MAX), a, b);
  }

  /** The larger. */
  public final Operand max(Operand a, double b) {
    return max(a, scalar(b, a.type().dataType()));
  }

  /** The remainder of a / b with the sign of b. */
  public final Operand mod(Operand a, Operand b) {
    return apply(new Binary(BinaryFunction.MOD), a, b);
  }

  /** The remainder of a / b with the sign of a. */
  public final Operand fmod(Operand a, Operand b) {
    return apply(new Binary(BinaryFunction.FMOD), a, b);
  }

  /** a - b. */
  public final Operand sub(double a, Operand b) {
    return sub(scalar(a, b.type().dataType()), b);
  }

  /** a / b. */
  public final Operand div(double a, Operand b) {
    return div(scalar(a, b.type().dataType()), b);
  }

  /** x, or slope x where x is negative. */
  public final Operand prelu(Operand x, Operand slope) {
    return apply(new Binary(BinaryFunction.PRELU), x, slope);
  }

  /** Whether a = b. */
  public final Operand equal(Operand a, Operand b) {
    return apply(new Compare(Compare.Relation.EQUAL), a, b);
  }

  /** Whether a &lt; b. */
  public final Operand less(Operand a, Operand b) {
    return apply(new Compare(Compare.Relation.LESS), a, b);
  }

  /** Whether a &lt;= b. */
  public final Operand lessOrEqual(Operand a, Operand b) {
    return apply(new Compare(Compare.Relation.LESS_OR_EQUAL), a, b);
  }

  /** Whether a &gt; b. */
  public final Operand greater(Operand a, Operand b) {
    return apply(new Compare(Compare.Relation.GREATER), a, b);
  }

  /** Whether a &gt;= b. */
  public final Operand greaterOrEqual(Operand a, Operand b) {
    return apply(new Compare(Compare.Relation.GREATER_OR_EQUAL), a, b);
  }

  /** Whether both hold. */
  public final Operand and(Operand a, Operand b) {
    return apply(new Logical(Logical.Connective.AND), a, b);
  }

  /** Whether either holds. */
  public final Operand or(Operand a, Operand b) {
    return apply(new Logical(Logical.Connective.OR), a, b);
  }

  /** Whether just one holds. */
  public final Operand xor(Operand a, Operand b) {
    return apply(new Logical(Logical.Connective.XOR), a, b);
  }

  /** x where the condition holds, else y. */
  public final Operand where(Operand condition, Operand x, Operand y) {
    return apply(new Where(), condition, x, y);
  }

  // -- variables --

  /** Replaces the contents of a variable; later reads see the new, earlier ones the old. */
  public final void assign(Operand variable, Operand value) {
    applyAll(new Assign(false), List.of(variable, value));
  }

  /** Adds to the contents of a variable; as {@link #assign}. */
  public final void assignAdd(Operand variable, Operand value) {
    applyAll(new Assign(true), List.of(variable, value));
  }

  // -- reductions and normalisation --

  /** Combines elements along axes, all if none is given; with {@code keepDims} they stay as 1. */
  public final Operand reduce(Reduce.Function function, Operand x, boolean keepDims, int... axes) {
    int rank = x.type().shape().rank();
    int[] resolved =
        axes.length == 0
            ? IntStream.range(0, rank).toArray()
            : Arrays.stream(axes).map(axis -> axis(axis, rank)).sorted().toArray();
    return apply(new Reduce(function, ImmutableIntArray.copyOf(resolved), keepDims), x);
  }

  /** The sum along axes; as {@link #reduce}. */
  public final Operand reduceSum(Operand x, boolean keepDims, int... axes) {
    return reduce(Reduce.Function.SUM, x, keepDims, axes);
  }

  /** The mean along axes; as {@link #reduce}. */
  public final Operand reduceMean(Operand x, boolean keepDims, int... axes) {
    return reduce(Reduce.Function.MEAN, x, keepDims, axes);
  }

  /** The largest element along axes; as {@link #reduce}. */
  public final Operand reduceMax(Operand x, boolean keepDims, int... axes) {
    return reduce(Reduce.Function.MAX, x, keepDims, axes);
  }

  /** The smallest element along axes; as {@link #reduce}. */
  public final Operand reduceMin(Operand x, boolean keepDims, int... axes) {
    return reduce(Reduce.Function.MIN, x, keepDims, axes);
  }

  /** The product along axes; as {@link #reduce}. */
  public final Operand reduceProd(Operand x, boolean keepDims, int... axes) {
    return reduce(Reduce.Function.PROD, x, keepDims, axes);
  }

  /** The sum of magnitudes along axes; as {@link #reduce}. */
  public final Operand reduceL1(Operand x, boolean keepDims, int... axes) {
    return reduce(Reduce.Function.L1, x, keepDims, axes);
  }

  /** The root of the sum of squares along axes; as {@link #reduce}. */
  public final Operand reduceL2(Operand x, boolean keepDims, int... axes) {
    return reduce(Reduce.Function.L2, x, keepDims, axes);
  }

  /** The logarithm of the sum along axes; as {@link #reduce}. */
  public final Operand reduceLogSum(Operand x, boolean keepDims, int... axes) {
    return reduce(Reduce.Function.LOG_SUM, x, keepDims, axes);
  }

  /** The logarithm of the sum of exponentials along axes; as {@link #reduce}. */
  public final Operand reduceLogSumExp(Operand x, boolean keepDims, int... axes) {
    return reduce(Reduce.Function.LOG_SUM_EXP, x, keepDims, axes);
  }

  /** The sum of squares along axes; as {@link #reduce}. */
  public final Operand reduceSumSquare(Operand x, boolean keepDims, int... axes) {
    return reduce(Reduce.Function.SUM_SQUARE, x, keepDims, axes);
  }

  /** Where along an axis the largest element is, as I64; the first of equal ones. */
  public final Operand argMax(Operand x, int axis, boolean keepDims) {
    return apply(new ArgReduce(true, axis, keepDims, false), x);
  }

  /** Where along an axis the smallest element is, as I64; the first of equal ones. */
  public final Operand argMin(Operand x, int axis, boolean keepDims) {
    return apply(new ArgReduce(false, axis, keepDims, false), x);
  }

  /** exp(x) / sum(exp(x)) along an axis. */
  public final Operand softmax(Operand x, int axis) {
    return apply(new Softmax(axis, false), x);
  }

  /** The logarithm of {@link #softmax}. */
  public final Operand logSoftmax(Operand x, int axis) {
    return apply(new Softmax(axis, true), x);
  }

  /** Standardises over the axes from {@code axis} on; then scale and, unless null, bias. */
  public final Operand layerNorm(
      Operand x, Operand scale, @Nullable Operand bias, int axis, float epsilon) {
    return apply(new LayerNormalization(axis, epsilon), present(x, scale, bias));
  }

  /** Normalises {@code [N, C, ...]} by fixed statistics of each channel. */
  public final Operand batchNorm(
      Operand x, Operand scale, Operand bias, Operand mean, Operand variance, float epsilon) {
    return apply(new BatchNormalization(epsilon), x, scale, bias, mean, variance);
  }

  private static Operand[] present(Operand a, Operand b, @Nullable Operand c) {
    return c == null ? new Operand[] {a, b} : new Operand[] {a, b, c};
  }

  // -- products, convolutions, pools --

  /** The matrix product over the last two axes; those before broadcast. */
  public final Operand matmul(Operand a, Operand b) {
    return apply(new MatMul(), a, b);
  }

  /** alpha op(a) op(b) + beta c, each op a transposition if asked; c may be null. */
  public final Operand gemm(
      Operand a,
      Operand b,
      @Nullable Operand c,
      float alpha,
      float beta,
      boolean transA,
      boolean transB) {
    return apply(new Gemm(alpha, beta, transA, transB, null), present(a, b, c));
  }

  /** Convolution of {@code [N, C, spatial...]} by {@code [M, C / group, kernel...]}. */
  public final Operand conv(
      Operand x, Operand weight, @Nullable Operand bias, Window window, int group) {
    return apply(new Conv(window, group), present(x, weight, bias));
  }

  /** Convolution over two spatial axes with equal strides and pads. */
  public final Operand conv2d(
      Operand x, Operand weight, @Nullable Operand bias, int stride, int pad) {
    return conv(x, weight, bias, Window.square(stride, pad), 1);
  }

  /** Transposed convolution of {@code [N, C, spatial...]} by {@code [C, M / group, kernel...]}. */
  public final Operand convTranspose(
      Operand x, Operand weight, @Nullable Operand bias, Window window, int group) {
    ImmutableIntArray none = ImmutableIntArray.copyOf(new int[window.rank()]);
    return apply(new ConvTranspose(window, none, group, null), present(x, weight, bias));
  }

  /** The largest element of each square window over two spatial axes. */
  public final Operand maxPool(Operand x, int kernel, int stride, int pad) {
    return pool(Pool.Function.MAX, x, kernel, stride, pad, false);
  }

  /** The mean of each square window over two spatial axes; padding counts if asked. */
  public final Operand averagePool(
      Operand x, int kernel, int stride, int pad, boolean countPadding) {
    return pool(Pool.Function.AVERAGE, x, kernel, stride, pad, countPadding);
  }

  private Operand pool(
      Pool.Function function, Operand x, int kernel, int stride, int pad, boolean countPadding) {
    ImmutableIntArray extents = ImmutableIntArray.of(kernel, kernel);
    return apply(new Pool(function, extents, Window.square(stride, pad), false, countPadding), x);
  }

  /** The largest element of each channel. */
  public final Operand globalMaxPool(Operand x) {
    return apply(new GlobalPool(Pool.Function.MAX), x);
  }

  /** The mean of each channel. */
  public final Operand globalAveragePool(Operand x) {
    return apply(new GlobalPool(Pool.Function.AVERAGE), x);
  }

  // -- movement --

  /** The same elements under another shape; one extent may be -1: what is left. */
  public final Operand reshape(Operand x, int... extents) {
    int[] resolved = extents.clone();
    int open = -1;
    long known = 1;
    for (int i = 0; i < extents.length; i++) {
      if (extents[i] == -1 && open < 0) {
        open = i;
      } else {
        known *= extents[i];
      }
    }
    if (open >= 0) {
      int elements = x.type().elements();
      if (known <= 0 || elements % known != 0) {
        throw new InvalidModelException(
            "cannot reshape " + x.type() + " to " + Arrays.toString(extents));
      }
      resolved[open] = (int) (elements / known);
    }
    return apply(new Reshape(Shape.of(resolved)), x);
  }

  /** A matrix: the axes before {@code axis} joined, and those from it on. */
  public final Operand flatten(Operand x, int axis) {
    Shape shape = x.type().shape();
    int at = axis == shape.rank() ? axis : axis(axis, shape.rank());
    int rows = Shape.of(Arrays.copyOf(shape.toArray(), at)).elements();
    int columns = Shape.of(Arrays.copyOfRange(shape.toArray(), at, shape.rank())).elements();
    return apply(new Reshape(Shape.of(rows, columns)), x);
  }

  /** Without these axes, which have extent 1; without any such axis if none is given. */
  public final Operand squeeze(Operand x, int... axes) {
    Shape shape = x.type().shape();
    boolean[] dropped = new boolean[shape.rank()];
    for (int axis : axes) {
      dropped[axis(axis, shape.rank())] = true;
      if (shape.extent(axis) != 1) {
        throw new InvalidModelException("cannot squeeze axis " + axis + " of " + x.type());
      }
    }
    int[] left =
        IntStream.range(0, shape.rank())
            .filter(axis -> axes.length == 0 ? shape.extent(axis) != 1 : !dropped[axis])
            .map(shape::extent)
            .toArray();
    return apply(new Reshape(Shape.of(left)), x);
  }

  /** With axes of extent 1, which have these positions in the result. */
  public final Operand unsqueeze(Operand x, int... axes) {
    Shape shape = x.type().shape();
    int rank = shape.rank() + axes.length;
    boolean[] added = new boolean[rank];
    for (int axis : axes) {
      int at = axis(axis, rank);
      if (added[at]) {
        throw new InvalidModelException("axes " + Arrays.toString(axes) + " repeat one");
      }
      added[at] = true;
    }
    int[] extents = new int[rank];
    int from = 0;
    for (int at = 0; at < rank; at++) {
      extents[at] = added[at] ? 1 : shape.extent(from++);
    }
    return apply(new Reshape(Shape.of(extents)), x);
  }

  /** Axes in another order; in reverse if none is given. */
  public final Operand transpose(Operand x, int... permutation) {
    int rank = x.type().shape().rank();
    int[] order =
        permutation.length == 0
            ? IntStream.range(0, rank).map(axis -> rank - 1 - axis).toArray()
            : Arrays.stream(permutation).map(axis -> axis(axis, rank)).toArray();
    return apply(new Transpose(ImmutableIntArray.copyOf(order)), x);
  }

  /** Operands one after the other along an axis. */
  public final Operand concat(int axis, Operand... parts) {
    return apply(new Concat(axis), parts);
  }

  /** Neighbouring parts of these extents along an axis. */
  public final List<Operand> split(Operand x, int axis, int... sizes) {
    return applyAll(new Split(axis, ImmutableIntArray.copyOf(sizes)), List.of(x));
  }

  /** {@code parts} equal neighbouring parts along an axis. */
  public final List<Operand> chunk(Operand x, int axis, int parts) {
    int extent = x.type().shape().extent(axis(axis, x.type().shape().rank()));
    if (parts < 1 || extent % parts != 0) {
      throw new InvalidModelException(
          "cannot cut axis " + axis + " of " + x.type() + " into " + parts + " equal parts");
    }
    int[] sizes = new int[parts];
    Arrays.fill(sizes, extent / parts);
    return split(x, axis, sizes);
  }

  /** Elements from {@code start} up to, not including, {@code end} along an axis. */
  public final Operand slice(Operand x, int axis, int start, int end) {
    return slice(x, axis, start, end, 1);
  }

  /**
   * Every {@code step}-th element along an axis, as ONNX slices: bounds may be negative, counted
   * from the end, and are clamped; a negative step walks backwards from {@code start}.
   */
  public final Operand slice(Operand x, int axis, int start, int end, int step) {
    Shape shape = x.type().shape();
    int at = axis(axis, shape.rank());
    int extent = shape.extent(at);
    if (step == 0) {
      throw new InvalidModelException("the step of a slice must not be 0");
    }
    int least = step > 0 ? 0 : -1;
    int most = step > 0 ? extent : extent - 1;
    int first = Math.max(least, Math.min(most, start < 0 ? start + extent : start));
    int last = Math.max(least, Math.min(most, end < 0 ? end + extent : end));
    int distance = step > 0 ? last - first : first - last;
    int[] starts = new int[shape.rank()];
    int[] steps = new int[shape.rank()];
    int[] extents = shape.toArray();
    Arrays.fill(steps, 1);
    extents[at] = distance <= 0 ? 0 : (int) ((distance - 1) / Math.abs((long) step)) + 1;
    starts[at] = extents[at] == 0 ? 0 : first;
    steps[at] = step;
    return apply(
        new StridedSlice(
            ImmutableIntArray.copyOf(starts),
            ImmutableIntArray.copyOf(extents),
            ImmutableIntArray.copyOf(steps)),
        x);
  }

  /** Rows of x along an axis, chosen by indices (I64 or I32). */
  public final Operand gather(Operand x, Operand indices, int axis) {
    return apply(new Gather(axis), x, indices);
  }

  /** x broadcast against a shape. */
  public final Operand expand(Operand x, int... extents) {
    return apply(new Expand(Shape.broadcast(x.type().shape(), Shape.of(extents))), x);
  }

  /** x with zeros before and after each axis. */
  public final Operand pad(Operand x, int[] before, int[] after) {
    return pad(x, Pad.Mode.CONSTANT, before, after);
  }

  /** x with elements added before and after each axis; a negative count removes elements. */
  public final Operand pad(Operand x, Pad.Mode mode, int[] before, int[] after) {
    return apply(
        new Pad(mode, ImmutableIntArray.copyOf(before), ImmutableIntArray.copyOf(after)), x);
  }

  /** x repeated along each axis. */
  public final Operand tile(Operand x, int... repeats) {
    return apply(new Tile(ImmutableIntArray.copyOf(repeats)), x);
  }

  /** The extents of x, as I64. */
  public final Operand shapeOf(Operand x) {
    return apply(new ShapeOf(), x);
  }

  /** The last two axes, each element repeated {@code factor} times. */
  public final Operand upsampleNearest(Operand x, int factor) {
    return upsample(x, factor, Resize.Mode.NEAREST, Resize.Transform.ASYMMETRIC);
  }

  /** The last two axes enlarged by linear interpolation between the centres of elements. */
  public final Operand upsampleLinear(Operand x, int factor) {
    return upsample(x, factor, Resize.Mode.LINEAR, Resize.Transform.HALF_PIXEL);
  }

  private Operand upsample(Operand x, int factor, Resize.Mode mode, Resize.Transform transform) {
    int[] extents = x.type().shape().toArray();
    double[] scales = new double[extents.length];
    Arrays.fill(scales, 1);
    for (int axis = Math.max(0, extents.length - 2); axis < extents.length; axis++) {
      extents[axis] *= factor;
      scales[axis] = factor;
    }
    return apply(
        new Resize(
            mode,
            transform,
            Resize.Rounding.FLOOR,
            -0.75f,
            false,
            Shape.of(extents),
            ImmutableDoubleArray.copyOf(scales)),
        x);
  }

  private static int axis(int axis, int rank) {
    if (axis < -rank || axis >= rank) {
      throw new InvalidModelException("axis " + axis + " is outside rank " + rank);
    }
    return axis < 0 ? axis + rank : axis;
  }
}
