package dev.nimble.onnx;

import static dev.nimble.onnx.NodeImport.axis;

import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.CumSum;
import dev.nimble.op.Scatter;
import dev.nimble.op.TopK;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Operators that choose elements by position: gathers, scatters, masks, TopK. */
final class Indexing {
  private Indexing() {}

  static List<Value> gatherElements(NodeImport n) {
    n.count(2, 2);
    Composition c = new Composition(n);
    Shape data = n.shape(0);
    int along = axis(n.attributes().integer("axis", 0), data.rank());
    Value flat = flatPositions(n, c, along);
    return List.of(c.gather(c.reshape(n.operand(0), data.elements()), 0, flat));
  }

  /** Positions in the flattened first operand that the second names along an axis. */
  private static Value flatPositions(NodeImport n, Composition c, int along) {
    Shape data = n.shape(0);
    Shape indices = n.shape(1);
    checkIndices(n.operand(1));
    boolean fits = indices.rank() == data.rank();
    for (int i = 0; fits && i < data.rank(); i++) {
      fits = i == along || indices.extent(i) <= data.extent(i);
    }
    if (!fits) {
      throw new InvalidModelException("indices " + indices + " do not fit data " + data);
    }
    int[] strides = data.strides();
    int[] own = indices.strides();
    Value base =
        c.longs(
            indices,
            i -> {
              long position = 0;
              for (int a = 0; a < own.length; a++) {
                position += a == along ? 0 : (long) (i / own[a] % indices.extent(a)) * strides[a];
              }
              return position;
            });
    Value steps = c.fromFront(n.operand(1), data.extent(along));
    return c.add(c.mul(steps, c.scalar(DataType.I64, strides[along])), base);
  }

  private static void checkIndices(Value indices) {
    DataType type = indices.type().dataType();
    if (type != DataType.I64 && type != DataType.I32) {
      throw new InvalidModelException("indices must be i64 or i32, not " + indices.type());
    }
  }

  static List<Value> gatherNd(NodeImport n) {
    n.count(2, 2);
    Composition c = new Composition(n);
    Shape data = n.shape(0);
    Shape indices = n.shape(1);
    int batch = n.attributes().small("batch_dims", 0);
    Value rows = rows(n, c, batch);
    int depth = indices.extent(-1);
    int[] tail = Arrays.copyOfRange(data.toArray(), batch + depth, data.rank());
    int inner = Shape.of(tail).elements();
    int count = Shape.of(Arrays.copyOf(data.toArray(), batch + depth)).elements();
    Value picked = c.gather(c.reshape(n.operand(0), count, inner), 0, rows);
    int[] lead = Arrays.copyOf(indices.toArray(), indices.rank() - 1);
    return List.of(
        c.reshape(picked, IntStream.concat(Arrays.stream(lead), Arrays.stream(tail)).toArray()));
  }

  /**
   * The rows that tuples of indices name, flattened; the leading axes are {@code batch} + tuple.
   */
  private static Value rows(NodeImport n, Composition c, int batch) {
    Shape data = n.shape(0);
    Shape indices = n.shape(1);
    checkIndices(n.operand(1));
    if (indices.rank() < 1
        || batch < 0
        || batch >= indices.rank()
        || batch + indices.extent(-1) > data.rank()
        || !Arrays.equals(
            Arrays.copyOf(indices.toArray(), batch), Arrays.copyOf(data.toArray(), batch))) {
      throw new InvalidModelException(
          "indices " + indices + " with " + batch + " batch axes do not fit data " + data);
    }
    int depth = indices.extent(-1);
    int batches = Shape.of(Arrays.copyOf(data.toArray(), batch)).elements();
    int[] named = Arrays.copyOfRange(data.toArray(), batch, batch + depth);
    int[] strides = Shape.of(named).strides();
    int tuples = indices.elements() / Math.max(1, batches * depth);
    if (depth == 0) {
      tuples =
          Shape.of(Arrays.copyOfRange(indices.toArray(), batch, indices.rank() - 1)).elements();
    }
    Value wide = c.cast(c.reshape(n.operand(1), batches, tuples, depth), DataType.I64);
    Value extents = c.longs(Shape.of(depth), i -> named[i]);
    Value front = c.where(c.less(wide, c.scalar(wide, 0)), c.add(wide, extents), wide);
    Value row = c.sum(c.mul(front, c.longs(Shape.of(depth), i -> strides[i])), false, 2);
    if (batch > 0) {
      long size = Shape.of(named).elements();
      row = c.add(row, c.longs(Shape.of(batches, 1), i -> i * size));
    }
    return c.reshape(row, batches * tuples);
  }

  static List<Value> scatterElements(NodeImport n) {
    n.count(3, 3);
    Composition c = new Composition(n);
    Shape data = n.shape(0);
    int along = axis(n.attributes().integer("axis", 0), data.rank());
    if (!n.shape(2).equals(n.shape(1))) {
      throw new InvalidModelException("updates and indices differ in shape");
    }
    int count = n.shape(1).elements();
    Value flat = c.reshape(flatPositions(n, c, along), count);
    Value result =
        c.apply(
            new Scatter(reduction(n)),
            c.reshape(n.operand(0), data.elements()),
            flat,
            c.reshape(n.operand(2), count));
    return List.of(c.reshape(result, data));
  }

  static List<Value> scatterNd(NodeImport n) {
    n.count(3, 3);
    Composition c = new Composition(n);
    Shape data = n.shape(0);
    Shape indices = n.shape(1);
    Value rows = rows(n, c, 0);
    int depth = indices.extent(-1);
    int[] tail = Arrays.copyOfRange(data.toArray(), depth, data.rank());
    int[] lead = Arrays.copyOf(indices.toArray(), indices.rank() - 1);
    int[] wanted = IntStream.concat(Arrays.stream(lead), Arrays.stream(tail)).toArray();
    if (!n.shape(2).equals(Shape.of(wanted))) {
      throw new InvalidModelException(
          "updates must be " + Arrays.toString(wanted) + ", not " + n.shape(2));
    }
    int inner = Shape.of(tail).elements();
    int count = Shape.of(Arrays.copyOf(data.toArray(), depth)).elements();
    Value result =
        c.apply(
            new Scatter(reduction(n)),
            c.reshape(n.operand(0), count, inner),
            rows,
            c.reshape(n.operand(2), rows.type().elements(), inner));
    return List.of(c.reshape(result, data));
  }

  private static Scatter.Reduction reduction(NodeImport n) {
    String reduction = n.attributes().text("reduction", "none");
    switch (reduction) {
      case "none":
        return Scatter.Reduction.NONE;
      case "add":
        return Scatter.Reduction.ADD;
      case "mul":
        return Scatter.Reduction.MUL;
      case "min":
        return Scatter.Reduction.MIN;
      case "max":
        return Scatter.Reduction.MAX;
      default:
        throw new InvalidModelException("reduction '" + reduction + "' is not defined");
    }
  }

  static List<Value> oneHot(NodeImport n) {
    n.count(3, 3);
    Composition c = new Composition(n);
    Tensor depths = n.known(1, "depth");
    if (depths == null || depths.type().elements() != 1 || n.shape(2).elements() != 2) {
      throw new InvalidModelException("depth must be one number and values two");
    }
    int depth = NodeImport.narrow(depths.getLong(0));
    if (depth < 0) {
      throw new InvalidModelException("depth cannot be " + depth);
    }
    int rank = n.shape(0).rank() + 1;
    int along = axis(n.attributes().integer("axis", -1), rank);
    int[] extents = new int[rank];
    for (int i = 0; i < rank; i++) {
      extents[i] = i == along ? 1 : n.shape(0).extent(i < along ? i : i - 1);
    }
    Value indices = c.fromFront(c.cast(n.operand(0), DataType.I64), depth);
    Value hot = c.equal(c.reshape(indices, extents), c.counting(along, rank, depth));
    Value values = c.reshape(n.operand(2), 2);
    return List.of(c.where(hot, c.pick(values, 0, 1), c.pick(values, 0, 0)));
  }

  static List<Value> trilu(NodeImport n) {
    n.count(1, 2);
    Composition c = new Composition(n);
    Shape shape = n.shape(0);
    if (shape.rank() < 2) {
      throw new InvalidModelException("needs an operand of rank 2 or more");
    }
    Tensor given = n.known(1, "k");
    long k = given == null ? 0 : given.getLong(0);
    boolean upper = n.attributes().flag("upper", true);
    int columns = shape.extent(-1);
    Tensor mask = n.allocate(TensorType.of(DataType.BOOL, shape.extent(-2), columns));
    for (int i = 0; i < mask.type().elements(); i++) {
      long diagonal = (long) (i % columns) - i / columns;
      mask.setLong(i, (upper ? diagonal >= k : diagonal <= k) ? 1 : 0);
    }
    return n.emit(
        new dev.nimble.op.Where(), c.constant(mask), n.operand(0), c.scalar(n.operand(0), 0));
  }

  static List<Value> eyeLike(NodeImport n) {
    n.count(1, 1);
    Shape shape = n.shape(0);
    if (shape.rank() != 2) {
      throw new InvalidModelException("needs an operand of rank 2");
    }
    DataType type =
        n.attributes().has("dtype")
            ? TensorReader.dataType(n.attributes().small("dtype", 0), "the result")
            : n.operand(0).type().dataType();
    long k = n.attributes().integer("k", 0);
    Tensor eye = n.allocate(new TensorType(type, shape));
    for (int row = 0; row < shape.extent(0); row++) {
      if (row + k >= 0 && row + k < shape.extent(1)) {
        eye.setDouble((int) ((long) row * shape.extent(1) + row + k), 1);
      }
    }
    return n.emitConstant(eye);
  }

  static List<Value> cumSum(NodeImport n) {
    n.count(2, 2);
    Tensor along = n.known(1, "axis");
    if (along == null || along.type().elements() != 1) {
      throw new InvalidModelException("axis must be one number");
    }
    return n.emit(
        new CumSum(
            axis(along.getLong(0), n.shape(0).rank()),
            n.attributes().flag("exclusive", false),
            n.attributes().flag("reverse", false)),
        n.operand(0));
  }

  static List<Value> topK(NodeImport n) {
    n.count(1, 2);
    n.attributes().ignore("sorted"); // sorted is one of the orders that unsorted allows
    Tensor given = n.known(1, "k");
    int k = given == null ? n.attributes().small("k", -1) : NodeImport.narrow(given.getLong(0));
    return n.emit(
        new TopK(
            axis(n.attributes().integer("axis", -1), n.shape(0).rank()),
            k,
            n.attributes().flag("largest", true)),
        n.operand(0));
  }

  static List<Value> reverseSequence(NodeImport n) {
    n.count(2, 2);
    Composition c = new Composition(n);
    int batchAxis = n.attributes().small("batch_axis", 1);
    int timeAxis = n.attributes().small("time_axis", 0);
    Shape shape = n.shape(0);
    if (shape.rank() < 2 || batchAxis + timeAxis != 1 || batchAxis * timeAxis != 0) {
      throw new InvalidModelException("time_axis and batch_axis must be 0 and 1");
    }
    int time = shape.extent(timeAxis);
    int batch = shape.extent(batchAxis);
    if (!n.shape(1).equals(Shape.of(batch))) {
      throw new InvalidModelException("sequence_lens must be [" + batch + "]");
    }
    int[] order = IntStream.range(0, shape.rank()).toArray();
    order[0] = timeAxis;
    order[1] = batchAxis;
    Value x = c.transpose(n.operand(0), order);
    Value length = c.cast(n.operand(1), DataType.I64);
    Value t = c.counting(0, 2, time);
    Value turned = c.sub(c.sub(length, c.scalar(length, 1)), t);
    Value from = c.where(c.less(t, length), turned, t);
    Value row = c.add(c.mul(from, c.scalar(from, batch)), c.counting(1, 2, batch));
    int inner = shape.elements() / Math.max(1, time * batch);
    Value picked = c.gather(c.reshape(x, time * batch, inner), 0, row);
    return List.of(c.transpose(c.reshape(picked, x.type().shape()), order));
  }

  static List<Value> compress(NodeImport n) {
    n.count(2, 2);
    Composition c = new Composition(n);
    Tensor condition = n.known(n.operand(1), "the condition");
    Value data = n.operand(0);
    int along = 0;
    if (n.attributes().has("axis")) {
      along = axis(n.attributes().integer("axis", 0), n.shape(0).rank());
    } else {
      data = c.reshape(data, n.shape(0).elements());
    }
    int extent = Math.min(condition.type().elements(), data.type().shape().extent(along));
    int[] kept = IntStream.range(0, extent).filter(i -> condition.getLong(i) != 0).toArray();
    return List.of(c.gather(data, along, c.longs(Shape.of(kept.length), i -> kept[i])));
  }

  static List<Value> nonZero(NodeImport n) {
    n.count(1, 1);
    Tensor x = n.known(n.operand(0), "the operand");
    Shape shape = x.type().shape();
    int[] places = IntStream.range(0, shape.elements()).filter(i -> x.getDouble(i) != 0).toArray();
    int rank = Math.max(1, shape.rank());
    Tensor result = n.allocate(TensorType.of(DataType.I64, rank, places.length));
    int[] strides = shape.strides();
    for (int i = 0; i < places.length; i++) {
      for (int a = 0; a < shape.rank(); a++) {
        result.longs().put(a * places.length + i, places[i] / strides[a] % shape.extent(a));
      }
    }
    return n.emitConstant(result);
  }

  /** Rows of a known tensor, each once: Y, first indices, inverse indices, counts. */
  static List<Value> unique(NodeImport n) {
    n.count(1, 1);
    Composition c = new Composition(n);
    Tensor x = n.known(n.operand(0), "the operand");
    boolean flat = !n.attributes().has("axis");
    Shape shape = flat ? Shape.of(x.type().elements()) : x.type().shape();
    int along = flat ? 0 : axis(n.attributes().integer("axis", 0), shape.rank());
    int extent = shape.extent(along);
    int inner = shape.strides()[along];
    int outer = extent == 0 ? 0 : shape.elements() / extent / inner;
    java.util.Comparator<Integer> order =
        (p, q) -> {
          for (int i = 0; i < outer * inner; i++) {
            int base = i / inner * extent * inner + i % inner;
            int compared =
                x.type().dataType().isFloating()
                    ? Double.compare(x.getDouble(base + p * inner), x.getDouble(base + q * inner))
                    : Long.compare(x.getLong(base + p * inner), x.getLong(base + q * inner));
            if (compared != 0) {
              return compared;
            }
          }
          return 0;
        };
    java.util.TreeMap<Integer, List<Integer>> groups = new java.util.TreeMap<>(order);
    for (int i = 0; i < extent; i++) {
      groups.computeIfAbsent(i, first -> new java.util.ArrayList<>()).add(i);
    }
    List<List<Integer>> rows = new java.util.ArrayList<>(groups.values());
    if (!n.attributes().flag("sorted", true)) {
      rows.sort(java.util.Comparator.comparing(row -> row.get(0)));
    }
    long[] inverse = new long[extent];
    for (int i = 0; i < rows.size(); i++) {
      for (int place : rows.get(i)) {
        inverse[place] = i;
      }
    }
    Shape found = Shape.of(rows.size());
    Value first = c.longs(found, i -> rows.get(i).get(0));
    Value data = flat ? c.reshape(n.operand(0), shape) : n.operand(0);
    return List.of(
        c.gather(data, along, first),
        first,
        c.longs(Shape.of(extent), i -> inverse[i]),
        c.longs(found, i -> rows.get(i).size()));
  }

  /** x shifted by the bits in y: times or over a power of two, which is looked up. */
  static List<Value> bitShift(NodeImport n) {
    n.count(2, 2);
    Composition c = new Composition(n);
    DataType type = n.operand(0).type().dataType();
    if (!type.isUnsigned() || n.operand(1).type().dataType() != type) {
      throw new InvalidModelException("needs two operands of one unsigned type");
    }
    String direction = n.attributes().text("direction", "");
    if (!direction.equals("LEFT") && !direction.equals("RIGHT")) {
      throw new InvalidModelException("direction must be LEFT or RIGHT, not '" + direction + "'");
    }
    int bits = 8 * type.sizeBytes();
    Tensor powers = Tensor.zeros(TensorType.of(type, bits));
    for (int i = 0; i < bits; i++) {
      powers.setLong(i, 1L << i);
    }
    Value power = c.gather(c.constant(powers), 0, c.cast(n.operand(1), DataType.I64));
    return List.of(
        direction.equals("LEFT") ? c.mul(n.operand(0), power) : c.div(n.operand(0), power));
  }

  /** The boxes that are kept, as [count, 3] of batch, class and box; all operands must be known. */
  static List<Value> nonMaxSuppression(NodeImport n) {
    n.count(2, 5);
    boolean centre = n.attributes().small("center_point_box", 0) != 0;
    Tensor boxes = n.known(n.operand(0), "boxes");
    Tensor scores = n.known(n.operand(1), "scores");
    Shape box = boxes.type().shape();
    Shape score = scores.type().shape();
    if (box.rank() != 3
        || score.rank() != 3
        || box.extent(2) != 4
        || box.extent(0) != score.extent(0)
        || box.extent(1) != score.extent(2)) {
      throw new InvalidModelException("needs boxes [B, N, 4] and scores [B, classes, N]");
    }
    Tensor most = n.known(2, "max_output_boxes_per_class");
    Tensor overlap = n.known(3, "iou_threshold");
    Tensor least = n.known(4, "score_threshold");
    List<long[]> kept =
        new BoxSuppression(
                boxes,
                scores,
                centre,
                most == null ? 0 : most.getLong(0),
                overlap == null ? 0 : overlap.getDouble(0),
                least == null ? null : least.getDouble(0))
            .kept();
    Tensor result = n.allocate(TensorType.of(DataType.I64, kept.size(), 3));
    for (int i = 0; i < kept.size(); i++) {
      result.longs().put(3 * i, kept.get(i), 0, 3);
    }
    return n.emitConstant(result);
  }

  /** Greedy suppression of boxes that overlap a better one. */
  private record BoxSuppression(
      Tensor boxes,
      Tensor scores,
      boolean centre,
      long most,
      double overlap,
      @Nullable Double least) {

    List<long[]> kept() {
      List<long[]> all = new java.util.ArrayList<>();
      Shape score = scores.type().shape();
      int count = score.extent(2);
      for (int batch = 0; batch < score.extent(0); batch++) {
        int firstBox = batch * count;
        for (int kind = 0; kind < score.extent(1); kind++) {
          int firstScore = (batch * score.extent(1) + kind) * count;
          List<Integer> order =
              IntStream.range(0, count)
                  .boxed()
                  .filter(i -> least == null || scores.getDouble(firstScore + i) > least)
                  .sorted(
                      (p, q) ->
                          Double.compare(
                              scores.getDouble(firstScore + q), scores.getDouble(firstScore + p)))
                  .toList();
          List<Integer> chosen = new java.util.ArrayList<>();
          for (int candidate : order) {
            if (chosen.size() < most
                && chosen.stream()
                    .noneMatch(c -> intersection(firstBox + c, firstBox + candidate) > overlap)) {
              chosen.add(candidate);
              all.add(new long[] {batch, kind, candidate});
            }
          }
        }
      }
      return all;
    }

    /** Area shared over area covered. */
    private double intersection(int a, int b) {
      double[] p = corners(a);
      double[] q = corners(b);
      double height = Math.max(0, Math.min(p[2], q[2]) - Math.max(p[0], q[0]));
      double width = Math.max(0, Math.min(p[3], q[3]) - Math.max(p[1], q[1]));
      double shared = height * width;
      double covered = area(p) + area(q) - shared;
      return covered <= 0 ? 0 : shared / covered;
    }

    private static double area(double[] box) {
      return (box[2] - box[0]) * (box[3] - box[1]);
    }

    /** Least y, least x, largest y, largest x. */
    private double[] corners(int i) {
      double a = boxes.getDouble(4 * i);
      double b = boxes.getDouble(4 * i + 1);
      double u = boxes.getDouble(4 * i + 2);
      double v = boxes.getDouble(4 * i + 3);
      return centre // x, y, width, height
          ? new double[] {b - v / 2, a - u / 2, b + v / 2, a + u / 2}
          : new double[] {Math.min(a, u), Math.min(b, v), Math.max(a, u), Math.max(b, v)};
    }
  }
}
