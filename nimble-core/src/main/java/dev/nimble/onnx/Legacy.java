package dev.nimble.onnx;

import ai.onnx.proto.OnnxMl.TensorProto;
import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import dev.nimble.op.Tile;
import java.util.Arrays;
import java.util.List;

/** What operators meant before opset 7. */
final class Legacy {
  private Legacy() {}

  /**
   * The two operands of an elementwise operator. Before opset 7, B broadcasts only where {@code
   * broadcast} says so, and its first axis is at {@code axis} of A.
   */
  static List<Value> aligned(NodeImport n) {
    List<Value> operands = n.operands(2, 2);
    if (n.opset() >= 7) {
      return operands;
    }
    boolean broadcast = n.attributes().flag("broadcast", false);
    Shape a = n.shape(0);
    Shape b = n.shape(1);
    long at = n.attributes().integer("axis", a.rank() - b.rank());
    if (!broadcast) {
      if (!a.equals(b)) {
        throw new InvalidModelException("the operands differ in shape, and broadcast is not set");
      }
      return operands;
    }
    int trailing = NodeImport.narrow(a.rank() - (at < 0 ? at + a.rank() : at) - b.rank());
    if (b.elements() == 1 && trailing < 0) {
      trailing = 0;
    }
    if (trailing < 0 || trailing > a.rank()) {
      throw new InvalidModelException("B does not fit A from axis " + at + " on");
    }
    int[] extents = Arrays.copyOf(b.toArray(), b.rank() + trailing);
    Arrays.fill(extents, b.rank(), extents.length, 1);
    Value second = new Composition(n).reshape(operands.get(1), extents);
    if (!Shape.broadcast(a, second.type().shape()).equals(a)) {
      throw new InvalidModelException("B does not broadcast to A");
    }
    return List.of(operands.get(0), second);
  }

  /** The operands of PRelu; before opset 7 a slope of one axis is one a channel. */
  static List<Value> slope(NodeImport n) {
    List<Value> operands = n.operands(2, 2);
    boolean perChannel =
        n.opset() < 7
            && n.shape(1).rank() == 1
            && n.shape(1).elements() > 1
            && n.shape(0).rank() > 1;
    return perChannel
        ? List.of(operands.get(0), new Composition(n).along(operands.get(1), 1, n.shape(0).rank()))
        : operands;
  }

  /** Cast's target, which was a name. */
  static int dataTypeNumber(NodeImport n) {
    String name = n.attributes().text("to", "");
    try {
      return TensorProto.DataType.valueOf(name).getNumber();
    } catch (IllegalArgumentException e) {
      throw new InvalidModelException("there is no element type '" + name + "'");
    }
  }

  /** Tile along one axis. */
  static List<Value> tile(NodeImport n) {
    n.operands(3, 3);
    Tensor tiles = n.known(n.operand(1), "tiles");
    Tensor axis = n.known(n.operand(2), "axis");
    if (tiles.type().elements() != 1 || axis.type().elements() != 1) {
      throw new InvalidModelException("tiles and axis must be one number each");
    }
    int[] repeats = new int[n.shape(0).rank()];
    Arrays.fill(repeats, 1);
    repeats[NodeImport.axis((long) axis.getDouble(0), repeats.length)] =
        NodeImport.narrow((long) tiles.getDouble(0));
    return n.emit(new Tile(ImmutableIntArray.copyOf(repeats)), n.operand(0));
  }
}
