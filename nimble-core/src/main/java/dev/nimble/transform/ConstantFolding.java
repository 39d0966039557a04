package dev.nimble.transform;

import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import dev.nimble.op.Conv;
import dev.nimble.op.ConvTranspose;
import dev.nimble.op.Gemm;
import dev.nimble.op.MatMul;
import dev.nimble.op.ShapeOf;
import java.util.List;

/** Evaluates nodes whose operands are constants, by the reference kernels. */
final class ConstantFolding {
  /**
   * Results that are larger than this and than their operands stay nodes: an Expand may blow up
   * memory.
   */
  private static final long MOST_GROWTH_BYTES = 1 << 20;

  /** Larger products of constants stay nodes: reference kernels are slow. */
  private static final long MOST_MULTIPLICATIONS = 1 << 26;

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
        && written <= Math.max(read, MOST_GROWTH_BYTES)
        && multiplications(node) <= MOST_MULTIPLICATIONS;
  }

  /** Of a matrix product or convolution; 0 for other operators, whose work is linear. */
  private static long multiplications(Node node) {
    Operator operator = node.operator();
    if (operator instanceof MatMul || operator instanceof Gemm) {
      boolean rows = operator instanceof Gemm && ((Gemm) operator).transA();
      return node.output().type().elements()
          * (long) node.inputs().get(0).type().shape().extent(rows ? 0 : -1);
    }
    if (operator instanceof Conv || operator instanceof ConvTranspose) {
      Shape weights = node.inputs().get(1).type().shape();
      // an element of a convolution's result, or of a transposed one's operand, meets a whole
      // filter
      Value met = operator instanceof Conv ? node.output() : node.inputs().get(0);
      return met.type().elements() * (long) weights.elements() / Math.max(1, weights.extent(0));
    }
    return 0;
  }

  private static boolean fold(Node node, List<Value> inputs, Rewriter rewriter) {
    List<Tensor> results;
    try {
      results = node.outputs().stream().map(o -> Tensor.zeros(o.type())).toList();
      if (node.operator() instanceof ShapeOf) {
        ShapeOf.write(inputs.get(0).type().shape(), results.get(0));
      } else {
        node.operator().bind(inputs.stream().map(Value::contents).toList(), results).run();
      }
    } catch (RuntimeException e) {
      return false; // an index out of range, say: it is an error only if the node is run
    }
    for (int i = 0; i < results.size(); i++) {
      Value output = node.outputs().get(i);
      rewriter.replace(output, rewriter.constant(output.name(), results.get(i)));
    }
    return true;
  }
}
