package dev.nimble.op;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.testkit.OnnxRuntimeOracle;
import dev.nimble.testkit.RandomTensors;
import dev.nimble.testkit.Seeds;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Shape rules and reference kernels against ONNX Runtime: random shapes, types and attributes. */
class OnnxRuntimeTest {
  private static final int OPSET = 18;
  private static final DataType[] FLOATS = {DataType.F32, DataType.F64};
  private static final DataType[] NUMBERS = {
    DataType.F32, DataType.F64, DataType.I32, DataType.I64
  };

  // -- making cases --

  private static Shape shape(Random random, int rank) {
    int[] extents = new int[rank];
    for (int axis = 0; axis < rank; axis++) {
      extents[axis] = random.nextInt(12) == 0 ? 0 : 1 + random.nextInt(4);
    }
    return Shape.of(extents);
  }

  /** A shape that broadcasts with {@code shape}. */
  private static Shape partner(Random random, Shape shape) {
    int rank = random.nextInt(shape.rank() + 1);
    int[] extents = Arrays.copyOfRange(shape.toArray(), shape.rank() - rank, shape.rank());
    for (int axis = 0; axis < rank; axis++) {
      extents[axis] = random.nextInt(3) == 0 ? 1 : extents[axis];
    }
    return Shape.of(extents);
  }

  private static Tensor tensor(Random random, DataType type, Shape shape) {
    return RandomTensors.of(new TensorType(type, shape), random);
  }

  private static <T> T oneOf(Random random, T[] values) {
    return values[random.nextInt(values.length)];
  }

  private static Map<String, Object> with(Object... namesAndValues) {
    Map<String, Object> attributes = new LinkedHashMap<>();
    for (int i = 0; i < namesAndValues.length; i += 2) {
      attributes.put((String) namesAndValues[i], namesAndValues[i + 1]);
    }
    return attributes;
  }

  private static long[] longs(int... values) {
    return Arrays.stream(values).asLongStream().toArray();
  }

  private static ImmutableIntArray ints(int... values) {
    return ImmutableIntArray.copyOf(values);
  }

  private static void agrees(
      Operator operator, Map<String, Object> attributes, Tensor... operands) {
    agrees(operator, attributes, List.of(operands), List.of(operands));
  }

  /** {@code theirs} has operands that are attributes of ours. */
  private static void agrees(
      Operator operator, Map<String, Object> attributes, List<Tensor> ours, List<Tensor> theirs) {
    List<TensorType> types = operator.infer(ours.stream().map(Tensor::type).toList());
    List<Tensor> actual = types.stream().map(Tensor::zeros).toList();
    operator.bind(ours, actual).run();
    List<Tensor> expected =
        OnnxRuntimeOracle.run(operator.name(), attributes, OPSET, theirs, types.size());
    for (int k = 0; k < actual.size(); k++) {
      String place = operator + " of " + ours + ": " + actual.get(k) + ", not " + expected.get(k);
      assertThat(actual.get(k).type()).as(place).isEqualTo(expected.get(k).type());
      assertThat(RandomTensors.largestDifference(actual.get(k), expected.get(k)))
          .as(place)
          .isLessThan(1e-5);
    }
  }

  // -- elementwise --

  @ParameterizedTest
  @EnumSource(
      value = BinaryFunction.class,
      names = {"MOD", "PRELU"},
      mode = EnumSource.Mode.EXCLUDE)
  void binaryFunctionsBroadcast(BinaryFunction function) {
    Seeds.forEach(
        25,
        (random, seed) -> {
          DataType type = oneOf(random, NUMBERS);
          Shape wide = shape(random, random.nextInt(5));
          Tensor a = tensor(random, type, wide);
          Tensor b = tensor(random, type, partner(random, wide));
          boolean divides = function == BinaryFunction.DIV || function == BinaryFunction.FMOD;
          for (int i = 0; divides && !type.isFloating() && i < b.type().elements(); i++) {
            b.setLong(i, random.nextBoolean() ? 3 : -2); // by zero is ours to define
          }
          for (int i = 0; function == BinaryFunction.POW && i < a.type().elements(); i++) {
            a.setDouble(i, Math.abs(a.getDouble(i)) + 0.1);
          }
          Map<String, Object> attributes =
              function == BinaryFunction.FMOD ? with("fmod", 1) : Map.of();
          if (function == BinaryFunction.POW || random.nextBoolean()) {
            agrees(new Binary(function), attributes, a, b);
          } else if (!divides || type.isFloating()) {
            agrees(new Binary(function), attributes, b, a);
          }
        });
  }

  @Test
  void remaindersOfIntegers() {
    Seeds.forEach(
        15,
        (random, seed) -> {
          Tensor a =
              Tensor.zeros(TensorType.of(random.nextBoolean() ? DataType.I32 : DataType.I64, 5));
          Tensor b = Tensor.zeros(a.type());
          for (int i = 0; i < 5; i++) {
            a.setLong(i, random.nextInt(41) - 20);
            b.setLong(i, (1 + random.nextInt(6)) * (random.nextBoolean() ? 1 : -1));
          }
          agrees(new Binary(BinaryFunction.MOD), with("fmod", 0), a, b);
          agrees(new Binary(BinaryFunction.FMOD), with("fmod", 1), a, b);
          agrees(new Binary(BinaryFunction.DIV), Map.of(), a, b);
        });
  }

  @Test
  void slopesAndPowersOfOtherTypes() {
    Seeds.forEach(
        15,
        (random, seed) -> {
          Shape wide = shape(random, 3);
          DataType type = oneOf(random, FLOATS);
          agrees(
              new Binary(BinaryFunction.PRELU),
              Map.of(),
              tensor(random, type, wide),
              tensor(random, type, partner(random, wide)));
          Tensor base = tensor(random, oneOf(random, NUMBERS), wide);
          Tensor exponent = tensor(random, oneOf(random, NUMBERS), partner(random, wide));
          for (int i = 0; i < base.type().elements(); i++) {
            base.setDouble(i, 1 + Math.abs(base.getDouble(i)));
          }
          agrees(new Binary(BinaryFunction.POW), Map.of(), base, exponent);
        });
  }

  @ParameterizedTest
  @EnumSource(
      value = UnaryFunction.class,
      names = {"GELU", "GELU_TANH", "CLIP"}, // from opset 20; limits are operands
      mode = EnumSource.Mode.EXCLUDE)
  void unaryFunctions(UnaryFunction function) {
    float alpha = 0.75f;
    float beta = 1.25f;
    Map<String, Object> attributes =
        switch (function) {
          case LEAKY_RELU, ELU, CELU, THRESHOLDED_RELU -> with("alpha", alpha);
          case SELU -> with("alpha", alpha, "gamma", beta);
          case HARD_SIGMOID -> with("alpha", alpha, "beta", beta);
          default -> Map.of();
        };
    Tensor x = tensor(new Random(3), DataType.F32, Shape.of(200));
    double[] special = {
      0, -0.0, 1, -1, 0.5, -0.5, 2.5, 100, -100, 1e-30, Double.NaN, 1 / 0.0, -1 / 0.0
    };
    for (int i = 0; i < special.length; i++) {
      x.setDouble(i, special[i]);
    }
    agrees(new Unary(function, alpha, beta), attributes, x);
    agrees(new Unary(function, alpha, beta), attributes, Tensor.of(Shape.scalar(), 0.25f));
    agrees(new Unary(function, alpha, beta), attributes, Tensor.zeros(TensorType.f32(2, 0, 3)));
  }

  @Test
  void comparisonsAndConnectives() {
    Seeds.forEach(
        60,
        (random, seed) -> {
          Shape wide = shape(random, random.nextInt(4));
          Shape narrow = partner(random, wide);
          DataType type = oneOf(random, NUMBERS);
          Tensor a = tensor(random, type, wide);
          Tensor b = tensor(random, type, narrow);
          if (type.isFloating() && a.type().elements() > 2) {
            a.setDouble(0, Double.NaN);
            a.setDouble(1, b.type().elements() > 0 ? b.getDouble(0) : 0);
          }
          agrees(new Compare(oneOf(random, Compare.Relation.values())), Map.of(), a, b);
          agrees(
              new Logical(oneOf(random, Logical.Connective.values())),
              Map.of(),
              tensor(random, DataType.BOOL, narrow),
              tensor(random, DataType.BOOL, wide));
          agrees(new Not(), Map.of(), tensor(random, DataType.BOOL, wide));
          agrees(new Where(), Map.of(), tensor(random, DataType.BOOL, partner(random, wide)), a, b);
        });
  }

  @Test
  void castsAmongAllTypes() {
    Map<DataType, Integer> numbers =
        Map.of(
            DataType.F32,
            1,
            DataType.U8,
            2,
            DataType.I8,
            3,
            DataType.I32,
            6,
            DataType.I64,
            7,
            DataType.BOOL,
            9,
            DataType.F16,
            10,
            DataType.F64,
            11);
    Random random = new Random(4);
    for (DataType from : OnnxRuntimeOracle.dataTypes()) {
      for (DataType to : OnnxRuntimeOracle.dataTypes()) {
        Tensor x = tensor(random, from, Shape.of(40));
        for (int i = 0; from.isFloating() && i < 40; i++) {
          boolean signed = to != DataType.U8;
          x.setDouble(i, (signed ? x.getDouble(i) : Math.abs(x.getDouble(i))) * 8);
        }
        agrees(new Cast(to), with("to", numbers.get(to)), x);
      }
    }
  }

  // -- reductions and normalisation --

  @ParameterizedTest
  @EnumSource(Reduce.Function.class)
  void reductionsOverAnyAxes(Reduce.Function function) {
    Seeds.forEach(
        25,
        (random, seed) -> {
          int rank = 1 + random.nextInt(4);
          int[] axes = IntStream.range(0, rank).filter(axis -> random.nextBoolean()).toArray();
          DataType type = oneOf(random, NUMBERS);
          boolean floating =
              function == Reduce.Function.L2
                  || function == Reduce.Function.LOG_SUM
                  || function == Reduce.Function.LOG_SUM_EXP;
          type = floating && !type.isFloating() ? DataType.F32 : type;
          int[] extents = new int[rank];
          Arrays.setAll(extents, axis -> 1 + random.nextInt(4));
          Tensor x = tensor(random, type, Shape.of(extents));
          for (int i = 0; function == Reduce.Function.LOG_SUM && i < x.type().elements(); i++) {
            x.setDouble(i, Math.abs(x.getDouble(i)) + 0.1);
          }
          boolean keep = random.nextBoolean();
          agrees(
              new Reduce(function, ints(axes), keep),
              with("keepdims", keep ? 1 : 0, "noop_with_empty_axes", 1),
              List.of(x),
              axes.length == 0 && random.nextBoolean()
                  ? List.of(x)
                  : List.of(x, Tensor.ofLongs(Shape.of(axes.length), longs(axes))));
        });
  }

  @Test
  void positionsOfExtremes() {
    Seeds.forEach(
        60,
        (random, seed) -> {
          int rank = 1 + random.nextInt(4);
          int axis = random.nextInt(2 * rank) - rank;
          int[] extents = each(rank, () -> 1 + random.nextInt(4));
          Tensor x = tensor(random, oneOf(random, NUMBERS), Shape.of(extents));
          boolean keep = random.nextBoolean();
          boolean last = random.nextBoolean();
          agrees(
              new ArgReduce(random.nextBoolean(), axis, keep, last),
              with("axis", axis, "keepdims", keep ? 1 : 0, "select_last_index", last ? 1 : 0),
              x);
        });
  }

  @Test
  void softmaxAndLayerNormalization() {
    Seeds.forEach(
        60,
        (random, seed) -> {
          int rank = 1 + random.nextInt(4);
          int axis = random.nextInt(2 * rank) - rank;
          DataType type = oneOf(random, FLOATS);
          Tensor x = tensor(random, type, shape(random, rank));
          for (int i = 0; i < x.type().elements(); i++) {
            x.setDouble(i, 20 * x.getDouble(i));
          }
          agrees(new Softmax(axis, random.nextBoolean()), with("axis", axis), x);
          if (x.type().elements() > 0) {
            int from = axis < 0 ? axis + rank : axis;
            int[] rest = Arrays.copyOfRange(x.type().shape().toArray(), from, rank);
            Tensor scale = tensor(random, type, Shape.of(rest));
            Tensor bias = tensor(random, type, Shape.of(rest));
            agrees(
                new LayerNormalization(axis, 0.01f),
                with("axis", axis, "epsilon", 0.01f),
                random.nextBoolean() ? new Tensor[] {x, scale, bias} : new Tensor[] {x, scale});
          }
        });
  }

  @Test
  void batchNormalization() {
    Seeds.forEach(
        25,
        (random, seed) -> {
          DataType type = oneOf(random, FLOATS);
          int rank = 2 + random.nextInt(3);
          int[] extents = new int[rank];
          Arrays.setAll(extents, axis -> 1 + random.nextInt(4));
          Shape channels = Shape.of(extents[1]);
          Tensor variance = tensor(random, type, channels);
          for (int i = 0; i < extents[1]; i++) {
            variance.setDouble(i, Math.abs(variance.getDouble(i)) + 0.1);
          }
          agrees(
              new BatchNormalization(1e-3f),
              with("epsilon", 1e-3f),
              tensor(random, type, Shape.of(extents)),
              tensor(random, type, channels),
              tensor(random, type, channels),
              tensor(random, type, channels),
              variance);
        });
  }

  // -- products, convolutions, pools --

  @Test
  void matrixProducts() {
    Seeds.forEach(
        80,
        (random, seed) -> {
          DataType type = oneOf(random, NUMBERS);
          int m = 1 + random.nextInt(4);
          int k = 1 + random.nextInt(5);
          int n = 1 + random.nextInt(4);
          Shape batch = Shape.of(each(random.nextInt(3), () -> 1 + random.nextInt(3)));
          Shape a = random.nextInt(6) == 0 ? Shape.of(k) : join(batch, m, k);
          Shape b = random.nextInt(6) == 0 ? Shape.of(k) : join(partner(random, batch), k, n);
          agrees(new MatMul(), Map.of(), tensor(random, type, a), tensor(random, type, b));
          boolean transA = random.nextBoolean();
          boolean transB = random.nextBoolean();
          DataType floating = oneOf(random, FLOATS);
          Tensor c = tensor(random, floating, partner(random, Shape.of(m, n)));
          Tensor left = tensor(random, floating, transA ? Shape.of(k, m) : Shape.of(m, k));
          Tensor right = tensor(random, floating, transB ? Shape.of(n, k) : Shape.of(k, n));
          agrees(
              new Gemm(0.5f, 1.5f, transA, transB, null),
              with("alpha", 0.5f, "beta", 1.5f, "transA", transA ? 1 : 0, "transB", transB ? 1 : 0),
              random.nextBoolean() ? new Tensor[] {left, right, c} : new Tensor[] {left, right});
        });
  }

  private static Shape join(Shape batch, int rows, int columns) {
    int[] extents = Arrays.copyOf(batch.toArray(), batch.rank() + 2);
    extents[batch.rank()] = rows;
    extents[batch.rank() + 1] = columns;
    return Shape.of(extents);
  }

  private static int[] each(int rank, java.util.function.IntSupplier value) {
    int[] values = new int[rank];
    Arrays.setAll(values, i -> value.getAsInt());
    return values;
  }

  private static long[] both(int[] before, int[] after) {
    return IntStream.concat(Arrays.stream(before), Arrays.stream(after)).asLongStream().toArray();
  }

  @Test
  void convolutions() {
    Seeds.forEach(
        80,
        (random, seed) -> {
          int rank = 1 + random.nextInt(3);
          int group = 1 + random.nextInt(3);
          int channels = 1 + random.nextInt(3);
          int filters = group * (1 + random.nextInt(3));
          int[] kernel = each(rank, () -> 1 + random.nextInt(3));
          int[] strides = each(rank, () -> 1 + random.nextInt(3));
          int[] dilations = each(rank, () -> 1 + random.nextInt(2));
          int[] before = each(rank, () -> random.nextInt(3));
          int[] after = each(rank, () -> random.nextInt(3));
          int[] x =
              spatial(random.nextInt(3), group * channels, each(rank, () -> 5 + random.nextInt(3)));
          Tensor image = tensor(random, DataType.F32, Shape.of(x));
          Tensor w = tensor(random, DataType.F32, Shape.of(spatial(filters, channels, kernel)));
          Tensor bias = tensor(random, DataType.F32, Shape.of(filters));
          Window window = new Window(ints(strides), ints(dilations), ints(before), ints(after));
          agrees(
              new Conv(window, group),
              with(
                  "strides", longs(strides),
                  "dilations", longs(dilations),
                  "pads", both(before, after),
                  "group", group),
              random.nextBoolean() ? new Tensor[] {image, w, bias} : new Tensor[] {image, w});
        });
  }

  @Test
  void transposedConvolutions() {
    Seeds.forEach(
        80,
        (random, seed) -> {
          int rank = 1 + random.nextInt(2);
          int group = 1 + random.nextInt(2);
          int channels = group * (1 + random.nextInt(2));
          int filters = 1 + random.nextInt(3);
          int[] kernel = each(rank, () -> 1 + random.nextInt(3));
          int[] strides = each(rank, () -> 1 + random.nextInt(3));
          int[] dilations = each(rank, () -> 1 + random.nextInt(2));
          int[] before = each(rank, () -> random.nextInt(2));
          int[] after = each(rank, () -> random.nextInt(2));
          int[] padding = new int[rank];
          Arrays.setAll(padding, i -> random.nextInt(strides[i]));
          int[] x =
              spatial(1 + random.nextInt(2), channels, each(rank, () -> 3 + random.nextInt(3)));
          Tensor image = tensor(random, DataType.F32, Shape.of(x));
          Tensor w = tensor(random, DataType.F32, Shape.of(spatial(channels, filters, kernel)));
          Tensor bias = tensor(random, DataType.F32, Shape.of(filters * group));
          Window window = new Window(ints(strides), ints(dilations), ints(before), ints(after));
          agrees(
              new ConvTranspose(window, ints(padding), group, null),
              with(
                  "strides", longs(strides),
                  "dilations", longs(dilations),
                  "pads", both(before, after),
                  "output_padding", longs(padding),
                  "group", group),
              random.nextBoolean() ? new Tensor[] {image, w, bias} : new Tensor[] {image, w});
        });
  }

  private static int[] spatial(int first, int second, int[] rest) {
    int[] extents = new int[rest.length + 2];
    extents[0] = first;
    extents[1] = second;
    System.arraycopy(rest, 0, extents, 2, rest.length);
    return extents;
  }

  @Test
  void pools() {
    Seeds.forEach(
        80,
        (random, seed) -> {
          int rank = 1 + random.nextInt(3);
          int[] kernel = each(rank, () -> 1 + random.nextInt(3));
          int[] strides = each(rank, () -> 1 + random.nextInt(3));
          int[] before = new int[rank];
          int[] after = new int[rank];
          Arrays.setAll(before, i -> random.nextInt(kernel[i]));
          Arrays.setAll(after, i -> random.nextInt(kernel[i]));
          boolean ceil = random.nextBoolean();
          boolean countPadding = random.nextBoolean();
          Pool.Function function = oneOf(random, Pool.Function.values());
          int[] dilations =
              each(rank, () -> function == Pool.Function.MAX ? 1 + random.nextInt(2) : 1);
          int[] x = spatial(1 + random.nextInt(2), 2, each(rank, () -> 5 + random.nextInt(4)));
          Map<String, Object> attributes =
              with(
                  "kernel_shape", longs(kernel),
                  "strides", longs(strides),
                  "pads", both(before, after),
                  "ceil_mode", ceil ? 1 : 0);
          if (function == Pool.Function.MAX) {
            attributes.put("dilations", longs(dilations));
          } else {
            attributes.put("count_include_pad", countPadding ? 1 : 0);
          }
          Tensor image = tensor(random, DataType.F32, Shape.of(x));
          Window window = new Window(ints(strides), ints(dilations), ints(before), ints(after));
          agrees(new Pool(function, ints(kernel), window, ceil, countPadding), attributes, image);
          agrees(new GlobalPool(function), Map.of(), image);
        });
  }

  // -- movement --

  @Test
  void movement() {
    DataType[] types = OnnxRuntimeOracle.dataTypes();
    Seeds.forEach(
        80,
        (random, seed) -> {
          int rank = 1 + random.nextInt(4);
          DataType type = oneOf(random, types);
          Tensor x = tensor(random, type, shape(random, rank));
          int[] extents = x.type().shape().toArray();
          int axis = random.nextInt(rank);
          int[] order = IntStream.range(0, rank).toArray();
          for (int i = rank - 1; i > 0; i--) {
            int j = random.nextInt(i + 1);
            int kept = order[i];
            order[i] = order[j];
            order[j] = kept;
          }
          agrees(new Transpose(ints(order)), with("perm", longs(order)), x);
          int[] other = extents.clone();
          other[axis] = random.nextInt(3);
          Tensor y = tensor(random, type, Shape.of(other));
          agrees(new Concat(axis - rank), with("axis", axis), x, y, x);
          int cut = random.nextInt(extents[axis] + 1);
          agrees(
              new Split(axis, ints(cut, extents[axis] - cut)),
              with("axis", axis),
              List.of(x),
              List.of(x, Tensor.ofLongs(Shape.of(2), cut, extents[axis] - cut)));
          int[] target = new int[rank + 1];
          target[0] = 1 + random.nextInt(3);
          System.arraycopy(extents, 0, target, 1, rank);
          agrees(
              new Expand(Shape.of(target)),
              Map.of(),
              List.of(x),
              List.of(x, Tensor.ofLongs(Shape.of(rank + 1), longs(target))));
          agrees(
              new Reshape(Shape.of(x.type().elements())),
              with("allowzero", 1),
              List.of(x),
              List.of(x, Tensor.ofLongs(Shape.of(1), x.type().elements())));
          if (extents[axis] > 0) {
            int rows = random.nextInt(4);
            long[] indices = new long[2 * rows];
            Arrays.setAll(indices, i -> random.nextInt(2 * extents[axis]) - extents[axis]);
            agrees(
                new Gather(axis),
                with("axis", axis),
                x,
                Tensor.ofLongs(Shape.of(2, rows), indices));
          }
          agrees(new Identity(), Map.of(), x);
          agrees(new ShapeOf(), Map.of(), x);
        });
  }

  @Test
  void tilesPadsAndSlices() {
    DataType[] types = {DataType.F32, DataType.F64, DataType.I64, DataType.I32};
    Seeds.forEach(
        80,
        (random, seed) -> {
          int rank = 1 + random.nextInt(3);
          DataType type = oneOf(random, types);
          int[] extents = each(rank, () -> 1 + random.nextInt(4));
          Tensor x = tensor(random, type, Shape.of(extents));
          int[] repeats = each(rank, () -> random.nextInt(3));
          agrees(
              new Tile(ints(repeats)),
              Map.of(),
              List.of(x),
              List.of(x, Tensor.ofLongs(Shape.of(rank), longs(repeats))));
          Pad.Mode mode = oneOf(random, Pad.Mode.values());
          int[] before = new int[rank];
          int[] after = new int[rank];
          boolean removes = mode == Pad.Mode.CONSTANT && random.nextBoolean();
          Arrays.setAll(
              before, i -> removes ? -random.nextInt(extents[i]) : random.nextInt(extents[i]));
          Arrays.setAll(after, i -> random.nextInt(extents[i]));
          agrees(
              new Pad(mode, ints(before), ints(after)),
              with("mode", mode.name().toLowerCase(java.util.Locale.ROOT)),
              List.of(x),
              List.of(x, Tensor.ofLongs(Shape.of(2 * rank), both(before, after))));
          int[] starts = new int[rank];
          int[] counts = new int[rank];
          int[] steps = new int[rank];
          long[] ends = new long[rank];
          for (int i = 0; i < rank; i++) {
            starts[i] = random.nextInt(extents[i]);
            boolean forward = random.nextBoolean();
            steps[i] = (1 + random.nextInt(2)) * (forward ? 1 : -1);
            int room = forward ? extents[i] - 1 - starts[i] : starts[i];
            counts[i] = 1 + random.nextInt(room / Math.abs(steps[i]) + 1);
            long end = starts[i] + (long) counts[i] * steps[i];
            ends[i] = end < 0 ? Integer.MIN_VALUE : end;
          }
          agrees(
              new StridedSlice(ints(starts), ints(counts), ints(steps)),
              Map.of(),
              List.of(x),
              List.of(
                  x,
                  Tensor.ofLongs(Shape.of(rank), longs(starts)),
                  Tensor.ofLongs(Shape.of(rank), ends),
                  Tensor.ofLongs(Shape.of(rank), IntStream.range(0, rank).asLongStream().toArray()),
                  Tensor.ofLongs(Shape.of(rank), longs(steps))));
        });
  }
}
