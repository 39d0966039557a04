package dev.nimble.onnx;

import static dev.nimble.onnx.NodeImport.axis;
import static dev.nimble.onnx.NodeImport.ints;
import static dev.nimble.onnx.NodeImport.narrow;

import ai.onnx.proto.OnnxMl.TensorProto;
import com.google.common.collect.ImmutableMap;
import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.BatchNormalization;
import dev.nimble.op.Binary;
import dev.nimble.op.BinaryFunction;
import dev.nimble.op.Cast;
import dev.nimble.op.Compare;
import dev.nimble.op.Concat;
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
import dev.nimble.op.ShapeOf;
import dev.nimble.op.Softmax;
import dev.nimble.op.Split;
import dev.nimble.op.StridedSlice;
import dev.nimble.op.Tile;
import dev.nimble.op.Transpose;
import dev.nimble.op.Unary;
import dev.nimble.op.UnaryFunction;
import dev.nimble.op.Where;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
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
    table.put("Selu", n -> unary(n, UnaryFunction.SELU, 1.67326319217681884765625f, "gamma",
        1.05070102214813232421875f));
    table.put("Celu", n -> unary(n, UnaryFunction.CELU, 1, null, 0));
    table.put("ThresholdedRelu", n -> unary(n, UnaryFunction.THRESHOLDED_RELU, 1, null, 0));
    table.put("HardSigmoid", n -> unary(n, UnaryFunction.HARD_SIGMOID, 0.2f, "beta", 0.5f));

    for (BinaryFunction function : List.of(BinaryFunction.ADD, BinaryFunction.SUB,
        BinaryFunction.MUL, BinaryFunction.DIV, BinaryFunction.POW)) {
      table.put(function.onnxName(), n -> n.emit(new Binary(function), n.operands(2, 2)));
    }
    table.put("PRelu", OperatorTable::pRelu);
    table.put("Mod", n -> n.emit(new Binary(
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
    table.put("Identity", n -> n.emit(new Identity(), n.operands(1, 1)));
    table.put("Dropout", OperatorTable::dropout);

    for (Reduce.Function function : Reduce.Function.values()) {
      String name = new Reduce(function, ImmutableIntArray.of(), false).name();
      table.put(name, n -> reduce(n, function));
    }
    table.put("Softmax", n -> softmax(n, false));
    table.put("LogSoftmax", n -> softmax(n, true));
    table.put("LayerNormalization", OperatorTable::layerNormalization);
    table.put("BatchNormalization", OperatorTable::batchNormalization);
    table.put("MatMul", n -> n.emit(new MatMul(), n.operands(2, 2)));
    table.put("Gemm", n -> n.emit(
        new Gemm(n.attributes().real("alpha", 1), n.attributes().real("beta", 1),
            n.attributes().flag("transA", false), n.attributes().flag("transB", false), null),
        n.operands(2, 3)));
    table.put("Conv", Windows::conv);
    table.put("ConvTranspose", Windows::convTranspose);
    table.put("MaxPool", n -> Windows.pool(n, Pool.Function.MAX));
    table.put("AveragePool", n -> Windows.pool(n, Pool.Function.AVERAGE));
    table.put("GlobalAveragePool",
        n -> n.emit(new GlobalPool(Pool.Function.AVERAGE), n.operands(1, 1)));
    table.put("GlobalMaxPool", n -> n.emit(new GlobalPool(Pool.Function.MAX), n.operands(1, 1)));
    table.put("Resize", Windows::resize);
    table.put("Upsample", Windows::upsample);

    table.put("Constant", OperatorTable::constant);
    table.put("ConstantOfShape", OperatorTable::constantOfShape);
    table.put("Range", OperatorTable::range);
    table.put("Shape", OperatorTable::shape);
    table.put("Size", n -> n.emitConstant(
        Tensor.ofLongs(Shape.scalar(), n.operands(1, 1).get(0).type().elements())));
    table.put("Reshape", OperatorTable::reshape);
    table.put("Flatten", OperatorTable::flatten);
    table.put("Squeeze", OperatorTable::squeeze);
    table.put("Unsqueeze", OperatorTable::unsqueeze);
    table.put("Transpose", OperatorTable::transpose);
    table.put("Concat", n -> n.emit(
        new Concat(axis(n.attributes().integer("axis", 1), n.shape(0).rank())),
        n.operands(1, Integer.MAX_VALUE)));
    table.put("Split", OperatorTable::split);
    table.put("Slice", OperatorTable::slice);
    table.put("Gather", n -> n.emit(
        new Gather(axis(n.attributes().integer("axis", 0), n.shape(0).rank())), n.operands(2, 2)));
    table.put("Expand", OperatorTable::expand);
    table.put("Tile", n -> n.emit(
        new Tile(ints(required(n.knownIntegers(1, "repeats"), "repeats"))),
        n.operands(2, 2).get(0)));
    table.put("Pad", OperatorTable::pad);
    return table.buildOrThrow();
  }

  static long[] required(long @Nullable [] values, String what) {
    if (values == null) {
      throw new InvalidModelException(what + " must be given");
    }
    return values;
  }

  private static List<Value> unary(
      NodeImport n, UnaryFunction function, float alpha, @Nullable String second, float beta) {
    float a = n.attributes().real("alpha", alpha);
    float b = second == null ? beta : n.attributes().real(second, beta);
    return n.emit(new Unary(function, a, b), n.operands(1, 1));
  }

  private static List<Value> clip(NodeImport n) {
    float least = n.attributes().real("min", Float.NEGATIVE_INFINITY);
    float most = n.attributes().real("max", Float.POSITIVE_INFINITY);
    boolean known = true;
    for (int i = 1; i <= 2; i++) {
      if (n.has(i) && n.operand(i).type().elements() != 1) {
        throw new InvalidModelException("a limit must be a scalar, not " + n.operand(i).type());
      }
      known &= !n.has(i) || n.isKnown(i);
    }
    if (!known) { // limits that depend on data
      Value x = n.operand(0);
      if (n.has(1)) {
        Binary max = new Binary(BinaryFunction.MAX);
        x = n.has(2) ? n.extra("min", max, x, n.operand(1)) : n.emit(max, x, n.operand(1)).get(0);
      }
      return n.has(2) ? n.emit(new Binary(BinaryFunction.MIN), x, n.operand(2)) : List.of(x);
    }
    Tensor min = n.known(1, "min");
    Tensor max = n.known(2, "max");
    least = min == null ? least : (float) min.getDouble(0);
    most = max == null ? most : (float) max.getDouble(0);
    return n.emit(new Unary(UnaryFunction.CLIP, least, most), n.operand(0));
  }

  private static List<Value> gelu(NodeImport n) {
    String approximate = n.attributes().text("approximate", "none");
    if (!approximate.equals("none") && !approximate.equals("tanh")) {
      throw new InvalidModelException("approximate = '" + approximate + "' is not defined");
    }
    boolean tanh = approximate.equals("tanh");
    return n.emit(
        Unary.of(tanh ? UnaryFunction.GELU_TANH : UnaryFunction.GELU), n.operands(1, 1));
  }

  /** The slope broadcasts to x only, so that a channel vector without trailing axes is not meant here. */
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

  private static List<Value> dropout(NodeImport n) {
    n.attributes().ignore("ratio");
    n.attributes().ignore("seed");
    n.operands(1, 3);
    Tensor training = n.known(2, "training_mode");
    if (training != null && training.getLong(0) != 0) {
      throw new InvalidModelException("training_mode is not supported");
    }
    return n.emit(new Identity(), n.operand(0));
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
    if (n.opset() >= 13 || along == rank - 1) {
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

  private static List<Value> batchNormalization(NodeImport n) {
    n.attributes().ignore("momentum");
    n.attributes().only("training_mode", 0);
    n.attributes().only("spatial", 1);
    return n.emit(
        new BatchNormalization(n.attributes().real("epsilon", 1e-5f)), n.operands(5, 5));
  }

  private static List<Value> constant(NodeImport n) {
    n.operands(0, 0);
    TensorProto tensor = n.attributes().tensor("value");
    if (tensor != null) {
      return n.emitConstant(TensorReader.read(tensor, n.limits()));
    }
    if (n.attributes().has("value_float")) {
      return n.emitConstant(Tensor.of(Shape.scalar(), n.attributes().real("value_float", 0)));
    }
    if (n.attributes().has("value_int")) {
      return n.emitConstant(
          Tensor.ofLongs(Shape.scalar(), n.attributes().integer("value_int", 0)));
    }
    float[] reals = n.attributes().reals("value_floats");
    if (reals != null) {
      return n.emitConstant(Tensor.of(Shape.of(reals.length), reals));
    }
    long[] integers = n.attributes().integers("value_ints");
    if (integers != null) {
      return n.emitConstant(Tensor.ofLongs(Shape.of(integers.length), integers));
    }
    throw new InvalidModelException("has no value that is a tensor of numbers");
  }

  private static List<Value> constantOfShape(NodeImport n) {
    n.operands(1, 1);
    Shape shape = Shape.ofLongs(required(n.knownIntegers(0, "the shape"), "the shape"));
    TensorProto proto = n.attributes().tensor("value");
    Tensor fill = proto == null ? Tensor.of(Shape.of(1), 0f) : TensorReader.read(proto, n.limits());
    if (fill.type().elements() != 1) {
      throw new InvalidModelException("value must have one element, not be " + fill.type());
    }
    TensorType type = n.checked(new TensorType(fill.type().dataType(), shape));
    Tensor result = Tensor.zeros(type);
    new Expand(shape).bind(List.of(fill.reshaped(Shape.scalar())), List.of(result)).run();
    return n.emitConstant(result);
  }

  private static List<Value> range(NodeImport n) {
    n.operands(3, 3);
    Tensor start = n.known(0, "start");
    Tensor limit = n.known(1, "limit");
    Tensor delta = n.known(2, "delta");
    if (start == null || limit == null || delta == null || start.type().elements() != 1
        || limit.type().elements() != 1 || delta.type().elements() != 1) {
      throw new InvalidModelException("start, limit and delta must be scalars");
    }
    boolean floating = start.type().dataType().isFloating();
    double count =
        Math.ceil((limit.getDouble(0) - start.getDouble(0)) / delta.getDouble(0));
    if (!(count <= Integer.MAX_VALUE)) {
      throw new InvalidModelException("has " + count + " elements");
    }
    int elements = (int) Math.max(0, count);
    TensorType type =
        n.checked(new TensorType(start.type().dataType(), Shape.of(elements)));
    Tensor result = Tensor.zeros(type);
    for (int i = 0; i < elements; i++) {
      if (floating) {
        result.setDouble(i, start.getDouble(0) + i * delta.getDouble(0));
      } else {
        result.setLong(i, start.getLong(0) + i * delta.getLong(0));
      }
    }
    return n.emitConstant(result);
  }

  private static List<Value> shape(NodeImport n) {
    Shape shape = n.operands(1, 1).get(0).type().shape();
    int rank = shape.rank();
    int start = clamp(n.attributes().integer("start", 0), rank);
    int end = clamp(n.attributes().integer("end", rank), rank);
    if (start == 0 && end == rank) {
      return n.emit(new ShapeOf(), n.operand(0));
    }
    long[] extents = new long[Math.max(0, end - start)];
    Arrays.setAll(extents, i -> shape.extent(start + i));
    return n.emitConstant(Tensor.ofLongs(Shape.of(extents.length), extents));
  }

  private static int clamp(long position, int rank) {
    return (int) Math.max(0, Math.min(rank, position < 0 ? position + rank : position));
  }

  private static List<Value> reshape(NodeImport n) {
    n.operands(2, 2);
    boolean allowZero = n.attributes().flag("allowzero", false);
    long[] wished = required(n.knownIntegers(1, "the shape"), "the shape").clone();
    Shape own = n.shape(0);
    int open = -1;
    for (int i = 0; i < wished.length; i++) {
      if (wished[i] == 0 && !allowZero) {
        if (i >= own.rank()) {
          throw new InvalidModelException("extent 0 at axis " + i + " copies no axis of the operand");
        }
        wished[i] = own.extent(i);
      } else if (wished[i] == -1) {
        if (open >= 0) {
          throw new InvalidModelException("shape " + Arrays.toString(wished) + " has -1 twice");
        }
        open = i;
      }
    }
    if (open >= 0) {
      wished[open] = 1;
      int known = Shape.ofLongs(wished).elements();
      if (known == 0 || own.elements() % known != 0) {
        wished[open] = -1;
        throw new InvalidModelException("cannot be reshaped to " + Arrays.toString(wished));
      }
      wished[open] = own.elements() / known;
    }
    return n.emit(new Reshape(Shape.ofLongs(wished)), n.operand(0));
  }

  private static List<Value> flatten(NodeImport n) {
    Shape own = n.operands(1, 1).get(0).type().shape();
    long at = n.attributes().integer("axis", 1);
    if (at < -own.rank() || at > own.rank()) {
      throw new InvalidModelException("axis " + at + " is outside rank " + own.rank());
    }
    int first = (int) (at < 0 ? at + own.rank() : at);
    long rows = 1;
    long columns = 1;
    for (int i = 0; i < own.rank(); i++) {
      rows *= i < first ? own.extent(i) : 1;
      columns *= i < first ? 1 : own.extent(i);
    }
    return n.emit(new Reshape(Shape.ofLongs(rows, columns)), n.operand(0));
  }

  private static List<Value> squeeze(NodeImport n) {
    n.operands(1, 2);
    Shape own = n.shape(0);
    long[] given = n.integers("axes", 1);
    boolean[] gone = new boolean[own.rank()];
    for (int i = 0; given == null && i < gone.length; i++) {
      gone[i] = own.extent(i) == 1;
    }
    for (int i = 0; given != null && i < given.length; i++) {
      int at = axis(given[i], own.rank());
      if (own.extent(at) != 1) {
        throw new InvalidModelException("axis " + at + " has extent " + own.extent(at) + ", not 1");
      }
      gone[at] = true;
    }
    int[] kept =
        IntStream.range(0, gone.length).filter(i -> !gone[i]).map(own::extent).toArray();
    return n.emit(new Reshape(Shape.of(kept)), n.operand(0));
  }

  private static List<Value> unsqueeze(NodeImport n) {
    n.operands(1, 2);
    Shape own = n.shape(0);
    long[] given = required(n.integers("axes", 1), "axes");
    int rank = own.rank() + given.length;
    boolean[] added = new boolean[rank];
    for (long wished : given) {
      int at = axis(wished, rank);
      if (added[at]) {
        throw new InvalidModelException("axis " + at + " is added twice");
      }
      added[at] = true;
    }
    int[] extents = new int[rank];
    int next = 0;
    for (int i = 0; i < rank; i++) {
      extents[i] = added[i] ? 1 : own.extent(next++);
    }
    return n.emit(new Reshape(Shape.of(extents)), n.operand(0));
  }

  private static List<Value> transpose(NodeImport n) {
    int rank = n.operands(1, 1).get(0).type().shape().rank();
    long[] permutation = n.attributes().integers("perm");
    if (permutation == null) {
      List<Integer> reversed = new ArrayList<>(IntStream.range(0, rank).boxed().toList());
      Collections.reverse(reversed);
      return n.emit(new Transpose(ImmutableIntArray.copyOf(reversed)), n.operand(0));
    }
    return n.emit(new Transpose(ints(permutation)), n.operand(0));
  }

  private static List<Value> split(NodeImport n) {
    n.operands(1, 2);
    int along = axis(n.attributes().integer("axis", 0), n.shape(0).rank());
    int extent = n.shape(0).extent(along);
    long[] sizes = n.integers("split", 1);
    int parts = n.attributes().small("num_outputs", n.outputCount());
    if (sizes == null) {
      if (parts < 1 || parts > Math.max(1, extent)) {
        throw new InvalidModelException("cannot split axis " + along + " into " + parts);
      }
      if (n.opset() < 18 && extent % parts != 0) {
        throw new InvalidModelException("axis " + along + " does not split evenly into " + parts);
      }
      int size = (extent + parts - 1) / parts;
      sizes = new long[parts];
      for (int i = 0; i < parts; i++) {
        sizes[i] = Math.max(0, Math.min(size, extent - i * size));
      }
    }
    return n.emit(new Split(along, ints(sizes)), n.operand(0));
  }

  private static List<Value> slice(NodeImport n) {
    n.operands(1, 5);
    Shape own = n.shape(0);
    long[] starts = required(n.integers("starts", 1), "starts");
    long[] ends = required(n.integers("ends", 2), "ends");
    long[] axes = n.integers("axes", 3);
    long[] steps = n.knownIntegers(4, "steps");
    int[] start = new int[own.rank()];
    int[] extent = own.toArray();
    int[] step = new int[own.rank()];
    Arrays.fill(step, 1);
    if (ends.length != starts.length || (axes != null && axes.length != starts.length)
        || (steps != null && steps.length != starts.length)) {
      throw new InvalidModelException("starts, ends, axes and steps differ in length");
    }
    for (int i = 0; i < starts.length; i++) {
      int at = axis(axes == null ? i : axes[i], own.rank());
      long by = steps == null ? 1 : steps[i];
      if (by == 0) {
        throw new InvalidModelException("a step is 0");
      }
      long size = own.extent(at);
      long from = starts[i] < 0 ? starts[i] + size : starts[i];
      long to = ends[i] < 0 ? ends[i] + size : ends[i];
      from = Math.max(by > 0 ? 0 : -1, Math.min(by > 0 ? size : size - 1, from));
      from = by < 0 ? Math.max(0, from) : from;
      to = Math.max(by > 0 ? 0 : -1, Math.min(size, to));
      long count = by > 0 ? (to - from + by - 1) / by : (from - to - by - 1) / -by;
      count = size == 0 ? 0 : Math.max(0, count);
      start[at] = count == 0 ? 0 : (int) from;
      extent[at] = (int) count;
      step[at] = (int) Math.max(-Integer.MAX_VALUE, Math.min(Integer.MAX_VALUE, by));
    }
    return n.emit(
        new StridedSlice(ImmutableIntArray.copyOf(start), ImmutableIntArray.copyOf(extent),
            ImmutableIntArray.copyOf(step)),
        n.operand(0));
  }

  private static List<Value> expand(NodeImport n) {
    n.operands(2, 2);
    Shape wished = Shape.ofLongs(required(n.knownIntegers(1, "the shape"), "the shape"));
    return n.emit(new Expand(Shape.broadcast(n.shape(0), wished)), n.operand(0));
  }

  private static List<Value> pad(NodeImport n) {
    n.operands(1, 4);
    int rank = n.shape(0).rank();
    long[] pads = required(n.integers("pads", 1), "pads");
    long[] axes = n.knownIntegers(3, "axes");
    int[] places =
        axes == null
            ? IntStream.range(0, rank).toArray()
            : Arrays.stream(axes).mapToInt(a -> axis(a, rank)).toArray();
    if (pads.length != 2 * places.length) {
      throw new InvalidModelException("needs two pads for each axis, not " + pads.length);
    }
    int[] before = new int[rank];
    int[] after = new int[rank];
    for (int i = 0; i < places.length; i++) {
      before[places[i]] = narrow(pads[i]);
      after[places[i]] = narrow(pads[i + places.length]);
    }
    Pad.Mode mode;
    switch (n.attributes().text("mode", "constant")) {
      case "constant":
        mode = Pad.Mode.CONSTANT;
        break;
      case "reflect":
        mode = Pad.Mode.REFLECT;
        break;
      case "edge":
        mode = Pad.Mode.EDGE;
        break;
      case "wrap":
        mode = Pad.Mode.WRAP;
        break;
      default:
        throw new InvalidModelException("mode is not one of constant, reflect, edge, wrap");
    }
    Operator operator =
        new Pad(mode, ImmutableIntArray.copyOf(before), ImmutableIntArray.copyOf(after));
    if (mode == Pad.Mode.CONSTANT && n.has(2)) {
      return n.emit(operator, n.operand(0), n.operand(2));
    }
    float fill = n.attributes().real("value", 0);
    if (mode == Pad.Mode.CONSTANT && fill != 0) {
      Tensor scalar = Tensor.zeros(new TensorType(n.operand(0).type().dataType(), Shape.scalar()));
      scalar.setDouble(0, fill);
      return n.emit(operator, n.operand(0), n.constant("value", scalar));
    }
    return n.emit(operator, n.operand(0));
  }
}
