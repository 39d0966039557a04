package dev.nimble.testkit;

import com.google.common.primitives.ImmutableDoubleArray;
import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Graph;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
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
import java.util.Random;

/**
 * Seeded operator graphs that run: every kind of operator, broadcasting, diamonds, wide layers,
 * several inputs and outputs, constants that fold, equal nodes, dead nodes, and what exporters
 * write out in parts (layer normalisation, GELU, hard swish, convolution + batch normalisation +
 * activation). Magnitudes stay moderate, so that results of two exact evaluations can be compared
 * by tolerance; a graph depends on nothing but the random source.
 */
public final class RandomGraphs {
  private static final int MOST_ELEMENTS = 2048;
  private static final double LARGEST = 30;

  /**
   * What graphs may contain.
   *
   * @param nodes about how many nodes
   * @param jumps whether operators may be discontinuous (Round, Less, Cast to integers), so that
   *     results compare only bit for bit
   * @param variables whether there are variables, with updates between their readers
   * @param dataType the floating type of the inputs
   */
  public record Style(int nodes, boolean jumps, boolean variables, DataType dataType) {
    /** Continuous, stateless, single precision. */
    public static Style ofNodes(int nodes) {
      return new Style(nodes, false, false, DataType.F32);
    }

    /** This style, with discontinuous operators too. */
    public Style withJumps() {
      return new Style(nodes, true, variables, dataType);
    }

    /** This style, with variables. */
    public Style withVariables() {
      return new Style(nodes, jumps, true, dataType);
    }

    /** This style, in another floating type. */
    public Style in(DataType floating) {
      return new Style(nodes, jumps, variables, floating);
    }
  }

  private static final UnaryFunction[] CONTINUOUS = {
    UnaryFunction.ABS, UnaryFunction.NEG, UnaryFunction.RELU, UnaryFunction.ERF,
    UnaryFunction.SIGMOID, UnaryFunction.TANH, UnaryFunction.SIN, UnaryFunction.COS,
    UnaryFunction.ATAN, UnaryFunction.ASINH, UnaryFunction.SOFTPLUS, UnaryFunction.SOFTSIGN,
    UnaryFunction.HARD_SWISH, UnaryFunction.GELU, UnaryFunction.GELU_TANH, UnaryFunction.MISH
  };
  private static final UnaryFunction[] JUMPING = {
    UnaryFunction.SIGN, UnaryFunction.FLOOR, UnaryFunction.CEIL, UnaryFunction.ROUND
  };
  private static final Unary[] WITH_ATTRIBUTES = {
    new Unary(UnaryFunction.CLIP, -1, 1.5f),
    new Unary(UnaryFunction.CLIP, 0, 6),
    new Unary(UnaryFunction.LEAKY_RELU, 0.125f, 0),
    new Unary(UnaryFunction.ELU, 0.75f, 0),
    new Unary(UnaryFunction.HARD_SIGMOID, 0.2f, 0.5f)
  };
  private static final BinaryFunction[] LINEAR = {
    BinaryFunction.ADD, BinaryFunction.SUB, BinaryFunction.MIN, BinaryFunction.MAX
  };

  private final Random random;
  private final Style style;
  private final GraphBuilder builder = new GraphBuilder("random");

  /** Floating values that later nodes may read, with a bound of their magnitude. */
  private final List<Value> pool = new ArrayList<>();

  private final Map<Value, Double> bounds = new HashMap<>();
  private final List<Value> variables = new ArrayList<>();
  private int nodes;

  private RandomGraphs(Random random, Style style) {
    this.random = random;
    this.style = style;
  }

  /** A graph of that style. */
  public static Graph of(Random random, Style style) {
    return new RandomGraphs(random, style).make();
  }

  /** A continuous, stateless, single-precision graph of about {@code nodes} nodes. */
  public static Graph of(Random random, int nodes) {
    return of(random, Style.ofNodes(nodes));
  }

  /** Contents for the inputs of {@code graph}, in order. */
  public static List<Tensor> inputs(Graph graph, Random random) {
    return graph.inputs().stream().map(v -> RandomTensors.of(v.type(), random)).toList();
  }

  private Graph make() {
    int inputs = 1 + random.nextInt(3);
    for (int i = 0; i < inputs; i++) {
      enter(builder.input("in" + i, type(randomShape())), 5);
    }
    if (style.variables()) {
      for (int i = 0; i < 1 + random.nextInt(3); i++) {
        Value variable = builder.variable("state" + i, contents(randomShape(), 1));
        variables.add(variable);
        enter(variable, LARGEST);
      }
    }
    while (nodes < style.nodes()) {
      move();
    }
    outputs();
    return builder.build();
  }

  private void outputs() {
    int count = 1 + random.nextInt(3);
    for (int i = 0; i < count; i++) { // recent values mostly, so that little is dead
      int age = Math.min(random.nextInt(4), pool.size() - 1);
      builder.output("out" + i, pool.get(pool.size() - 1 - age));
    }
    switch (random.nextInt(8)) {
      case 0:
        builder.output("passed", pool.get(0)); // an input
        break;
      case 1:
        builder.output("fixed", constant(Shape.of(3), 1));
        break;
      default:
        break;
    }
    for (int i = 0; i < variables.size(); i++) {
      if (random.nextInt(3) == 0) {
        builder.output("final" + i, variables.get(i));
      }
    }
  }

  // -- values --

  private TensorType type(Shape shape) {
    return new TensorType(style.dataType(), shape);
  }

  private Shape randomShape() {
    int rank = new int[] {4, 4, 3, 2, 2, 1, 0}[random.nextInt(7)];
    int[] extents = new int[rank];
    for (int axis = 0; axis < rank; axis++) {
      extents[axis] = 1 + random.nextInt(rank > 2 && axis == 0 ? 2 : 6);
    }
    return Shape.of(extents);
  }

  private Tensor contents(Shape shape, double scale) {
    Tensor tensor = Tensor.zeros(type(shape));
    for (int i = 0; i < shape.elements(); i++) {
      tensor.setDouble(i, scale * (2 * random.nextDouble() - 1));
    }
    return tensor;
  }

  /** A constant with elements in [-scale, scale]. */
  private Value constant(Shape shape, double scale) {
    Value value = builder.constant("weight", contents(shape, scale));
    bounds.put(value, scale);
    return value;
  }

  /** A constant with elements in [least, least + 1]. */
  private Value positive(Shape shape, double least) {
    Tensor tensor = contents(shape, 0.5);
    for (int i = 0; i < shape.elements(); i++) {
      tensor.setDouble(i, tensor.getDouble(i) + 0.5 + least);
    }
    Value value = builder.constant("positive", tensor);
    bounds.put(value, least + 1);
    return value;
  }

  private Value number(double number) {
    Tensor tensor = Tensor.zeros(type(Shape.scalar()));
    tensor.setDouble(0, number);
    Value value = builder.constant("number", tensor);
    bounds.put(value, Math.abs(number));
    return value;
  }

  private void enter(Value value, double bound) {
    bounds.put(value, bound);
    pool.add(value);
  }

  private double bound(Value value) {
    return bounds.getOrDefault(value, LARGEST);
  }

  /** Applies an operator, and bounds its result if that could grow too large. */
  private Value apply(double bound, Operator operator, Value... operands) {
    nodes++;
    Value result = builder.apply(operator, operands);
    if (bound > LARGEST) {
      nodes++;
      result = builder.apply(Unary.of(UnaryFunction.TANH), result);
      bound = 1;
    }
    bounds.put(result, bound);
    return result;
  }

  private Value any() { // half the time a recent one: chains as well as breadth
    int size = pool.size();
    return pool.get(
        random.nextBoolean() ? random.nextInt(size) : size - 1 - random.nextInt(Math.min(4, size)));
  }

  /** A value of at least that rank; makes one if there is none. */
  private Value ofRank(int least) {
    for (int attempt = 0; attempt < 8; attempt++) {
      Value value = any();
      if (value.type().shape().rank() >= least) {
        return value;
      }
    }
    int[] extents = new int[least];
    Arrays.fill(extents, 2);
    return constant(Shape.of(extents), 1);
  }

  /** A value {@code [N, C, H, W]}; reshapes one if there is none. */
  private Value image() {
    for (int attempt = 0; attempt < 8; attempt++) {
      Value value = any();
      if (value.type().shape().rank() == 4) {
        return value;
      }
    }
    Value value = any();
    Shape target = Shape.of(1, 1, 1, value.type().elements());
    return apply(bound(value), new Reshape(target), value);
  }

  // -- moves: each adds a few nodes and at least one value --

  private void move() {
    switch (random.nextInt(style.variables() ? 32 : 28)) {
      case 0:
      case 1:
      case 2:
      case 3:
        keep(unary(any()));
        break;
      case 4:
      case 5:
      case 6:
      case 7:
        keep(binary(any()));
        break;
      case 8:
        diamond();
        break;
      case 9:
        wide();
        break;
      case 10:
      case 11:
        matrixProduct();
        break;
      case 12:
      case 13:
      case 14:
        convolution();
        break;
      case 15:
        pooling();
        break;
      case 16:
        concat();
        break;
      case 17:
        split();
        break;
      case 18:
      case 19:
        movement();
        break;
      case 20:
        reduction();
        break;
      case 21:
        normalisation();
        break;
      case 22:
        spelledOut();
        break;
      case 23:
        twice();
        break;
      case 24:
        foldable();
        break;
      case 25:
        unchanged();
        break;
      case 26:
      case 27:
        keep(style.jumps() ? selection(any()) : unary(any()));
        break;
      default:
        update();
        break;
    }
  }

  private void keep(Value value) {
    if (value.type().elements() <= MOST_ELEMENTS) {
      pool.add(value);
    }
  }

  private Unary randomUnary() {
    int choice = random.nextInt(5);
    if (choice == 0) {
      return WITH_ATTRIBUTES[random.nextInt(WITH_ATTRIBUTES.length)];
    }
    UnaryFunction[] functions = style.jumps() && choice == 1 ? JUMPING : CONTINUOUS;
    return Unary.of(functions[random.nextInt(functions.length)]);
  }

  private Value unary(Value x) {
    return apply(bound(x) + 1, randomUnary(), x);
  }

  /** Something that broadcasts with {@code x}: another value if one fits, else a constant. */
  private Value partner(Value x) {
    Shape shape = x.type().shape();
    for (int attempt = 0; attempt < 4; attempt++) {
      Value other = any();
      if (broadcasts(shape, other.type().shape())) {
        return other;
      }
    }
    int rank = random.nextInt(shape.rank() + 1);
    int[] extents = Arrays.copyOfRange(shape.toArray(), shape.rank() - rank, shape.rank());
    for (int axis = 0; axis < rank; axis++) {
      extents[axis] = random.nextInt(3) == 0 ? 1 : extents[axis];
    }
    return constant(Shape.of(extents), 2);
  }

  private static boolean broadcasts(Shape a, Shape b) {
    long elements = 1;
    for (int axis = 1; axis <= Math.max(a.rank(), b.rank()); axis++) {
      int p = axis <= a.rank() ? a.extent(-axis) : 1;
      int q = axis <= b.rank() ? b.extent(-axis) : 1;
      if (p != q && p != 1 && q != 1) {
        return false;
      }
      elements *= Math.max(p, q);
    }
    return elements <= MOST_ELEMENTS;
  }

  private Value binary(Value x) {
    Value y = partner(x);
    boolean swap = random.nextBoolean();
    Value a = swap ? y : x;
    Value b = swap ? x : y;
    switch (random.nextInt(6)) {
      case 0:
      case 1:
        return apply(bound(a) * bound(b), new Binary(BinaryFunction.MUL), a, b);
      case 2:
        Value divisor =
            random.nextBoolean()
                ? number(2)
                : apply(bound(b) + 1, new Binary(BinaryFunction.ADD), squared(b), number(1));
        return apply(bound(a), new Binary(BinaryFunction.DIV), a, divisor);
      default:
        BinaryFunction function = LINEAR[random.nextInt(LINEAR.length)];
        return apply(bound(a) + bound(b), new Binary(function), a, b);
    }
  }

  private Value squared(Value x) {
    return random.nextBoolean()
        ? apply(bound(x) * bound(x), new Binary(BinaryFunction.MUL), x, x)
        : apply(bound(x) * bound(x), new Binary(BinaryFunction.POW), x, number(2));
  }

  /** A choice by comparisons, or arithmetic on integers. */
  private Value selection(Value x) {
    Value y = partner(x);
    if (x.type().shape().rank() > 0 && random.nextInt(5) == 0) {
      int axis = random.nextInt(x.type().shape().rank());
      nodes++;
      Value at = builder.apply(new ArgReduce(random.nextBoolean(), axis, true, false), x);
      return apply(x.type().shape().extent(axis), new Cast(style.dataType()), at);
    }
    if (random.nextInt(3) == 0) {
      DataType integer = random.nextBoolean() ? DataType.I32 : DataType.I64;
      Value i = apply(bound(x), new Cast(integer), x);
      Value j = apply(bound(y), new Cast(integer), y);
      nodes++;
      Value sum = builder.apply(new Binary(BinaryFunction.ADD), i, j);
      return apply(bound(x) + bound(y), new Cast(style.dataType()), sum);
    }
    Compare.Relation[] relations = Compare.Relation.values();
    nodes++;
    Value chosen = builder.apply(new Compare(relations[random.nextInt(relations.length)]), x, y);
    if (random.nextBoolean()) {
      Logical.Connective[] connectives = Logical.Connective.values();
      Logical logical = new Logical(connectives[random.nextInt(connectives.length)]);
      nodes += 2;
      chosen = builder.apply(logical, chosen, builder.apply(new Not(), chosen));
    }
    return random.nextInt(3) == 0
        ? apply(1, new Cast(style.dataType()), chosen)
        : apply(Math.max(bound(x), bound(y)), new Where(), chosen, x, y);
  }

  private void diamond() {
    Value x = any();
    Value left = unary(x);
    Value right = random.nextBoolean() ? binary(unary(x)) : unary(x);
    if (broadcasts(left.type().shape(), right.type().shape())) {
      keep(apply(bound(left) + bound(right), new Binary(BinaryFunction.ADD), left, right));
    } else {
      keep(left);
      keep(right);
    }
  }

  /** Branches from one value, joined by Concat or by sums. */
  private void wide() {
    Value x = ofRank(1);
    int branches = 2 + random.nextInt(5);
    Value[] ends = new Value[branches];
    double bound = 0;
    for (int i = 0; i < branches; i++) {
      ends[i] = unary(x);
      for (int depth = random.nextInt(3); depth > 0; depth--) {
        ends[i] = unary(ends[i]);
      }
      bound = Math.max(bound, bound(ends[i]));
    }
    if (x.type().elements() * branches <= MOST_ELEMENTS && random.nextBoolean()) {
      keep(apply(bound, new Concat(random.nextInt(x.type().shape().rank())), ends));
      return;
    }
    Value sum = ends[0];
    for (int i = 1; i < branches; i++) {
      sum = apply(bound(sum) + bound(ends[i]), new Binary(BinaryFunction.ADD), sum, ends[i]);
    }
    keep(sum);
  }

  private void matrixProduct() {
    Value x = ofRank(1);
    Shape shape = x.type().shape();
    int k = shape.extent(-1);
    int n = 1 + random.nextInt(6);
    double bound = bound(x) * k;
    if (shape.rank() >= 2 && random.nextInt(4) == 0) { // x times its transpose
      Value y = random.nextBoolean() ? unary(x) : x;
      int[] permutation = new int[shape.rank()];
      Arrays.setAll(permutation, i -> i);
      permutation[shape.rank() - 2] = shape.rank() - 1;
      permutation[shape.rank() - 1] = shape.rank() - 2;
      Value turned = apply(bound(y), new Transpose(ImmutableIntArray.copyOf(permutation)), y);
      keep(apply(bound(x) * bound(y) * k, new MatMul(), x, turned));
    } else if (shape.rank() == 2 && random.nextBoolean()) {
      boolean transB = random.nextBoolean();
      Value w = constant(transB ? Shape.of(n, k) : Shape.of(k, n), 1);
      boolean biased = random.nextBoolean();
      float beta = random.nextBoolean() ? 1 : 0.5f;
      Gemm gemm = new Gemm(random.nextBoolean() ? 1 : 0.5f, beta, false, transB, null);
      Value y =
          biased
              ? apply(bound + 1, gemm, x, w, constant(Shape.of(n), 1))
              : apply(bound, gemm, x, w);
      keep(random.nextBoolean() ? unary(y) : y);
    } else {
      Value y = apply(bound, new MatMul(), x, constant(Shape.of(k, n), 1));
      if (random.nextBoolean()) {
        y = apply(bound(y) + 1, new Binary(BinaryFunction.ADD), y, constant(Shape.of(n), 1));
      }
      keep(random.nextBoolean() ? unary(y) : y);
    }
  }

  private void convolution() {
    Value x = image();
    int channels = x.type().shape().extent(1);
    int filters = 1 + random.nextInt(5);
    int kernel = 1 + 2 * random.nextInt(2);
    int stride = 1 + random.nextInt(2);
    int group = random.nextInt(3) == 0 ? channels : 1;
    boolean biased = random.nextBoolean();
    Value y;
    if (random.nextInt(6) == 0) {
      Value w = constant(Shape.of(channels, filters, kernel, kernel), 0.5);
      ConvTranspose operator =
          new ConvTranspose(Window.square(stride, kernel / 2), ImmutableIntArray.of(0, 0), 1, null);
      double bound = bound(x) * channels * kernel * kernel / 2;
      y =
          biased
              ? apply(bound + 1, operator, x, w, constant(Shape.of(filters), 1))
              : apply(bound, operator, x, w);
      filters = y.type().shape().extent(1);
    } else {
      filters = group == 1 ? filters : channels * (1 + random.nextInt(2));
      Value w = constant(Shape.of(filters, channels / group, kernel, kernel), 0.5);
      Conv operator = new Conv(Window.square(stride, kernel / 2), group);
      double bound = bound(x) * channels / group * kernel * kernel / 2;
      y =
          biased
              ? apply(bound + 1, operator, x, w, constant(Shape.of(filters), 1))
              : apply(bound, operator, x, w);
    }
    Shape perChannel = Shape.of(filters);
    switch (random.nextInt(4)) {
      case 0:
      case 1:
        y =
            apply(
                4 * (bound(y) + 2),
                new BatchNormalization(1e-3f),
                y,
                constant(perChannel, 2),
                constant(perChannel, 1),
                constant(perChannel, 1),
                positive(perChannel, 0.25));
        break;
      case 2:
        Value scale = constant(Shape.of(filters, 1, 1), 2);
        y = apply(bound(y) * 2, new Binary(BinaryFunction.MUL), y, scale);
        break;
      default:
        break;
    }
    if (random.nextInt(3) > 0) {
      y = unary(y);
    }
    keep(y);
    if (random.nextInt(4) == 0 && y.type().equals(x.type())) { // a residual block
      keep(apply(bound(x) + bound(y), new Binary(BinaryFunction.ADD), x, y));
    }
  }

  private void pooling() {
    Value x = image();
    Pool.Function function = random.nextBoolean() ? Pool.Function.MAX : Pool.Function.AVERAGE;
    if (random.nextInt(3) == 0) {
      keep(apply(bound(x), new GlobalPool(function), x));
      return;
    }
    int stride = 1 + random.nextInt(2);
    boolean ceil = random.nextBoolean();
    Pool pool =
        new Pool(
            function,
            ImmutableIntArray.of(3, 3),
            Window.square(stride, 1),
            ceil,
            random.nextBoolean());
    keep(apply(bound(x), pool, x));
  }

  private void concat() {
    Value x = ofRank(1);
    int axis = random.nextInt(x.type().shape().rank());
    List<Value> parts = new ArrayList<>(List.of(x));
    for (Value other : pool) {
      boolean fits =
          parts.size() < 4
              && other.type().shape().rank() == x.type().shape().rank()
              && random.nextBoolean();
      for (int i = 0; fits && i < other.type().shape().rank(); i++) {
        fits = i == axis || other.type().shape().extent(i) == x.type().shape().extent(i);
      }
      if (fits) {
        parts.add(other);
      }
    }
    long elements = parts.stream().mapToLong(v -> v.type().elements()).sum();
    if (elements <= MOST_ELEMENTS) {
      double bound = parts.stream().mapToDouble(this::bound).max().orElseThrow();
      keep(apply(bound, new Concat(axis), parts.toArray(new Value[0])));
    } else {
      keep(unary(x));
    }
  }

  private void split() {
    Value x = ofRank(1);
    int axis = random.nextInt(x.type().shape().rank());
    int extent = x.type().shape().extent(axis);
    ImmutableIntArray.Builder sizes = ImmutableIntArray.builder();
    for (int left = extent; left > 0; ) {
      int size = 1 + random.nextInt(left);
      sizes.add(size);
      left -= size;
    }
    nodes++;
    List<Value> parts = builder.add("Split", new Split(axis, sizes.build()), List.of(x)).outputs();
    parts.forEach(part -> enter(part, bound(x))); // some may stay unread
  }

  private void movement() {
    Value x = ofRank(1);
    Shape shape = x.type().shape();
    int rank = shape.rank();
    int axis = random.nextInt(rank);
    int[] ones = new int[rank];
    Arrays.fill(ones, 1);
    int[] zeros = new int[rank];
    switch (random.nextInt(8)) {
      case 0:
        keep(apply(bound(x), new Reshape(regrouped(shape)), x));
        break;
      case 1:
        keep(apply(bound(x), new Transpose(permutation(rank)), x));
        break;
      case 2:
        int start = random.nextInt(shape.extent(axis));
        int[] extents = shape.toArray();
        extents[axis] = shape.extent(axis) - start;
        int[] starts = zeros.clone();
        starts[axis] = start;
        if (random.nextBoolean()) { // backwards
          extents[axis] = start + 1;
          ones[axis] = -1;
        }
        StridedSlice slice =
            new StridedSlice(
                ImmutableIntArray.copyOf(starts),
                ImmutableIntArray.copyOf(extents),
                ImmutableIntArray.copyOf(ones));
        keep(apply(bound(x), slice, x));
        break;
      case 3:
        int[] after = zeros.clone();
        after[axis] = 1 + random.nextInt(2);
        Pad.Mode mode = random.nextBoolean() ? Pad.Mode.CONSTANT : Pad.Mode.EDGE;
        Pad pad = new Pad(mode, ImmutableIntArray.copyOf(zeros), ImmutableIntArray.copyOf(after));
        keep(apply(bound(x), pad, x));
        break;
      case 4:
        ones[axis] = 2;
        keep(apply(bound(x), new Tile(ImmutableIntArray.copyOf(ones)), x));
        break;
      case 5:
        int[] target = new int[rank + 1];
        target[0] = 2;
        System.arraycopy(shape.toArray(), 0, target, 1, rank);
        keep(apply(bound(x), new Expand(Shape.of(target)), x));
        break;
      case 6:
        long[] rows = new long[1 + random.nextInt(3)];
        Arrays.setAll(rows, i -> random.nextInt(2 * shape.extent(axis)) - shape.extent(axis));
        Value indices = builder.constant("rows", Tensor.ofLongs(Shape.of(rows.length), rows));
        keep(apply(bound(x), new Gather(axis), x, indices));
        break;
      default:
        resize();
        break;
    }
  }

  private void resize() {
    Value x = image();
    int[] extents = x.type().shape().toArray();
    extents[2] *= 2;
    extents[3] *= 2;
    Resize.Mode mode = random.nextBoolean() ? Resize.Mode.NEAREST : Resize.Mode.LINEAR;
    Resize resize =
        new Resize(
            mode,
            random.nextBoolean() ? Resize.Transform.HALF_PIXEL : Resize.Transform.ASYMMETRIC,
            Resize.Rounding.FLOOR,
            -0.75f,
            false,
            Shape.of(extents),
            ImmutableDoubleArray.of(1, 1, 2, 2));
    keep(apply(bound(x), resize, x));
  }

  /** Another shape of as many elements: two axes joined, or one of extent 1 added. */
  private Shape regrouped(Shape shape) {
    int[] extents = shape.toArray();
    if (extents.length > 1 && random.nextBoolean()) {
      int axis = random.nextInt(extents.length - 1);
      int[] joined = new int[extents.length - 1];
      for (int i = 0; i < extents.length; i++) {
        int to = i > axis ? i - 1 : i;
        joined[to] = Math.max(1, joined[to]) * extents[i];
      }
      return Shape.of(joined);
    }
    if (extents.length >= 4) {
      return Shape.of(shape.elements());
    }
    int[] longer = new int[extents.length + 1];
    int axis = random.nextInt(longer.length);
    for (int i = 0; i < longer.length; i++) {
      longer[i] = i == axis ? 1 : extents[i > axis ? i - 1 : i];
    }
    return Shape.of(longer);
  }

  private ImmutableIntArray permutation(int rank) {
    List<Integer> axes = new ArrayList<>();
    for (int i = 0; i < rank; i++) {
      axes.add(random.nextInt(i + 1), i);
    }
    return ImmutableIntArray.copyOf(axes);
  }

  private ImmutableIntArray someAxes(int rank) {
    ImmutableIntArray.Builder axes = ImmutableIntArray.builder();
    for (int axis = 0; axis < rank; axis++) {
      if (random.nextBoolean()) {
        axes.add(axis);
      }
    }
    return axes.build();
  }

  private void reduction() {
    Value x = any();
    Shape shape = x.type().shape();
    ImmutableIntArray axes = someAxes(shape.rank());
    boolean keep = random.nextBoolean();
    double bound = bound(x) * shape.elements();
    switch (random.nextInt(5)) {
      case 0:
        keep(apply(bound, new Reduce(Reduce.Function.SUM, axes, keep), x));
        break;
      case 1:
        keep(apply(bound(x), new Reduce(Reduce.Function.MAX, axes, keep), x));
        break;
      case 2:
        keep(apply(bound(x), new Reduce(Reduce.Function.MIN, axes, keep), x));
        break;
      case 3:
        keep(apply(bound, new Reduce(Reduce.Function.L1, axes, keep), x));
        break;
      default:
        keep(apply(bound(x), new Reduce(Reduce.Function.MEAN, axes, keep), x));
        break;
    }
  }

  private void normalisation() {
    Value x = ofRank(1);
    int rank = x.type().shape().rank();
    if (random.nextBoolean()) {
      keep(apply(1, new Softmax(random.nextInt(rank), false), x));
      return;
    }
    Shape last = Shape.of(x.type().shape().extent(-1));
    LayerNormalization operator = new LayerNormalization(-1, 0.125f);
    keep(
        random.nextBoolean()
            ? apply(10, operator, x, constant(last, 1), constant(last, 1))
            : apply(10, operator, x, constant(last, 1)));
  }

  /** What exporters write where they lack the operator. */
  private void spelledOut() {
    Value x = ofRank(1);
    switch (random.nextInt(3)) {
      case 0: // GELU
        Value scaled = apply(bound(x), new Binary(BinaryFunction.DIV), x, number(Math.sqrt(2)));
        Value erf = apply(1, Unary.of(UnaryFunction.ERF), scaled);
        Value shifted = apply(2, new Binary(BinaryFunction.ADD), erf, number(1));
        Value product = apply(2 * bound(x), new Binary(BinaryFunction.MUL), x, shifted);
        keep(apply(bound(x), new Binary(BinaryFunction.MUL), product, number(0.5)));
        break;
      case 1: // hard swish
        Value three = apply(bound(x) + 3, new Binary(BinaryFunction.ADD), x, number(3));
        Value clipped = apply(6, new Unary(UnaryFunction.CLIP, 0, 6), three);
        Value six = apply(6 * bound(x), new Binary(BinaryFunction.MUL), x, clipped);
        keep(apply(bound(x), new Binary(BinaryFunction.DIV), six, number(6)));
        break;
      default: // layer normalisation
        int rank = x.type().shape().rank();
        Shape last = Shape.of(x.type().shape().extent(-1));
        Reduce mean = new Reduce(Reduce.Function.MEAN, ImmutableIntArray.of(rank - 1), true);
        Value centre = apply(bound(x), mean, x);
        Value centred = apply(2 * bound(x), new Binary(BinaryFunction.SUB), x, centre);
        Value square =
            apply(
                bound(centred) * bound(centred),
                new Binary(BinaryFunction.POW),
                centred,
                number(2));
        Value variance = apply(bound(square), mean, square);
        Value safe = apply(bound(variance), new Binary(BinaryFunction.ADD), variance, number(0.1));
        Value deviation = apply(bound(safe), Unary.of(UnaryFunction.SQRT), safe);
        Value standard = apply(10, new Binary(BinaryFunction.DIV), centred, deviation);
        Value y = apply(10, new Binary(BinaryFunction.MUL), standard, constant(last, 1));
        keep(apply(11, new Binary(BinaryFunction.ADD), y, constant(last, 1)));
        break;
    }
  }

  /** The same node twice, both read. */
  private void twice() {
    Value x = any();
    Unary unary = randomUnary();
    Value first = apply(bound(x) + 1, unary, x);
    Value second = apply(bound(x) + 1, unary, x);
    keep(apply(bound(first) + bound(second), new Binary(BinaryFunction.ADD), first, second));
  }

  /** A subgraph of constants, read by a later node. */
  private void foldable() {
    Value x = any();
    int extent = x.type().shape().rank() == 0 ? 1 : x.type().shape().extent(-1);
    Value folded = binary(constant(Shape.of(extent), 1));
    keep(
        broadcasts(x.type().shape(), folded.type().shape())
            ? apply(bound(x) + bound(folded), new Binary(BinaryFunction.ADD), x, folded)
            : folded);
  }

  /** Nodes that leave their operand as it is. */
  private void unchanged() {
    Value x = any();
    switch (random.nextInt(5)) {
      case 0:
        keep(apply(bound(x), new Identity(), x));
        break;
      case 1:
        keep(apply(bound(x), new Binary(BinaryFunction.MUL), x, number(1)));
        break;
      case 2:
        keep(apply(bound(x), new Binary(BinaryFunction.ADD), x, number(0)));
        break;
      case 3:
        ImmutableIntArray permutation = permutation(x.type().shape().rank());
        int[] inverse = new int[permutation.length()];
        for (int i = 0; i < inverse.length; i++) {
          inverse[permutation.get(i)] = i;
        }
        Value turned = apply(bound(x), new Transpose(permutation), x);
        keep(apply(bound(x), new Transpose(ImmutableIntArray.copyOf(inverse)), turned));
        break;
      default:
        Value flat = apply(bound(x), new Reshape(Shape.of(x.type().elements())), x);
        keep(apply(bound(x), new Reshape(x.type().shape()), flat));
        break;
    }
  }

  /** An update of a variable, by a value of its type; its readers before see the old contents. */
  private void update() {
    Value variable = variables.get(random.nextInt(variables.size()));
    Value x = any();
    Value old = unary(variable);
    Value next =
        old.type().equals(x.type())
            ? apply(bound(old) + bound(x), new Binary(BinaryFunction.ADD), old, x)
            : old;
    next = apply(1, Unary.of(UnaryFunction.TANH), next);
    nodes++;
    if (random.nextBoolean()) {
      builder.add("Assign", new Assign(false), List.of(variable, next));
    } else { // moves the contents by no more than 1
      builder.add("AssignAdd", new Assign(true), List.of(variable, next));
    }
    if (random.nextBoolean()) {
      keep(unary(variable));
    }
  }
}
