package dev.nimble.cuda.op;

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.ImmutableDoubleArray;
import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.DataType;
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
import dev.nimble.op.CumSum;
import dev.nimble.op.Elementwise;
import dev.nimble.op.Expand;
import dev.nimble.op.FusedElementwise;
import dev.nimble.op.Gather;
import dev.nimble.op.Gemm;
import dev.nimble.op.GlobalPool;
import dev.nimble.op.Identity;
import dev.nimble.op.LayerNormalization;
import dev.nimble.op.Logical;
import dev.nimble.op.MatMul;
import dev.nimble.op.MaxPoolIndices;
import dev.nimble.op.Not;
import dev.nimble.op.Pad;
import dev.nimble.op.Pool;
import dev.nimble.op.Reduce;
import dev.nimble.op.Reshape;
import dev.nimble.op.Resize;
import dev.nimble.op.Scatter;
import dev.nimble.op.ShapeOf;
import dev.nimble.op.Softmax;
import dev.nimble.op.Split;
import dev.nimble.op.StridedSlice;
import dev.nimble.op.Tile;
import dev.nimble.op.TopK;
import dev.nimble.op.Transpose;
import dev.nimble.op.Unary;
import dev.nimble.op.UnaryFunction;
import dev.nimble.op.Where;
import dev.nimble.op.Window;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Random cases of every operator, over every element type that its inference accepts. */
final class OperatorCases {
  private static final int TRIES = 20;
  private static final ImmutableIntArray NO_AXES = ImmutableIntArray.of();

  private final Random random;
  private final DataType type;

  private OperatorCases(Random random, DataType type) {
    this.random = random;
    this.type = type;
  }

  /** Cases of one operator class over one element type; they need not fit. */
  private interface Maker {
    List<OperatorCase> make(OperatorCases cases);
  }

  private static final Map<Class<? extends Operator>, Maker> MAKERS = makers();

  private static Map<Class<? extends Operator>, Maker> makers() {
    Map<Class<? extends Operator>, Maker> makers = new LinkedHashMap<>();
    makers.put(Unary.class, OperatorCases::unary);
    makers.put(Binary.class, OperatorCases::binary);
    makers.put(Compare.class, OperatorCases::compare);
    makers.put(Logical.class, OperatorCases::logical);
    makers.put(Not.class, c -> List.of(OperatorCase.of(new Not(), c.wild(c.shape(0, 3)))));
    makers.put(Where.class, OperatorCases::where);
    makers.put(Cast.class, OperatorCases::cast);
    makers.put(FusedElementwise.class, OperatorCases::fused);
    makers.put(MatMul.class, OperatorCases::matMul);
    makers.put(Gemm.class, OperatorCases::gemm);
    makers.put(Conv.class, OperatorCases::conv);
    makers.put(ConvTranspose.class, OperatorCases::convTranspose);
    makers.put(Pool.class, OperatorCases::pool);
    makers.put(MaxPoolIndices.class, OperatorCases::maxPoolIndices);
    makers.put(GlobalPool.class, OperatorCases::globalPool);
    makers.put(Reduce.class, OperatorCases::reduce);
    makers.put(ArgReduce.class, OperatorCases::argReduce);
    makers.put(Softmax.class, OperatorCases::softmax);
    makers.put(LayerNormalization.class, OperatorCases::layerNormalization);
    makers.put(BatchNormalization.class, OperatorCases::batchNormalization);
    makers.put(CumSum.class, OperatorCases::cumSum);
    makers.put(TopK.class, OperatorCases::topK);
    makers.put(Scatter.class, OperatorCases::scatter);
    makers.put(Gather.class, OperatorCases::gather);
    makers.put(Concat.class, OperatorCases::concat);
    makers.put(Split.class, OperatorCases::split);
    makers.put(Pad.class, OperatorCases::pad);
    makers.put(Resize.class, OperatorCases::resize);
    makers.put(Transpose.class, OperatorCases::transpose);
    makers.put(StridedSlice.class, OperatorCases::slice);
    makers.put(Expand.class, OperatorCases::expand);
    makers.put(Tile.class, OperatorCases::tile);
    makers.put(Reshape.class, OperatorCases::reshape);
    makers.put(
        Identity.class, c -> List.of(OperatorCase.of(new Identity(), c.wild(c.shape(0, 3)))));
    makers.put(ShapeOf.class, c -> List.of(OperatorCase.of(new ShapeOf(), c.wild(c.shape(0, 4)))));
    makers.put(Assign.class, OperatorCases::assign);
    return makers;
  }

  /** The operator classes that there are cases of. */
  static List<Class<? extends Operator>> operators() {
    return List.copyOf(MAKERS.keySet());
  }

  /** Cases of one operator; the same for the same seed. Empty if it refuses {@code type}. */
  static List<OperatorCase> of(Class<? extends Operator> operator, DataType type, long seed) {
    OperatorCases cases = new OperatorCases(new Random(31 * seed + type.ordinal()), type);
    Maker maker = MAKERS.get(operator);
    if (maker == null) {
      throw new AssertionError("no cases of " + operator);
    }
    for (int i = 0; i < TRIES; i++) { // a geometry at random may not fit either
      List<OperatorCase> fitting =
          maker.make(cases).stream().filter(OperatorCases::isAccepted).toList();
      if (!fitting.isEmpty()) {
        return fitting;
      }
    }
    return List.of();
  }

  /** Cases of one operator over every element type that it accepts. */
  static List<OperatorCase> of(Class<? extends Operator> operator, long seed) {
    List<OperatorCase> all = new ArrayList<>();
    for (DataType type : DataType.values()) {
      all.addAll(of(operator, type, seed));
    }
    return all;
  }

  private static boolean isAccepted(OperatorCase one) {
    try {
      one.outputTypes();
      return true;
    } catch (InvalidModelException e) {
      return false;
    }
  }

  // Shapes and contents.

  private int between(int least, int most) {
    return least + random.nextInt(most - least + 1);
  }

  private boolean chance(int in) {
    return random.nextInt(in) == 0;
  }

  private Shape shape(int leastRank, int mostRank) {
    int[] extents = new int[between(leastRank, mostRank)];
    Arrays.setAll(extents, axis -> chance(25) ? 0 : between(1, 5));
    return Shape.of(extents);
  }

  private Shape filled(int leastRank, int mostRank) {
    int[] extents = new int[between(leastRank, mostRank)];
    Arrays.setAll(extents, axis -> between(1, 5));
    return Shape.of(extents);
  }

  /** A shape that broadcasts to {@code result}. */
  private Shape narrower(Shape result) {
    int[] extents = result.toArray();
    int[] kept = Arrays.copyOfRange(extents, between(0, extents.length), extents.length);
    for (int axis = 0; axis < kept.length; axis++) {
      kept[axis] = chance(3) ? 1 : kept[axis];
    }
    return Shape.of(kept);
  }

  private static int[] ints(int length, IntUnaryOperator of) {
    return IntStream.range(0, length).map(of).toArray();
  }

  private static ImmutableIntArray list(int length, IntUnaryOperator of) {
    return ImmutableIntArray.copyOf(ints(length, of));
  }

  /** Normal numbers around 0, small integers. */
  private Tensor plain(Shape shape) {
    return plain(type, shape);
  }

  private Tensor plain(DataType of, Shape shape) {
    Tensor tensor = Tensor.zeros(new TensorType(of, shape));
    for (int i = 0; i < tensor.type().elements(); i++) {
      if (of.isFloating()) {
        tensor.setDouble(i, random.nextGaussian());
      } else {
        tensor.setLong(i, of == DataType.BOOL ? random.nextInt(2) : between(-9, 9));
      }
    }
    return tensor;
  }

  /** Numbers of every size, the special ones too. */
  private Tensor wild(Shape shape) {
    return wild(type, shape);
  }

  private Tensor wild(DataType of, Shape shape) {
    double[] special = {
      Double.NaN,
      Double.POSITIVE_INFINITY,
      Double.NEGATIVE_INFINITY,
      0.0,
      -0.0,
      1,
      -1,
      65520,
      0x1p-24,
      0x1p31,
      0x1p63,
      1.9e19,
      -0x1p63,
      0x1.008p0,
      0x1.018p0,
      300.5,
      -300.5
    };
    Tensor tensor = Tensor.zeros(new TensorType(of, shape));
    for (int i = 0; i < tensor.type().elements(); i++) {
      if (!of.isFloating()) {
        tensor.setLong(
            i, of == DataType.BOOL ? random.nextInt(2) : random.nextLong() >> random.nextInt(64));
      } else if (chance(3)) {
        tensor.setDouble(i, special[random.nextInt(special.length)]);
      } else {
        tensor.setDouble(i, random.nextGaussian() * Math.pow(10, between(-3, 5)));
      }
    }
    return tensor;
  }

  private Tensor scaled(double factor, double least, Shape shape) {
    Tensor tensor = plain(shape);
    for (int i = 0; type.isFloating() && i < tensor.type().elements(); i++) {
      tensor.setDouble(i, least + factor * Math.abs(tensor.getDouble(i)));
    }
    return tensor;
  }

  private int axisOf(int rank) {
    return between(-rank, rank - 1);
  }

  private <T> T oneOf(T[] all) {
    return all[random.nextInt(all.length)];
  }

  // Elementwise.

  private Unary unary(UnaryFunction function) {
    switch (function) {
      case CLIP:
        return new Unary(function, -1.5f, 2.5f);
      case HARD_SIGMOID:
        return new Unary(function, 0.2f, 0.5f);
      case SELU:
        return new Unary(function, 1.6732632f, 1.0507009f);
      case LEAKY_RELU:
      case ELU:
      case CELU:
      case THRESHOLDED_RELU:
        return new Unary(function, 0.7f, 0);
      default:
        return Unary.of(function);
    }
  }

  private List<OperatorCase> unary() {
    List<OperatorCase> all = new ArrayList<>();
    for (UnaryFunction function : UnaryFunction.values()) {
      Shape shape = filled(1, 3);
      all.add(OperatorCase.of(unary(function), chance(2) ? plain(shape) : wild(shape)));
    }
    return all;
  }

  private List<OperatorCase> binary() {
    List<OperatorCase> all = new ArrayList<>();
    for (BinaryFunction function : BinaryFunction.values()) {
      Shape result = shape(1, 4);
      if (function == BinaryFunction.POW) {
        DataType exponents = chance(2) ? type : oneOf(DataType.values());
        all.add(
            OperatorCase.of(
                new Binary(function), plain(result), plain(exponents, narrower(result))));
      } else {
        Tensor a = chance(3) ? plain(narrower(result)) : wild(result);
        Tensor b = chance(2) ? plain(result) : wild(narrower(result));
        all.add(OperatorCase.of(new Binary(function), a, b));
      }
    }
    return all;
  }

  private List<OperatorCase> compare() {
    List<OperatorCase> all = new ArrayList<>();
    for (Compare.Relation relation : Compare.Relation.values()) {
      Shape result = filled(2, 3);
      Tensor a = chance(2) ? plain(result) : wild(result);
      Tensor b = a.copy();
      Tensor other = wild(result);
      for (int i = 0; i < result.elements(); i += 2) { // the others are equal
        b.setDouble(i, other.getDouble(i));
      }
      all.add(OperatorCase.of(new Compare(relation), a, b));
    }
    return all;
  }

  private List<OperatorCase> logical() {
    List<OperatorCase> all = new ArrayList<>();
    for (Logical.Connective connective : Logical.Connective.values()) {
      Shape result = shape(1, 3);
      all.add(OperatorCase.of(new Logical(connective), wild(narrower(result)), wild(result)));
    }
    return all;
  }

  private List<OperatorCase> where() {
    Shape result = shape(1, 4);
    Tensor condition = wild(DataType.BOOL, narrower(result));
    return List.of(OperatorCase.of(new Where(), condition, wild(narrower(result)), wild(result)));
  }

  private List<OperatorCase> cast() {
    List<OperatorCase> all = new ArrayList<>();
    for (DataType to : DataType.values()) {
      all.add(OperatorCase.of(new Cast(to), wild(Shape.of(200))));
    }
    return all;
  }

  /** (a * b + a) as another type and back, where b is not 0. */
  private List<OperatorCase> fused() {
    Shape shape = filled(1, 3);
    ImmutableList.Builder<FusedElementwise.Step> steps = ImmutableList.builder();
    steps.add(step(new Binary(BinaryFunction.MUL), 0, 1));
    steps.add(step(new Binary(BinaryFunction.ADD), 2, 0));
    DataType through = oneOf(DataType.values());
    steps.add(step(new Cast(through), 3));
    steps.add(step(new Cast(type), 4));
    steps.add(step(new Cast(DataType.BOOL), 1));
    steps.add(step(new Where(), 6, 5, 3));
    Operator fused = new FusedElementwise(steps.build(), 2);
    return List.of(OperatorCase.of(fused, plain(shape), plain(narrower(shape))));
  }

  private static FusedElementwise.Step step(Elementwise operator, int... operands) {
    return new FusedElementwise.Step(operator, ImmutableIntArray.copyOf(operands));
  }

  // Products and windows.

  private @Nullable Unary activation() {
    UnaryFunction[] some = {UnaryFunction.RELU, UnaryFunction.CLIP};
    return chance(2) ? unary(oneOf(some)) : null;
  }

  private Tensor factor(Shape shape) {
    Tensor tensor = type.isFloating() ? plain(shape) : wild(shape);
    for (int i = 0; type.isFloating() && i < tensor.type().elements(); i++) {
      tensor.setDouble(i, tensor.getDouble(i) / 4);
    }
    return tensor;
  }

  private List<OperatorCase> matMul() {
    Shape batch = filled(0, 2);
    int m = between(1, 20);
    int k = between(0, 20);
    int n = between(1, 20);
    Tensor a = factor(chance(4) ? Shape.of(k) : join(narrower(batch), m, k));
    Tensor b = factor(chance(4) ? Shape.of(k) : join(narrower(batch), k, n));
    boolean alone = type == DataType.U64 || (!type.isFloating() && chance(2));
    MatMul operator = new MatMul(alone ? null : activation());
    if (chance(2)) {
      return List.of(OperatorCase.of(operator, a, b));
    }
    Shape result = MatMul.Geometry.of(a.type().shape(), b.type().shape()).result();
    return List.of(OperatorCase.of(operator, a, b, factor(narrower(result))));
  }

  private static Shape join(Shape shape, int... more) {
    int[] all = Arrays.copyOf(shape.toArray(), shape.rank() + more.length);
    System.arraycopy(more, 0, all, shape.rank(), more.length);
    return Shape.of(all);
  }

  private List<OperatorCase> gemm() {
    List<OperatorCase> all = new ArrayList<>();
    for (int form = 0; form < 4; form++) {
      boolean transA = form % 2 == 1;
      boolean transB = form / 2 == 1;
      int m = between(1, 20);
      int k = between(1, 20);
      int n = between(1, 20);
      Tensor a = factor(transA ? Shape.of(k, m) : Shape.of(m, k));
      Tensor b = factor(transB ? Shape.of(n, k) : Shape.of(k, n));
      Gemm gemm = new Gemm(0.75f, chance(2) ? 1 : 0.5f, transA, transB, activation());
      all.add(
          chance(3)
              ? OperatorCase.of(gemm, a, b)
              : OperatorCase.of(gemm, a, b, factor(narrower(Shape.of(m, n)))));
    }
    return all;
  }

  /** A window over {@code rank} axes; pads are less than what it reaches over. */
  private Window window(int[] kernel, boolean even, boolean dilated) {
    int rank = kernel.length;
    int[] dilations = ints(rank, i -> dilated ? between(1, 2) : 1);
    int[] before = ints(rank, i -> Math.min(between(0, 2), dilations[i] * (kernel[i] - 1)));
    int[] after =
        even ? before : ints(rank, i -> Math.min(between(0, 2), dilations[i] * (kernel[i] - 1)));
    return new Window(
        list(rank, i -> between(1, 2)),
        ImmutableIntArray.copyOf(dilations),
        ImmutableIntArray.copyOf(before),
        ImmutableIntArray.copyOf(after));
  }

  private int[] spatial(int rank, int least, int most) {
    return ints(rank, i -> between(least, most));
  }

  private List<OperatorCase> conv() {
    List<OperatorCase> all = new ArrayList<>();
    for (int rank = 1; rank <= 3; rank++) {
      int group = between(1, 3);
      boolean depthwise = rank == 2 && chance(2);
      int channels = depthwise ? 1 : between(1, 3);
      int filters = between(1, 2);
      int[] kernel = spatial(rank, 1, 3);
      Tensor x = factor(join(Shape.of(between(1, 2), channels * group), spatial(rank, 5, 6)));
      Tensor w = factor(join(Shape.of(filters * group, channels), kernel));
      Conv conv = new Conv(window(kernel, chance(2), chance(2)), group, activation());
      all.add(
          chance(3)
              ? OperatorCase.of(conv, x, w)
              : OperatorCase.of(conv, x, w, factor(Shape.of(filters * group))));
    }
    return all;
  }

  private List<OperatorCase> convTranspose() {
    List<OperatorCase> all = new ArrayList<>();
    for (int rank = 1; rank <= 3; rank++) {
      int group = between(1, 2);
      int channels = between(1, 3);
      int filters = between(1, 2);
      int[] kernel = spatial(rank, 1, 3);
      Window window = window(kernel, chance(2), chance(2));
      Tensor x = factor(join(Shape.of(between(1, 2), channels * group), spatial(rank, 2, 4)));
      Tensor w = factor(join(Shape.of(channels * group, filters), kernel));
      ImmutableIntArray padding = list(rank, i -> between(0, window.strides().get(i) - 1));
      ConvTranspose conv = new ConvTranspose(window, padding, group, activation());
      all.add(
          chance(3)
              ? OperatorCase.of(conv, x, w)
              : OperatorCase.of(conv, x, w, factor(Shape.of(filters * group))));
    }
    return all;
  }

  private Pool pool(Pool.Function function, int[] kernel) {
    return new Pool(
        function,
        ImmutableIntArray.copyOf(kernel),
        window(kernel, chance(2), chance(2)),
        chance(2),
        chance(2));
  }

  private Tensor image(int rank) {
    Tensor image = plain(join(Shape.of(between(1, 2), between(1, 3)), spatial(rank, 5, 6)));
    if (type.isFloating() && chance(2)) {
      image.setDouble(random.nextInt(image.type().elements()), Double.NaN);
    }
    return image;
  }

  private List<OperatorCase> pool() {
    List<OperatorCase> all = new ArrayList<>();
    for (int rank = 1; rank <= 3; rank++) {
      for (Pool.Function function : Pool.Function.values()) {
        all.add(OperatorCase.of(pool(function, spatial(rank, 1, 3)), image(rank)));
      }
    }
    return all;
  }

  private List<OperatorCase> maxPoolIndices() {
    List<OperatorCase> all = new ArrayList<>();
    for (int rank = 1; rank <= 3; rank++) {
      Pool pool = pool(Pool.Function.MAX, spatial(rank, 1, 3));
      all.add(OperatorCase.of(new MaxPoolIndices(pool, chance(2)), image(rank)));
    }
    return all;
  }

  private List<OperatorCase> globalPool() {
    List<OperatorCase> all = new ArrayList<>();
    for (Pool.Function function : Pool.Function.values()) {
      all.add(OperatorCase.of(new GlobalPool(function), image(between(1, 3))));
    }
    return all;
  }

  // Rows.

  private ImmutableIntArray someAxes(int rank) {
    return ImmutableIntArray.copyOf(IntStream.range(0, rank).filter(axis -> !chance(2)));
  }

  private List<OperatorCase> reduce() {
    List<OperatorCase> all = new ArrayList<>();
    for (Reduce.Function function : Reduce.Function.values()) {
      Shape small = shape(0, 4);
      Tensor x = type.isFloating() ? plain(small) : wild(small);
      all.add(OperatorCase.of(new Reduce(function, someAxes(small.rank()), chance(2)), x));
      Shape large = Shape.of(3, 70, 2);
      ImmutableIntArray axes = chance(2) ? ImmutableIntArray.of(1) : ImmutableIntArray.of(0, 1, 2);
      x = type.isFloating() ? plain(large) : wild(large);
      all.add(OperatorCase.of(new Reduce(function, axes, chance(2)), x));
      all.add(OperatorCase.of(new Reduce(function, NO_AXES, true), plain(filled(1, 2))));
    }
    return all;
  }

  private List<OperatorCase> argReduce() {
    List<OperatorCase> all = new ArrayList<>();
    for (int form = 0; form < 4; form++) {
      Shape shape = filled(1, 4);
      ArgReduce operator =
          new ArgReduce(form % 2 == 0, axisOf(shape.rank()), chance(2), form / 2 == 0);
      all.add(OperatorCase.of(operator, chance(2) ? wild(shape) : plain(shape)));
    }
    return all;
  }

  private List<OperatorCase> softmax() {
    List<OperatorCase> all = new ArrayList<>();
    for (boolean log : new boolean[] {false, true}) {
      Shape shape = shape(1, 4);
      all.add(OperatorCase.of(new Softmax(axisOf(shape.rank()), log), plain(shape)));
      all.add(OperatorCase.of(new Softmax(-1, log), plain(Shape.of(2, 300))));
    }
    return all;
  }

  private List<OperatorCase> layerNormalization() {
    Shape shape = filled(1, 4);
    int axis = axisOf(shape.rank());
    int first = axis < 0 ? axis + shape.rank() : axis;
    Shape row = Shape.of(Arrays.copyOfRange(shape.toArray(), first, shape.rank()));
    LayerNormalization operator = new LayerNormalization(axis, 1e-3f);
    Tensor x = plain(shape);
    Tensor scale = plain(narrower(row));
    return List.of(
        OperatorCase.of(operator, x, scale),
        OperatorCase.of(operator, x, scale, plain(narrower(row))));
  }

  private List<OperatorCase> batchNormalization() {
    Shape shape = chance(4) ? filled(2, 2) : filled(3, 5);
    Shape channels = Shape.of(shape.extent(1));
    return List.of(
        OperatorCase.of(
            new BatchNormalization(1e-3f),
            plain(shape),
            plain(channels),
            plain(channels),
            plain(channels),
            scaled(1, 0.25, channels)));
  }

  private List<OperatorCase> cumSum() {
    List<OperatorCase> all = new ArrayList<>();
    for (int form = 0; form < 4; form++) {
      Shape shape = chance(3) ? Shape.of(2, between(250, 600)) : shape(1, 4);
      CumSum operator = new CumSum(axisOf(shape.rank()), form % 2 == 0, form / 2 == 0);
      all.add(OperatorCase.of(operator, type.isFloating() ? plain(shape) : wild(shape)));
    }
    return all;
  }

  private List<OperatorCase> topK() {
    List<OperatorCase> all = new ArrayList<>();
    for (boolean largest : new boolean[] {false, true}) {
      for (boolean special : new boolean[] {false, true}) { // small integers repeat
        Shape shape = chance(3) ? Shape.of(40) : shape(1, 4);
        int axis = axisOf(shape.rank());
        TopK operator = new TopK(axis, between(0, shape.extent(axis)), largest);
        all.add(OperatorCase.of(operator, special ? wild(shape) : plain(shape)));
      }
    }
    return all;
  }

  // Moves.

  private Tensor indices(DataType of, Shape shape, int extent) {
    Tensor tensor = Tensor.zeros(new TensorType(of, shape));
    for (int i = 0; i < shape.elements(); i++) {
      tensor.setLong(i, between(-extent, extent - 1));
    }
    return tensor;
  }

  private List<OperatorCase> scatter() {
    List<OperatorCase> all = new ArrayList<>();
    for (Scatter.Reduction reduction : Scatter.Reduction.values()) {
      Shape data = filled(1, 3);
      int count = between(0, 12); // more than there are rows, so that some are named again
      Shape updates = Shape.of(data.toArray());
      int[] extents = updates.toArray();
      extents[0] = count;
      Tensor rows = indices(DataType.I64, Shape.of(count), data.extent(0));
      all.add(OperatorCase.of(new Scatter(reduction), wild(data), rows, wild(Shape.of(extents))));
    }
    return all;
  }

  private List<OperatorCase> gather() {
    List<OperatorCase> all = new ArrayList<>();
    for (DataType of : new DataType[] {DataType.I32, DataType.I64}) {
      Shape data = filled(1, 4);
      int axis = axisOf(data.rank());
      Tensor indices = indices(of, shape(0, 2), data.extent(axis));
      all.add(OperatorCase.of(new Gather(axis), wild(data), indices));
    }
    return all;
  }

  private List<OperatorCase> concat() {
    Shape shape = shape(1, 4);
    int axis = axisOf(shape.rank());
    List<Tensor> parts = new ArrayList<>();
    for (int k = between(1, 3); k > 0; k--) {
      int[] extents = shape.toArray();
      extents[axis < 0 ? axis + extents.length : axis] = between(0, 3);
      parts.add(wild(Shape.of(extents)));
    }
    return List.of(new OperatorCase(new Concat(axis), parts));
  }

  private List<OperatorCase> split() {
    Shape shape = filled(1, 4);
    int axis = axisOf(shape.rank());
    int extent = shape.extent(axis);
    int cut = between(0, extent);
    return List.of(
        OperatorCase.of(new Split(axis, ImmutableIntArray.of(cut, extent - cut)), wild(shape)));
  }

  private List<OperatorCase> pad() {
    List<OperatorCase> all = new ArrayList<>();
    for (Pad.Mode mode : Pad.Mode.values()) {
      Shape shape = filled(1, 4);
      int[] before = ints(shape.rank(), axis -> between(-1, 3));
      int[] after =
          ints(shape.rank(), axis -> Math.max(between(-1, 3), -shape.extent(axis) - before[axis]));
      Pad pad = new Pad(mode, ImmutableIntArray.copyOf(before), ImmutableIntArray.copyOf(after));
      all.add(
          mode == Pad.Mode.CONSTANT && chance(2)
              ? OperatorCase.of(pad, wild(shape), wild(Shape.scalar()))
              : OperatorCase.of(pad, wild(shape)));
    }
    return all;
  }

  private List<OperatorCase> resize() {
    List<OperatorCase> all = new ArrayList<>();
    for (Resize.Mode mode : Resize.Mode.values()) {
      Shape shape = filled(1, 3);
      double[] scales = IntStream.range(0, shape.rank()).mapToDouble(i -> scale()).toArray();
      int[] target =
          ints(shape.rank(), i -> Math.max(1, (int) Math.floor(shape.extent(i) * scales[i])));
      all.add(
          OperatorCase.of(
              new Resize(
                  mode,
                  oneOf(Resize.Transform.values()),
                  oneOf(Resize.Rounding.values()),
                  -0.75f,
                  mode == Resize.Mode.CUBIC && chance(2),
                  Shape.of(target),
                  ImmutableDoubleArray.copyOf(scales)),
              plain(shape)));
    }
    return all;
  }

  private double scale() {
    return chance(3) ? 1 : 0.5 + 2 * random.nextDouble();
  }

  private List<OperatorCase> transpose() {
    Shape shape = shape(0, 5);
    List<Integer> axes = new ArrayList<>(IntStream.range(0, shape.rank()).boxed().toList());
    Collections.shuffle(axes, random);
    return List.of(OperatorCase.of(new Transpose(ImmutableIntArray.copyOf(axes)), wild(shape)));
  }

  private List<OperatorCase> slice() {
    Shape shape = filled(1, 4);
    int[] starts = ints(shape.rank(), axis -> between(0, shape.extent(axis) - 1));
    int[] steps = ints(shape.rank(), axis -> chance(2) ? between(1, 2) : between(-2, -1));
    int[] extents =
        ints(
            shape.rank(),
            axis -> {
              int room = steps[axis] > 0 ? shape.extent(axis) - 1 - starts[axis] : starts[axis];
              return between(0, room / Math.abs(steps[axis]) + 1);
            });
    return List.of(
        OperatorCase.of(
            new StridedSlice(
                ImmutableIntArray.copyOf(starts),
                ImmutableIntArray.copyOf(extents),
                ImmutableIntArray.copyOf(steps)),
            wild(shape)));
  }

  private List<OperatorCase> expand() {
    Shape target = shape(0, 4);
    return List.of(OperatorCase.of(new Expand(target), wild(narrower(target))));
  }

  private List<OperatorCase> tile() {
    Shape shape = shape(1, 4);
    return List.of(
        OperatorCase.of(new Tile(list(shape.rank(), axis -> between(0, 3))), wild(shape)));
  }

  private List<OperatorCase> reshape() {
    Shape shape = shape(0, 4);
    return List.of(OperatorCase.of(new Reshape(Shape.of(shape.elements())), wild(shape)));
  }

  private List<OperatorCase> assign() {
    Shape shape = shape(0, 3);
    return List.of(
        OperatorCase.of(new Assign(false), wild(shape), wild(shape)),
        OperatorCase.of(new Assign(true), wild(shape), wild(shape)));
  }
}
