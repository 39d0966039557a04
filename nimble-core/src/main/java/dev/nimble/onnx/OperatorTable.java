package dev.nimble.onnx;

import static dev.nimble.onnx.NodeImport.axis;
import static dev.nimble.onnx.NodeImport.ints;
import static dev.nimble.onnx.NodeImport.required;

import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedSet;
import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.ArgReduce;
import dev.nimble.op.BatchNormalization;
import dev.nimble.op.Binary;
import dev.nimble.op.BinaryFunction;
import dev.nimble.op.Cast;
import dev.nimble.op.Compare;
import dev.nimble.op.Gather;
import dev.nimble.op.Gemm;
import dev.nimble.op.GlobalPool;
import dev.nimble.op.Identity;
import dev.nimble.op.LayerNormalization;
import dev.nimble.op.Logical;
import dev.nimble.op.MatMul;
import dev.nimble.op.Not;
import dev.nimble.op.Pool;
import dev.nimble.op.Reduce;
import dev.nimble.op.Reshape;
import dev.nimble.op.Softmax;
import dev.nimble.op.Tile;
import dev.nimble.op.Unary;
import dev.nimble.op.UnaryFunction;
import dev.nimble.op.Where;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** What each ONNX operator becomes, with the differences between opsets. */
final class OperatorTable {
  static final int FIRST_OPSET = 7;
  static final int LAST_OPSET = 22;

  /** Adds what one node becomes and returns the values of its outputs, in order. */
  interface Builder {
    List<Value> build(NodeImport node);
  }

  private static final ImmutableMap<String, Builder> BUILDERS = builders();

  private OperatorTable() {}

  static boolean supports(String operator) {
    return BUILDERS.containsKey(operator);
  }

  static ImmutableSortedSet<String> names() {
    return ImmutableSortedSet.copyOf(BUILDERS.keySet());
  }

  static Builder of(String operator) {
    Builder builder = BUILDERS.get(operator);
    if (builder == null) {
      throw new InvalidModelException("is not supported");
    }
    return builder;
  }

  private static ImmutableMap<String, Builder> builders() {
    ImmutableMap.Builder<String, Builder> table = ImmutableMap.builder();
    for (UnaryFunction function : UnaryFunction.values()) {
      switch (function) {
        case CLIP:
        case GELU:
        case GELU_TANH:
        case LEAKY_RELU:
        case ELU:
        case SELU:
        case CELU:
        case THRESHOLDED_RELU:
        case HARD_SIGMOID:
          break; // these have attributes
        default:
          table.put(function.onnxName(), n -> n.emit(Unary.of(function), n.operands(1, 1)));
          break;
      }
    }
    table.put("Clip", OperatorTable::clip);
    table.put("Gelu", OperatorTable::gelu);
    table.put("LeakyRelu", n -> unary(n, UnaryFunction.LEAKY_RELU, 0.01f, null, 0));
    table.put("Elu", n -> unary(n, UnaryFunction.ELU, 1, null, 0));
    table.put(
        "Selu",
        n ->
            unary(
                n,
                UnaryFunction.SELU,
                1.67326319217681884765625f,
                "gamma",
                1.05070102214813232421875f));
    table.put("Celu", n -> unary(n, UnaryFunction.CELU, 1, null, 0));
    table.put("ThresholdedRelu", n -> unary(n, UnaryFunction.THRESHOLDED_RELU, 1, null, 0));
    table.put("HardSigmoid", n -> unary(n, UnaryFunction.HARD_SIGMOID, 0.2f, "beta", 0.5f));

    for (BinaryFunction function :
        List.of(
            BinaryFunction.ADD,
            BinaryFunction.SUB,
            BinaryFunction.MUL,
            BinaryFunction.DIV,
            BinaryFunction.POW)) {
      table.put(function.onnxName(), n -> n.emit(new Binary(function), n.operands(2, 2)));
    }
    table.put("PRelu", OperatorTable::pRelu);
    table.put(
        "Mod",
        n ->
            n.emit(
                new Binary(
                    n.attributes().flag("fmod", false) ? BinaryFunction.FMOD : BinaryFunction.MOD),
                n.operands(2, 2)));
    table.put("Min", n -> variadic(n, BinaryFunction.MIN));
    table.put("Max", n -> variadic(n, BinaryFunction.MAX));
    table.put("Sum", n -> variadic(n, BinaryFunction.ADD));
    table.put("Mean", OperatorTable::mean);
    for (Compare.Relation relation : Compare.Relation.values()) {
      Compare compare = new Compare(relation);
      table.put(compare.name(), n -> n.emit(compare, n.operands(2, 2)));
    }
    for (Logical.Connective connective : Logical.Connective.values()) {
      Logical logical = new Logical(connective);
      table.put(logical.name(), n -> n.emit(logical, n.operands(2, 2)));
    }
    table.put("Not", n -> n.emit(new Not(), n.operands(1, 1)));
    table.put("Where", n -> n.emit(new Where(), n.operands(3, 3)));
    table.put("Cast", OperatorTable::cast);
    table.put("CastLike", OperatorTable::castLike);
    table.put("IsNaN", OperatorTable::isNaN);
    table.put("Identity", n -> n.emit(new Identity(), n.operands(1, 1)));
    table.put("Dropout", OperatorTable::dropout);

    for (Reduce.Function function : Reduce.Function.values()) {
      String name = new Reduce(function, ImmutableIntArray.of(), false).name();
      table.put(name, n -> reduce(n, function));
    }
    table.put("ArgMax", n -> argReduce(n, true));
    table.put("ArgMin", n -> argReduce(n, false));
    table.put("Softmax", n -> softmax(n, false));
    table.put("LogSoftmax", n -> softmax(n, true));
    table.put("LayerNormalization", OperatorTable::layerNormalization);
    table.put("BatchNormalization", OperatorTable::batchNormalization);
    table.put("InstanceNormalization", OperatorTable::instanceNormalization);
    table.put("MatMul", n -> n.emit(new MatMul(), n.operands(2, 2)));
    table.put(
        "Gemm",
        n ->
            n.emit(
                new Gemm(
                    n.attributes().real("alpha", 1),
                    n.attributes().real("beta", 1),
                    n.attributes().flag("transA", false),
                    n.attributes().flag("transB", false),
                    null),
                n.operands(2, 3)));
    table.put("Conv", Windows::conv);
    table.put("ConvTranspose", Windows::convTranspose);
    table.put("MaxPool", n -> Windows.pool(n, Pool.Function.MAX));
    table.put("AveragePool", n -> Windows.pool(n, Pool.Function.AVERAGE));
    table.put(
        "GlobalAveragePool", n -> n.emit(new GlobalPool(Pool.Function.AVERAGE), n.operands(1, 1)));
    table.put("GlobalMaxPool", n -> n.emit(new GlobalPool(Pool.Function.MAX), n.operands(1, 1)));
    table.put("Resize", Windows::resize);
    table.put("Upsample", Windows::upsample);

    table.put("Constant", Constants::constant);
    table.put("ConstantOfShape", Constants::constantOfShape);
    table.put("Range", Constants::range);
    table.put("Shape", Constants::shape);
    table.put(
        "Size",
        n ->
            n.emitConstant(
                Tensor.ofLongs(Shape.scalar(), n.operands(1, 1).get(0).type().elements())));
    table.put("Reshape", Movement::reshape);
    table.put("Flatten", Movement::flatten);
    table.put("Squeeze", Movement::squeeze);
    table.put("Unsqueeze", Movement::unsqueeze);
    table.put("Transpose", Movement::transpose);
    table.put("Concat", Movement::concat);
    table.put("Split", Movement::split);
    table.put("Slice", Movement::slice);
    table.put(
        "Gather",
        n ->
            n.emit(
                new Gather(axis(n.attributes().integer("axis", 0), n.shape(0).rank())),
                n.operands(2, 2)));
    table.put("Expand", Movement::expand);
    table.put(
        "Tile",
        n ->
            n.emit(
                new Tile(ints(required(n.knownIntegers(1, "repeats"), "repeats"))),
                n.operands(2, 2).get(0)));
    table.put("Pad", Movement::pad);
    table.put("DepthToSpace", Movement::depthToSpace);
    table.put("SpaceToDepth", Movement::spaceToDepth);
    return table.buildOrThrow();
  }

  private static List<Value> unary(
      NodeImport n, UnaryFunction function, float alpha, @Nullable String second, float beta) {
    float a = n.attributes().real("alpha", alpha);
    float b = second == null ? beta : n.attributes().real(second, beta);
    return n.emit(new Unary(function, a, b), n.operands(1, 1));
  }

  private static List<Value> clip(NodeImport n) {
    n.count(1, 3);
    Value x = n.operand(0);
    boolean constant = true;
    for (int i = 1; i <= 2; i++) {
      if (n.has(i) && n.operand(i).type().elements() != 1) {
        throw new InvalidModelException("a limit must be a scalar, not " + n.operand(i).type());
      }
      constant &= !n.has(i) || n.isKnown(i);
    }
    float least = n.attributes().real("min", Float.NEGATIVE_INFINITY);
    float most = n.attributes().real("max", Float.POSITIVE_INFINITY);
    if (constant && x.type().dataType().isFloating()) {
      Tensor min = n.known(1, "min");
      Tensor max = n.known(2, "max");
      double low = min == null ? least : min.getDouble(0);
      double high = max == null ? most : max.getDouble(0);
      if (low == (float) low && high == (float) high) {
        return n.emit(new Unary(UnaryFunction.CLIP, (float) low, (float) high), x);
      }
    }
    // limits that depend on data, or that no float holds
    Binary max = new Binary(BinaryFunction.MAX);
    Binary min = new Binary(BinaryFunction.MIN);
    if (n.has(1) && n.has(2)) {
      return n.emit(min, n.extra("max", max, x, limit(n, 1)), limit(n, 2));
    }
    if (n.has(1)) {
      return n.emit(max, x, limit(n, 1));
    }
    return n.has(2) ? n.emit(min, x, limit(n, 2)) : n.emit(new Identity(), x);
  }

  /** A limit of Clip as a scalar, so that it does not raise the rank of x. */
  private static Value limit(NodeImport n, int index) {
    Value limit = n.operand(index);
    return limit.type().shape().rank() == 0
        ? limit
        : n.extra("limit" + index, new Reshape(Shape.scalar()), limit);
  }

  private static List<Value> gelu(NodeImport n) {
    String approximate = n.attributes().text("approximate", "none");
    if (!approximate.equals("none") && !approximate.equals("tanh")) {
      throw new InvalidModelException("approximate = '" + approximate + "' is not defined");
    }
    boolean tanh = approximate.equals("tanh");
    return n.emit(Unary.of(tanh ? UnaryFunction.GELU_TANH : UnaryFunction.GELU), n.operands(1, 1));
  }

  /**
   * The slope broadcasts to x only, so that a channel vector without trailing axes is not meant
   * here.
   */
  private static List<Value> pRelu(NodeImport n) {
    List<Value> operands = n.operands(2, 2);
    Shape x = operands.get(0).type().shape();
    if (!Shape.broadcast(x, operands.get(1).type().shape()).equals(x)) {
      throw new InvalidModelException("the slope does not broadcast to x");
    }
    return n.emit(new Binary(BinaryFunction.PRELU), operands);
  }

  private static List<Value> variadic(NodeImport n, BinaryFunction function) {
    List<Value> operands = n.operands(1, Integer.MAX_VALUE);
    if (operands.size() == 1) {
      return n.emit(new Identity(), operands);
    }
    Value sum = operands.get(0);
    for (int i = 1; i < operands.size() - 1; i++) {
      sum = n.extra(Integer.toString(i), new Binary(function), sum, operands.get(i));
    }
    return n.emit(new Binary(function), sum, operands.get(operands.size() - 1));
  }

  private static List<Value> mean(NodeImport n) {
    List<Value> operands = n.operands(1, Integer.MAX_VALUE);
    Value sum = operands.get(0);
    for (int i = 1; i < operands.size(); i++) {
      sum = n.extra("sum" + i, new Binary(BinaryFunction.ADD), sum, operands.get(i));
    }
    Tensor count = Tensor.zeros(new TensorType(sum.type().dataType(), Shape.scalar()));
    count.setDouble(0, operands.size());
    return n.emit(new Binary(BinaryFunction.DIV), sum, n.constant("count", count));
  }

  private static List<Value> cast(NodeImport n) {
    n.attributes().ignore("saturate"); // only for types of 8 bits, which are rejected
    int to = n.attributes().small("to", 0);
    return n.emit(new Cast(TensorReader.dataType(to, "the result")), n.operands(1, 1));
  }

  private static List<Value> castLike(NodeImport n) {
    n.attributes().ignore("saturate");
    n.count(2, 2);
    return n.emit(new Cast(n.operand(1).type().dataType()), n.operand(0));
  }

  /** A NaN alone differs from itself. */
  private static List<Value> isNaN(NodeImport n) {
    n.count(1, 1);
    Value x = n.operand(0);
    return n.emit(new Not(), n.extra("equal", new Compare(Compare.Relation.EQUAL), x, x));
  }

  private static List<Value> dropout(NodeImport n) {
    n.attributes().ignore("ratio");
    n.attributes().ignore("seed");
    n.count(1, 3);
    Tensor training = n.known(2, "training_mode");
    if (training != null && training.getLong(0) != 0) {
      throw new InvalidModelException("training_mode is not supported");
    }
    return n.emit(new Identity(), n.operand(0));
  }

  private static List<Value> argReduce(NodeImport n, boolean max) {
    List<Value> operands = n.operands(1, 1);
    int axis = axis(n.attributes().integer("axis", 0), n.shape(0).rank());
    boolean keepDims = n.attributes().flag("keepdims", true);
    boolean last = n.attributes().flag("select_last_index", false);
    return n.emit(new ArgReduce(max, axis, keepDims, last), operands);
  }

  private static List<Value> reduce(NodeImport n, Reduce.Function function) {
    n.operands(1, 2);
    int rank = n.shape(0).rank();
    boolean noop = n.attributes().flag("noop_with_empty_axes", false);
    boolean keepDims = n.attributes().flag("keepdims", true);
    long[] given = n.integers("axes", 1);
    int[] axes;
    if (given == null || given.length == 0) {
      axes = noop ? new int[0] : IntStream.range(0, rank).toArray();
    } else {
      axes = Arrays.stream(given).mapToInt(a -> axis(a, rank)).distinct().sorted().toArray();
    }
    if (axes.length == 0 && noop) {
      return n.emit(new Identity(), n.operand(0));
    }
    return n.emit(new Reduce(function, ImmutableIntArray.copyOf(axes), keepDims), n.operand(0));
  }

  private static List<Value> softmax(NodeImport n, boolean log) {
    Value x = n.operands(1, 1).get(0);
    int rank = x.type().shape().rank();
    int along = axis(n.attributes().integer("axis", n.opset() < 13 ? 1 : -1), rank);
    boolean single = true; // no axis after it has more than one element
    for (int i = along + 1; i < rank; i++) {
      single &= x.type().shape().extent(i) == 1;
    }
    if (n.opset() >= 13 || single) {
      return n.emit(new Softmax(along, log), x);
    }
    // Before opset 13 all axes from `axis` on are one.
    int[] extents = x.type().shape().toArray();
    int rows = 1;
    for (int i = 0; i < along; i++) {
      rows *= extents[i];
    }
    int columns = rows == 0 ? 0 : x.type().elements() / rows;
    Value flat = n.extra("flat", new Reshape(Shape.of(rows, columns)), x);
    Value result = n.extra("softmax", new Softmax(1, log), flat);
    return n.emit(new Reshape(x.type().shape()), result);
  }

  private static List<Value> layerNormalization(NodeImport n) {
    n.attributes().only("stash_type", 1);
    return n.emit(
        new LayerNormalization(
            axis(n.attributes().integer("axis", -1), n.shape(0).rank()),
            n.attributes().real("epsilon", 1e-5f)),
        n.operands(2, 3));
  }

  /** Each channel of each instance is normalised as a layer, then scaled by its own factors. */
  private static List<Value> instanceNormalization(NodeImport n) {
    n.count(3, 3);
    TensorType x = n.operand(0).type();
    int rank = x.shape().rank();
    if (rank < 3) {
      throw new InvalidModelException("needs an operand of rank 3 or more, not " + x);
    }
    int[] perChannel = new int[rank - 1];
    Arrays.fill(perChannel, 1);
    perChannel[0] = x.shape().extent(1);
    Shape plane = Shape.of(Arrays.copyOfRange(x.shape().toArray(), 2, rank));
    Tensor ones = n.allocate(new TensorType(x.dataType(), plane));
    for (int i = 0; i < plane.elements(); i++) {
      ones.setDouble(i, 1);
    }
    Value[] factors = new Value[2];
    for (int i = 0; i < 2; i++) {
      if (!n.shape(1 + i).equals(Shape.of(perChannel[0]))) {
        throw new InvalidModelException(
            "scale and B must be [" + perChannel[0] + "], not " + n.operand(1 + i).type());
      }
      factors[i] = n.extra("factor" + i, new Reshape(Shape.of(perChannel)), n.operand(1 + i));
    }
    Value normal =
        n.extra(
            "normal",
            new LayerNormalization(2, n.attributes().real("epsilon", 1e-5f)),
            n.operand(0),
            n.constant("ones", ones));
    Value scaled = n.extra("scaled", new Binary(BinaryFunction.MUL), normal, factors[0]);
    return n.emit(new Binary(BinaryFunction.ADD), scaled, factors[1]);
  }

  private static List<Value> batchNormalization(NodeImport n) {
    n.attributes().ignore("momentum");
    n.attributes().only("training_mode", 0);
    n.attributes().only("spatial", 1);
    return n.emit(new BatchNormalization(n.attributes().real("epsilon", 1e-5f)), n.operands(5, 5));
  }
}
