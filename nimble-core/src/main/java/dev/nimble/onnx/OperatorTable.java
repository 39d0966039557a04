package dev.nimble.onnx;

import static dev.nimble.onnx.NodeImport.axis;

import ai.onnx.proto.OnnxMl.NodeProto;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSortedSet;
import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.ArgReduce;
import dev.nimble.op.Binary;
import dev.nimble.op.BinaryFunction;
import dev.nimble.op.Cast;
import dev.nimble.op.Compare;
import dev.nimble.op.Gather;
import dev.nimble.op.Gemm;
import dev.nimble.op.GlobalPool;
import dev.nimble.op.Identity;
import dev.nimble.op.Logical;
import dev.nimble.op.MatMul;
import dev.nimble.op.Not;
import dev.nimble.op.Pool;
import dev.nimble.op.Reduce;
import dev.nimble.op.Reshape;
import dev.nimble.op.Softmax;
import dev.nimble.op.Unary;
import dev.nimble.op.UnaryFunction;
import dev.nimble.op.Where;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** What each ONNX operator becomes, with the differences between opsets. */
final class OperatorTable {
  static final int FIRST_OPSET = 1;
  private static final String TRAINING = "ai.onnx.preview.training.";
  static final int LAST_OPSET = 22;

  /** Adds what one node becomes and returns the values of its outputs, in order. */
  interface Builder {
    List<Value> build(NodeImport node);
  }

  private static final ImmutableMap<String, Builder> BUILDERS = builders();

  private OperatorTable() {}

  static boolean supports(NodeProto node) {
    return BUILDERS.containsKey(nameOf(node));
  }

  /** The operator's name, with its domain if that is not the standard one. */
  static String nameOf(NodeProto node) {
    boolean standard = node.getDomain().isEmpty() || node.getDomain().equals("ai.onnx");
    return standard ? node.getOpType() : node.getDomain() + "." + node.getOpType();
  }

  static ImmutableSortedSet<String> names() {
    return ImmutableSortedSet.copyOf(BUILDERS.keySet());
  }

  static Builder of(NodeProto node) {
    Builder builder = BUILDERS.get(nameOf(node));
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
      table.put(function.onnxName(), n -> n.emit(new Binary(function), Legacy.aligned(n)));
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
      table.put(compare.name(), n -> n.emit(compare, Legacy.aligned(n)));
    }
    for (Logical.Connective connective : Logical.Connective.values()) {
      Logical logical = new Logical(connective);
      table.put(logical.name(), n -> n.emit(logical, Legacy.aligned(n)));
    }
    table.put("Not", n -> n.emit(new Not(), n.operands(1, 1)));
    table.put("Where", n -> n.emit(new Where(), n.operands(3, 3)));
    table.put("Cast", OperatorTable::cast);
    table.put("CastLike", OperatorTable::castLike);
    table.put("IsNaN", OperatorTable::isNaN);
    table.put("IsInf", OperatorTable::isInf);
    table.put("Shrink", OperatorTable::shrink);
    table.put("BitShift", Indexing::bitShift);
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
    table.put("Hardmax", OperatorTable::hardmax);
    table.put("LayerNormalization", Normalizations::layer);
    table.put("BatchNormalization", Normalizations::batch);
    table.put("InstanceNormalization", Normalizations::instance);
    table.put("GroupNormalization", Normalizations::group);
    table.put("LpNormalization", Normalizations::lp);
    table.put("MeanVarianceNormalization", Normalizations::meanVariance);
    table.put("LRN", Normalizations::localResponse);
    table.put("NegativeLogLikelihoodLoss", Losses::negativeLogLikelihood);
    table.put("SoftmaxCrossEntropyLoss", Losses::softmaxCrossEntropy);
    table.put("RNN", Recurrence::rnn);
    table.put("GRU", Recurrence::gru);
    table.put("LSTM", Recurrence::lstm);
    table.put("Einsum", Einsum::einsum);
    table.put("Det", OperatorTable::determinant);
    table.put("QuantizeLinear", Quantization::quantize);
    table.put("DequantizeLinear", Quantization::dequantize);
    table.put("DynamicQuantizeLinear", Quantization::dynamicQuantize);
    table.put("MatMulInteger", Quantization::matMulInteger);
    table.put("ConvInteger", Quantization::convInteger);
    table.put("QLinearMatMul", Quantization::qLinearMatMul);
    table.put("QLinearConv", Quantization::qLinearConv);
    table.put("If", ControlFlow::branch);
    table.put("Loop", ControlFlow::loop);
    table.put("Scan", ControlFlow::scan);
    table.putAll(SequenceOperators.BUILDERS);
    table.put("DFT", Signals::dft);
    table.put("STFT", Signals::stft);
    table.put("HannWindow", n -> Signals.window(n, a -> 0.5 - 0.5 * Math.cos(a)));
    table.put(
        "HammingWindow", n -> Signals.window(n, a -> 25 / 46.0 - (1 - 25 / 46.0) * Math.cos(a)));
    table.put(
        "BlackmanWindow",
        n -> Signals.window(n, a -> 0.42 - 0.5 * Math.cos(a) + 0.08 * Math.cos(2 * a)));
    table.put("MelWeightMatrix", Signals::melWeights);
    table.put(TRAINING + "Adagrad", TrainingSteps::adagrad);
    table.put(TRAINING + "Adam", TrainingSteps::adam);
    table.put(TRAINING + "Momentum", TrainingSteps::momentum);
    table.put("MatMul", n -> n.emit(new MatMul(), n.operands(2, 2)));
    table.put(
        "Gemm",
        n -> {
          if (n.opset() < 7) {
            n.attributes().ignore("broadcast"); // whether C may broadcast: it may
          }
          return n.emit(
              new Gemm(
                  n.attributes().real("alpha", 1),
                  n.attributes().real("beta", 1),
                  n.attributes().flag("transA", false),
                  n.attributes().flag("transB", false),
                  null),
              n.operands(2, 3));
        });
    table.put("Conv", Windows::conv);
    table.put("ConvTranspose", Windows::convTranspose);
    table.put("MaxPool", n -> Windows.pool(n, Pool.Function.MAX));
    table.put("AveragePool", n -> Windows.pool(n, Pool.Function.AVERAGE));
    table.put(
        "GlobalAveragePool", n -> n.emit(new GlobalPool(Pool.Function.AVERAGE), n.operands(1, 1)));
    table.put("GlobalMaxPool", n -> n.emit(new GlobalPool(Pool.Function.MAX), n.operands(1, 1)));
    table.put("MaxUnpool", Windows::maxUnpool);
    table.put("LpPool", Windows::lpPool);
    table.put("GlobalLpPool", Windows::globalLpPool);
    table.put("GridSample", GridSampling::gridSample);
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
    table.put("GatherElements", Indexing::gatherElements);
    table.put("GatherND", Indexing::gatherNd);
    table.put("Scatter", Indexing::scatterElements);
    table.put("ScatterElements", Indexing::scatterElements);
    table.put("ScatterND", Indexing::scatterNd);
    table.put("OneHot", Indexing::oneHot);
    table.put("Trilu", Indexing::trilu);
    table.put("EyeLike", Indexing::eyeLike);
    table.put("CumSum", Indexing::cumSum);
    table.put("TopK", Indexing::topK);
    table.put("ReverseSequence", Indexing::reverseSequence);
    table.put("Compress", Indexing::compress);
    table.put("NonZero", Indexing::nonZero);
    table.put("Unique", Indexing::unique);
    table.put("NonMaxSuppression", Indexing::nonMaxSuppression);
    table.put("Expand", Movement::expand);
    table.put("Tile", Movement::tile);
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
    List<Value> operands = Legacy.slope(n);
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
    int to = n.opset() < 6 ? Legacy.dataTypeNumber(n) : n.attributes().small("to", 0);
    return n.emit(new Cast(TensorReader.dataType(to, "the result")), n.operands(1, 1));
  }

  private static List<Value> castLike(NodeImport n) {
    n.attributes().ignore("saturate");
    n.count(2, 2);
    return n.emit(new Cast(n.operand(1).type().dataType()), n.operand(0));
  }

  private static List<Value> isInf(NodeImport n) {
    n.count(1, 1);
    Composition c = new Composition(n);
    Value x = n.operand(0);
    Value above = c.scalar(x, Double.POSITIVE_INFINITY);
    Value below = c.scalar(x, Double.NEGATIVE_INFINITY);
    boolean positive = n.attributes().flag("detect_positive", true);
    boolean negative = n.attributes().flag("detect_negative", true);
    if (positive && negative) {
      return List.of(c.or(c.equal(x, above), c.equal(x, below)));
    }
    // neither: nothing is less than the least
    return List.of(positive ? c.equal(x, above) : negative ? c.equal(x, below) : c.less(x, below));
  }

  private static List<Value> shrink(NodeImport n) {
    n.count(1, 1);
    Composition c = new Composition(n);
    Value x = n.operand(0);
    float limit = n.attributes().real("lambd", 0.5f);
    Value bias = c.scalar(x, n.attributes().real("bias", 0));
    if (!x.type().dataType().isFloating()) {
      throw new InvalidModelException("needs a floating-point operand, not " + x.type());
    }
    Value low = c.less(x, c.scalar(x, -limit));
    Value high = c.less(c.scalar(x, limit), x);
    Value zero = c.scalar(x, 0);
    return List.of(c.where(low, c.add(x, bias), c.where(high, c.sub(x, bias), zero)));
  }

  /** By minors of the first row; the matrices are small. */
  private static List<Value> determinant(NodeImport n) {
    n.count(1, 1);
    Shape shape = n.shape(0);
    int rank = shape.rank();
    if (rank < 2 || shape.extent(-1) != shape.extent(-2)) {
      throw new InvalidModelException("needs square matrices");
    }
    int size = shape.extent(-1);
    if (size < 1 || size > 4) {
      throw new InvalidModelException("matrices of more than 4 rows are not supported");
    }
    Composition c = new Composition(n);
    Value[][] entries = new Value[size][size];
    for (int row = 0; row < size; row++) {
      Value whole = c.pick(n.operand(0), rank - 2, row);
      for (int column = 0; column < size; column++) {
        entries[row][column] = c.pick(whole, rank - 2, column);
      }
    }
    return List.of(minor(c, entries, 0, IntStream.range(0, size).toArray()));
  }

  private static Value minor(Composition c, Value[][] entries, int row, int[] columns) {
    Value sum = null;
    for (int i = 0; i < columns.length; i++) {
      Value entry = entries[row][columns[i]];
      if (columns.length == 1) {
        return entry;
      }
      int gone = columns[i];
      int[] left = Arrays.stream(columns).filter(column -> column != gone).toArray();
      Value product = c.mul(entry, minor(c, entries, row + 1, left));
      sum = sum == null ? product : i % 2 == 0 ? c.add(sum, product) : c.sub(sum, product);
    }
    if (sum == null) {
      throw new IllegalStateException("a matrix has columns");
    }
    return sum;
  }

  /** One where the first of the largest is, zero elsewhere; before opset 13 from an axis on. */
  private static List<Value> hardmax(NodeImport n) {
    Value x = n.operands(1, 1).get(0);
    Shape shape = x.type().shape();
    int along = axis(n.attributes().integer("axis", n.opset() < 13 ? 1 : -1), shape.rank());
    Composition c = new Composition(n);
    Value flat = x;
    if (n.opset() < 13) {
      int rows = Shape.of(Arrays.copyOf(shape.toArray(), along)).elements();
      flat = c.reshape(x, rows, rows == 0 ? 0 : shape.elements() / rows);
      along = 1;
    }
    Shape own = flat.type().shape();
    Value best = c.apply(new ArgReduce(true, along, true, false), flat);
    Value hot = c.equal(best, c.counting(along, own.rank(), own.extent(along)));
    return List.of(c.reshape(c.cast(hot, x.type().dataType()), shape));
  }

  /** A NaN alone differs from itself. */
  private static List<Value> isNaN(NodeImport n) {
    n.count(1, 1);
    Value x = n.operand(0);
    return n.emit(new Not(), n.extra("equal", new Compare(Compare.Relation.EQUAL), x, x));
  }

  private static List<Value> dropout(NodeImport n) {
    float ratio = n.attributes().real("ratio", 0.5f);
    n.attributes().ignore("seed");
    n.count(1, 3);
    Tensor training = n.known(2, "training_mode");
    boolean drops = training != null && training.getLong(0) != 0;
    if (n.opset() < 7) {
      drops = !n.attributes().flag("is_test", false);
    }
    Tensor given = drops ? n.known(1, "ratio") : null;
    if (drops && (given == null ? ratio : given.getDouble(0)) != 0) {
      throw new InvalidModelException("training_mode draws random numbers; it is not supported");
    }
    Value result = n.emit(new Identity(), n.operand(0)).get(0);
    if (!n.wants(1)) {
      return List.of(result);
    }
    Composition c = new Composition(n);
    DataType type = n.opset() < 10 ? n.operand(0).type().dataType() : DataType.BOOL;
    return List.of(result, c.expand(c.scalar(type, 1), n.shape(0)));
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
}
