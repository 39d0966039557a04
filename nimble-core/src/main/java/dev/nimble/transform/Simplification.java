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

/** Removes nodes that change nothing, and joins reshapes and transposes that follow each other. */
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
   * x * 1, 1 * x, x / 1, x - 0: exact for every x, signed zeros and NaNs included (x + 0 is not).
   */
  private static @Nullable Value neutral(Binary binary, Node node) {
    Value a = node.inputs().get(0);
    Value b = node.inputs().get(1);
    switch (binary.function()) {
      case MUL:
        if (isAll(a, 1) && b.type().equals(node.output().type())) {
          return b;
        }
        return isAll(b, 1) && a.type().equals(node.output().type()) ? a : null;
      case DIV:
        return isAll(b, 1) && a.type().equals(node.output().type()) ? a : null;
      case SUB:
        return isAll(b, 0) && a.type().equals(node.output().type()) ? a : null;
      default:
        return null;
    }
  }

  private static boolean isAll(Value value, double wanted) {
    if (value.kind() != Value.Kind.CONSTANT) {
      return false;
    }
    Tensor contents = value.contents();
    for (int i = 0; i < contents.type().elements(); i++) {
      double x = contents.getDouble(i);
      if (x != wanted || (x == 0 && 1 / x < 0)) { // x - (-0.0) would turn -0.0 into 0.0
        return false;
      }
    }
    return true;
  }

  private static boolean joined(Node node, Rewriter rewriter) {
    Node before = node.inputs().isEmpty() ? null : node.inputs().get(0).producer();
    if (before == null || Uses.touchesVariable(before)) {
      return false;
    }
    Operator operator = node.operator();
    if (operator instanceof Reshape && before.operator() instanceof Reshape) {
      Shape target = ((Reshape) operator).target();
      Value origin = before.inputs().get(0);
      if (origin.type().shape().equals(target)) {
        rewriter.replace(node.output(), rewriter.map(origin));
      } else {
        rewriter.emit(node, operator, List.of(rewriter.map(origin)));
      }
      return true;
    }
    if (operator instanceof Transpose && before.operator() instanceof Transpose) {
      ImmutableIntArray outer = ((Transpose) operator).permutation();
      ImmutableIntArray inner = ((Transpose) before.operator()).permutation();
      ImmutableIntArray.Builder both = ImmutableIntArray.builder();
      for (int i = 0; i < outer.length(); i++) {
        both.add(inner.get(outer.get(i)));
      }
      Value origin = rewriter.map(before.inputs().get(0));
      if (isIdentity(both.build())) {
        rewriter.replace(node.output(), origin);
      } else {
        rewriter.emit(node, new Transpose(both.build()), List.of(origin));
      }
      return true;
    }
    return false;
  }
}
