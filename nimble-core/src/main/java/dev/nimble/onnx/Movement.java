package dev.nimble.onnx;

import static dev.nimble.onnx.NodeImport.axis;
import static dev.nimble.onnx.NodeImport.ints;
import static dev.nimble.onnx.NodeImport.narrow;
import static dev.nimble.onnx.NodeImport.required;

import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.Concat;
import dev.nimble.op.Expand;
import dev.nimble.op.Pad;
import dev.nimble.op.Reshape;
import dev.nimble.op.Split;
import dev.nimble.op.StridedSlice;
import dev.nimble.op.Tile;
import dev.nimble.op.Transpose;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;

/** Operators that only move elements: reshapes, slices, splits, pads. */
final class Movement {
  private Movement() {}

  static List<Value> reshape(NodeImport n) {
    n.operands(1, 2);
    boolean allowZero = n.attributes().flag("allowzero", false);
    long[] wished = required(n.integers("shape", 1), "the shape").clone();
    Shape own = n.shape(0);
    int open = -1;
    for (int i = 0; i < wished.length; i++) {
      if (wished[i] == 0 && !allowZero) {
        if (i >= own.rank()) {
          throw new InvalidModelException(
              "extent 0 at axis " + i + " copies no axis of the operand");
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

  static List<Value> flatten(NodeImport n) {
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

  static List<Value> squeeze(NodeImport n) {
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
    int[] kept = IntStream.range(0, gone.length).filter(i -> !gone[i]).map(own::extent).toArray();
    return n.emit(new Reshape(Shape.of(kept)), n.operand(0));
  }

  static List<Value> unsqueeze(NodeImport n) {
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

  static List<Value> transpose(NodeImport n) {
    int rank = n.operands(1, 1).get(0).type().shape().rank();
    long[] permutation = n.attributes().integers("perm");
    if (permutation == null) {
      List<Integer> reversed = new ArrayList<>(IntStream.range(0, rank).boxed().toList());
      Collections.reverse(reversed);
      return n.emit(new Transpose(ImmutableIntArray.copyOf(reversed)), n.operand(0));
    }
    return n.emit(new Transpose(ints(permutation)), n.operand(0));
  }

  static List<Value> concat(NodeImport n) {
    if (!n.attributes().has("axis") && n.opset() >= 4) {
      throw new InvalidModelException("axis must be given");
    }
    return n.emit(
        new Concat(axis(n.attributes().integer("axis", 1), n.shape(0).rank())),
        n.operands(1, Integer.MAX_VALUE));
  }

  static List<Value> split(NodeImport n) {
    n.operands(1, 2);
    int along = axis(n.attributes().integer("axis", 0), n.shape(0).rank());
    int extent = n.shape(0).extent(along);
    long[] sizes = n.attributes().integers("split");
    if (sizes == null && n.has(1)) { // may have more entries than there are axes
      Tensor given = n.known(1, "split");
      sizes = given == null ? null : given.toLongArray();
    }
    int parts = n.attributes().small("num_outputs", n.outputCount());
    if (parts != n.outputCount() || (sizes != null && sizes.length != parts)) {
      throw new InvalidModelException(
          "has "
              + n.outputCount()
              + " outputs but is cut into "
              + (sizes == null ? parts : sizes.length)
              + " parts");
    }
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

  static List<Value> slice(NodeImport n) {
    n.count(1, 5);
    Shape own = n.shape(0);
    long[] starts = required(n.integers("starts", 1), "starts");
    long[] ends = required(n.integers("ends", 2), "ends");
    long[] axes = n.integers("axes", 3);
    long[] steps = n.knownIntegers(4, "steps");
    int[] start = new int[own.rank()];
    int[] extent = own.toArray();
    int[] step = new int[own.rank()];
    Arrays.fill(step, 1);
    if (ends.length != starts.length
        || (axes != null && axes.length != starts.length)
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
        new StridedSlice(
            ImmutableIntArray.copyOf(start),
            ImmutableIntArray.copyOf(extent),
            ImmutableIntArray.copyOf(step)),
        n.operand(0));
  }

  static List<Value> expand(NodeImport n) {
    n.operands(2, 2);
    Shape wished = Shape.ofLongs(required(n.knownIntegers(1, "the shape"), "the shape"));
    return n.emit(new Expand(Shape.broadcast(n.shape(0), wished)), n.operand(0));
  }

  static List<Value> pad(NodeImport n) {
    n.count(1, 4);
    int rank = n.shape(0).rank();
    long[] pads = required(n.integers(n.opset() < 2 ? "paddings" : "pads", 1), "pads");
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

  static List<Value> tile(NodeImport n) {
    if (n.opset() < 6) {
      return Legacy.tile(n);
    }
    n.operands(2, 2);
    return n.emit(new Tile(ints(required(n.knownIntegers(1, "repeats"), "repeats"))), n.operand(0));
  }

  static List<Value> depthToSpace(NodeImport n) {
    int block = block(n);
    int[] x = n.shape(0).toArray();
    if (x[1] % ((long) block * block) != 0) {
      throw new InvalidModelException(x[1] + " channels do not make blocks of " + block);
    }
    int channels = x[1] / (block * block);
    String mode = n.attributes().text("mode", "DCR");
    Shape cut;
    ImmutableIntArray order;
    if (mode.equals("DCR")) {
      cut = Shape.of(x[0], block, block, channels, x[2], x[3]);
      order = ImmutableIntArray.of(0, 3, 4, 1, 5, 2);
    } else if (mode.equals("CRD")) {
      cut = Shape.of(x[0], channels, block, block, x[2], x[3]);
      order = ImmutableIntArray.of(0, 1, 4, 2, 5, 3);
    } else {
      throw new InvalidModelException("mode '" + mode + "' is not defined");
    }
    Value parts = n.extra("parts", new Reshape(cut), n.operand(0));
    Value ordered = n.extra("ordered", new Transpose(order), parts);
    return n.emit(
        new Reshape(Shape.ofLongs(x[0], channels, (long) x[2] * block, (long) x[3] * block)),
        ordered);
  }

  static List<Value> spaceToDepth(NodeImport n) {
    int block = block(n);
    int[] x = n.shape(0).toArray();
    if (x[2] % block != 0 || x[3] % block != 0) {
      throw new InvalidModelException("does not cut into blocks of " + block);
    }
    Shape cut = Shape.of(x[0], x[1], x[2] / block, block, x[3] / block, block);
    Value parts = n.extra("parts", new Reshape(cut), n.operand(0));
    Value ordered =
        n.extra("ordered", new Transpose(ImmutableIntArray.of(0, 3, 5, 1, 2, 4)), parts);
    return n.emit(
        new Reshape(Shape.ofLongs(x[0], (long) x[1] * block * block, x[2] / block, x[3] / block)),
        ordered);
  }

  private static int block(NodeImport n) {
    n.count(1, 1);
    int block = n.attributes().small("blocksize", 0);
    if (block < 1) {
      throw new InvalidModelException("blocksize must be given and positive");
    }
    if (n.shape(0).rank() != 4) {
      throw new InvalidModelException("needs an operand [N, C, H, W]");
    }
    return block;
  }
}
