package dev.nimble.onnx;

import static dev.nimble.onnx.NodeImport.axis;

import ai.onnx.proto.OnnxMl.NodeProto;
import com.google.common.collect.ImmutableMap;
import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Sequences of tensors whose length follows when the graph is built. They exist only then: a
 * sequence is a list of values, and only what is taken out of it becomes part of the graph.
 */
final class SequenceOperators {
  static final ImmutableMap<String, OperatorTable.Builder> BUILDERS =
      ImmutableMap.of(
          "SequenceEmpty", SequenceOperators::empty,
          "SequenceConstruct", SequenceOperators::construct,
          "SequenceInsert", SequenceOperators::insert,
          "SequenceErase", SequenceOperators::erase,
          "SequenceAt", SequenceOperators::at,
          "SequenceLength", SequenceOperators::length,
          "ConcatFromSequence", SequenceOperators::concat,
          "SplitToSequence", SequenceOperators::split);

  private SequenceOperators() {}

  /** Whether an operand of the node may be a sequence. */
  static boolean take(NodeProto node) {
    return BUILDERS.containsKey(OperatorTable.nameOf(node));
  }

  private static List<Value> empty(NodeImport n) {
    n.attributes().ignore("dtype");
    return n.emitSequence(List.of());
  }

  private static List<Value> construct(NodeImport n) {
    return n.emitSequence(n.operands(1, Integer.MAX_VALUE));
  }

  /** A known position among {@code count}; {@code otherwise} if it is not given. */
  private static int position(NodeImport n, int index, int count, int otherwise) {
    Tensor given = n.known(index, "the position");
    if (given == null) {
      return otherwise;
    }
    long position = given.type().elements() == 1 ? given.getLong(0) : Long.MIN_VALUE;
    if (position < -count || position > count) {
      throw new InvalidModelException("position " + given + " is outside a sequence of " + count);
    }
    return (int) (position < 0 ? position + count : position);
  }

  /** As {@link #position}, of an element that is there. */
  private static int place(NodeImport n, int count) {
    int place = position(n, 1, count, count - 1);
    if (place < 0 || place >= count) {
      throw new InvalidModelException("position " + place + " is outside a sequence of " + count);
    }
    return place;
  }

  private static List<Value> insert(NodeImport n) {
    List<Value> values = new ArrayList<>(n.sequence(0));
    values.add(position(n, 2, values.size(), values.size()), n.operand(1));
    return n.emitSequence(values);
  }

  private static List<Value> erase(NodeImport n) {
    List<Value> values = new ArrayList<>(n.sequence(0));
    values.remove(place(n, values.size()));
    return n.emitSequence(values);
  }

  private static List<Value> at(NodeImport n) {
    List<Value> values = n.sequence(0);
    if (!n.has(1)) {
      throw new InvalidModelException("the position must be given");
    }
    return List.of(values.get(place(n, values.size())));
  }

  private static List<Value> length(NodeImport n) {
    return n.emitConstant(Tensor.ofLongs(Shape.scalar(), n.sequence(0).size()));
  }

  private static List<Value> concat(NodeImport n) {
    List<Value> parts = n.sequence(0);
    if (parts.isEmpty()) {
      throw new InvalidModelException("the sequence is empty");
    }
    Composition c = new Composition(n);
    boolean stack = n.attributes().flag("new_axis", false);
    int rank = parts.get(0).type().shape().rank() + (stack ? 1 : 0);
    if (!n.attributes().has("axis")) {
      throw new InvalidModelException("axis must be given");
    }
    int along = axis(n.attributes().integer("axis", 0), rank);
    List<Value> rows = new ArrayList<>();
    for (Value part : parts) {
      rows.add(stack ? unsqueezed(c, part, along) : part);
    }
    return List.of(c.concat(along, rows));
  }

  private static Value unsqueezed(Composition c, Value value, int along) {
    int[] own = value.type().shape().toArray();
    int[] extents = new int[own.length + 1];
    for (int i = 0; i < extents.length; i++) {
      extents[i] = i == along ? 1 : own[i < along ? i : i - 1];
    }
    return c.reshape(value, extents);
  }

  private static List<Value> split(NodeImport n) {
    n.count(1, 2);
    Composition c = new Composition(n);
    int along = axis(n.attributes().integer("axis", 0), n.shape(0).rank());
    int extent = n.shape(0).extent(along);
    Tensor given = n.known(1, "split");
    boolean keep = n.attributes().flag("keepdims", true);
    List<Value> parts = new ArrayList<>();
    int at = 0;
    for (int size : sizes(given, extent)) {
      parts.add(
          given == null && !keep
              ? c.pick(n.operand(0), along, at)
              : c.slice(n.operand(0), along, at, size, 1));
      at += size;
    }
    return n.emitSequence(parts);
  }

  private static int[] sizes(@Nullable Tensor split, int extent) {
    if (split != null && split.type().shape().rank() > 0) {
      long[] sizes = split.toLongArray();
      if (Arrays.stream(sizes).anyMatch(size -> size < 0 || size > extent)
          || Arrays.stream(sizes).sum() != extent) {
        throw new InvalidModelException("the parts do not add up to " + extent);
      }
      return Arrays.stream(sizes).mapToInt(size -> (int) size).toArray();
    }
    long size = split == null ? 1 : split.getLong(0);
    if (size < 1) {
      throw new InvalidModelException("a part must have elements");
    }
    int[] sizes = new int[(int) ((extent + size - 1) / size)];
    Arrays.setAll(sizes, i -> (int) Math.min(size, extent - i * size));
    return sizes;
  }
}
