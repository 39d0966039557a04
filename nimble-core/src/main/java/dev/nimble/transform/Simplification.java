package dev.nimble.transform;

import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import dev.nimble.op.Binary;
import dev.nimble.op.Cast;
import dev.nimble.op.Concat;
import dev.nimble.op.Expand;
import dev.nimble.op.Identity;
import dev.nimble.op.Pad;
import dev.nimble.op.Reshape;
import dev.nimble.op.Split;
import dev.nimble.op.StridedSlice;
import dev.nimble.op.Tile;
import dev.nimble.op.Transpose;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Removes nodes that change nothing, joins reshapes and transposes that follow each other, and
 * makes reshapes of transposes that move no element.
 */
final class Simplification {
  private Simplification() {}

  static Graph apply(Graph graph) {
    Rewriter rewriter = new Rewriter(graph);
    for (Node node : graph.nodes()) {
      Value same = unchanged(node);
      if (same != null) {
        rewriter.replace(node.output(), rewriter.map(same));
      } else if (!joined(node, rewriter)) {
        rewriter.copy(node);
      }
    }
    return rewriter.finish();
  }

  /** The operand that the node's only output always equals, or null. */
  private static @Nullable Value unchanged(Node node) {
    if (node.outputs().size() != 1 || node.inputs().isEmpty() || Uses.touchesVariable(node)) {
      return null; // a copy of a variable keeps what a later update overwrites
    }
    Operator operator = node.operator();
    Value first = node.inputs().get(0);
    boolean sameType = first.type().equals(node.output().type());
    boolean keeps =
        operator instanceof Identity
            || operator instanceof Reshape
            || operator instanceof Expand
            || operator instanceof Cast
            || operator instanceof Tile
            || operator instanceof Split
            || (operator instanceof Concat && node.inputs().size() == 1)
            || (operator instanceof Pad && isZero(((Pad) operator).before()))
            || (operator instanceof StridedSlice && isForward((StridedSlice) operator))
            || (operator instanceof Transpose && isIdentity(((Transpose) operator).permutation()));
    if (keeps && sameType) {
      return first;
    }
    if (operator instanceof Binary) {
      return neutral(((Binary) operator), node);
    }
    return null;
  }

  private static boolean isZero(ImmutableIntArray array) {
    return array.stream().allMatch(x -> x == 0);
  }

  private static boolean isForward(StridedSlice slice) {
    return isZero(slice.starts()) && slice.steps().stream().allMatch(x -> x == 1);
  }

  private static boolean isIdentity(ImmutableIntArray permutation) {
    for (int i = 0; i < permutation.length(); i++) {
      if (permutation.get(i) != i) {
        return false;
      }
    }
    return true;
  }

  /**
   * x * 1, 1 * x, x / 1, x - 0, x + -0, integer x + 0, x to the power of 1: exact for every x,
   * signed zeros included (floating x + 0 is not: it makes 0 of -0).
   */
  private static @Nullable Value neutral(Binary binary, Node node) {
    Value a = node.inputs().get(0);
    Value b = node.inputs().get(1);
    boolean floating = node.output().type().dataType().isFloating();
    switch (binary.function()) {
      case MUL:
        return neutralOnEitherSide(node, 1);
      case ADD:
        return neutralOnEitherSide(node, floating ? -0.0 : 0.0);
      case DIV:
        return isAll(b, 1) && a.type().equals(node.output().type()) ? a : null;
      case SUB:
        return isAll(b, 0) && a.type().equals(node.output().type()) ? a : null;
      case POW:
        return floating && isAll(b, 1) && a.type().equals(node.output().type()) ? a : null;
      default:
        return null;
    }
  }

  private static @Nullable Value neutralOnEitherSide(Node node, double number) {
    for (int i = 0; i < 2; i++) {
      Value other = node.inputs().get(1 - i);
      if (isAll(node.inputs().get(i), number) && other.type().equals(node.output().type())) {
        return other;
      }
    }
    return null;
  }

  /** Whether every element of a constant is that number, with its sign where it is zero. */
  private static boolean isAll(Value value, double wanted) {
    if (value.kind() != Value.Kind.CONSTANT) {
      return false;
    }
    Tensor contents = value.contents();
    for (int i = 0; i < contents.type().elements(); i++) {
      if (Double.compare(contents.getDouble(i), wanted) != 0) {
        return false;
      }
    }
    return true;
  }

  /** Reads what the node before reads, where both together are one reshape or one transpose. */
  private static boolean joined(Node node, Rewriter rewriter) {
    Operator operator = node.operator();
    if (operator instanceof Transpose) {
      Shape shape = node.inputs().get(0).type().shape();
      operator = turned(((Transpose) operator).permutation(), shape);
    }
    boolean moves = operator instanceof Reshape || operator instanceof Transpose;
    Node before = moves ? rewriter.map(node.inputs().get(0)).producer() : null;
    if (before != null && !rewriter.readsTheSame(before)) {
      before = null;
    }
    if (before != null && operator instanceof Reshape && before.operator() instanceof Reshape) {
      Value origin = before.inputs().get(0);
      if (origin.type().equals(node.output().type()) && origin.kind() != Value.Kind.VARIABLE) {
        rewriter.replace(node.output(), origin);
      } else {
        rewriter.emit(node, operator, List.of(origin));
      }
      return true;
    }
    if (before != null && operator instanceof Transpose && before.operator() instanceof Transpose) {
      ImmutableIntArray outer = ((Transpose) operator).permutation();
      ImmutableIntArray inner = ((Transpose) before.operator()).permutation();
      ImmutableIntArray.Builder both = ImmutableIntArray.builder();
      for (int axis : outer.asList()) {
        both.add(inner.get(axis));
      }
      Value origin = before.inputs().get(0);
      if (isIdentity(both.build()) && origin.kind() != Value.Kind.VARIABLE) {
        rewriter.replace(node.output(), origin);
      } else {
        rewriter.emit(node, turned(both.build(), origin.type().shape()), List.of(origin));
      }
      return true;
    }
    if (!operator.equals(node.operator())) {
      rewriter.emit(node, operator, rewriter.map(node.inputs()));
      return true;
    }
    return false;
  }

  /** A transpose of that shape: a reshape if it moves only axes of extent 1. */
  private static Operator turned(ImmutableIntArray permutation, Shape shape) {
    int[] extents = permutation.stream().map(shape::extent).toArray();
    boolean inOrder = true;
    int last = -1;
    for (int axis : permutation.asList()) {
      if (shape.extent(axis) != 1) {
        inOrder &= axis > last;
        last = axis;
      }
    }
    return inOrder ? new Reshape(Shape.of(extents)) : new Transpose(permutation);
  }
}
