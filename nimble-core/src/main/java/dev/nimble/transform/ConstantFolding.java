package dev.nimble.transform;

import dev.nimble.error.NimbleException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import dev.nimble.op.ShapeOf;
import java.util.List;

/** Evaluates nodes whose operands are constants, by the reference kernels. */
final class ConstantFolding {
  /**
   * Results that are larger than this and than their operands stay nodes: an Expand may blow up
   * memory.
   */
  private static final long MOST_GROWTH_BYTES = 1 << 20;

  private ConstantFolding() {}

  static Graph apply(Graph graph) {
    Rewriter rewriter = new Rewriter(graph);
    for (Node node : graph.nodes()) {
      List<Value> inputs = rewriter.map(node.inputs());
      if (!folds(node, inputs) || !fold(node, inputs, rewriter)) {
        rewriter.copy(node);
      }
    }
    return rewriter.finish();
  }

  private static boolean folds(Node node, List<Value> inputs) {
    if (node.operator() instanceof ShapeOf) {
      return true;
    }
    long read = 0;
    for (Value input : inputs) {
      if (input.kind() != Value.Kind.CONSTANT) {
        return false;
      }
      read += input.type().sizeBytes();
    }
    long written = node.outputs().stream().mapToLong(o -> o.type().sizeBytes()).sum();
    return node.operator().mutatedInputs().isEmpty()
        && written <= Math.max(read, MOST_GROWTH_BYTES);
  }

  private static boolean fold(Node node, List<Value> inputs, Rewriter rewriter) {
    List<Tensor> results = node.outputs().stream().map(o -> Tensor.zeros(o.type())).toList();
    try {
      if (node.operator() instanceof ShapeOf) {
        int[] extents = inputs.get(0).type().shape().toArray();
        for (int axis = 0; axis < extents.length; axis++) {
          results.get(0).longs().put(axis, extents[axis]);
        }
      } else {
        node.operator().bind(inputs.stream().map(Value::contents).toList(), results).run();
      }
    } catch (NimbleException e) {
      return false; // an index out of range, say: it is an error only if the node is run
    }
    for (int i = 0; i < results.size(); i++) {
      Value output = node.outputs().get(i);
      rewriter.replace(output, rewriter.builder().constant(output.name(), results.get(i)));
    }
    return true;
  }
}
