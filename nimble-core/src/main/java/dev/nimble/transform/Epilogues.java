package dev.nimble.transform;

import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Value;
import dev.nimble.op.Binary;
import dev.nimble.op.BinaryFunction;
import dev.nimble.op.Conv;
import dev.nimble.op.ConvTranspose;
import dev.nimble.op.Gemm;
import dev.nimble.op.MatMul;
import dev.nimble.op.Unary;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Moves what follows a convolution or matrix product, and nothing else reads, into it: a constant
 * bias of a matrix product, then an activation.
 */
final class Epilogues {
  private Epilogues() {}

  static Graph apply(Graph graph) {
    Uses uses = new Uses(graph);
    Rewriter rewriter = new Rewriter(graph);
    for (Node node : graph.nodes()) {
      if (!bias(node, uses, rewriter) && !activation(node, uses, rewriter)) {
        rewriter.copy(node);
      }
    }
    return rewriter.finish();
  }

  private static boolean bias(Node node, Uses uses, Rewriter rewriter) {
    if (!node.operator().equals(new Binary(BinaryFunction.ADD))) {
      return false;
    }
    for (int i = 0; i < 2; i++) {
      Value operand = node.inputs().get(i);
      Value bias = node.inputs().get(1 - i);
      if (uses.onlyReader(operand) != node
          || !Constants.isConstant(bias)
          || !operand.type().equals(node.output().type())) {
        continue;
      }
      Node product = rewriter.map(operand).producer();
      if (product != null
          && product.operator().equals(new MatMul())
          && product.inputs().size() == 2
          && !Uses.touchesVariable(product)) {
        List<Value> inputs = new ArrayList<>(product.inputs());
        inputs.add(rewriter.map(bias));
        rewriter.emit(node, product.operator(), inputs);
        return true;
      }
    }
    return false;
  }

  private static boolean activation(Node node, Uses uses, Rewriter rewriter) {
    if (!(node.operator() instanceof Unary) || uses.onlyReader(node.inputs().get(0)) != node) {
      return false;
    }
    Node before = rewriter.map(node.inputs().get(0)).producer();
    if (before == null || Uses.touchesVariable(before)) {
      return false;
    }
    Operator activated = with(before.operator(), (Unary) node.operator());
    if (activated == null) {
      return false;
    }
    rewriter.emit(node, activated, before.inputs());
    return true;
  }

  private static @Nullable Operator with(Operator operator, Unary activation) {
    if (operator instanceof Conv && ((Conv) operator).activation() == null) {
      Conv conv = (Conv) operator;
      return new Conv(conv.window(), conv.group(), activation);
    }
    if (operator instanceof ConvTranspose && ((ConvTranspose) operator).activation() == null) {
      ConvTranspose conv = (ConvTranspose) operator;
      return new ConvTranspose(conv.window(), conv.outputPadding(), conv.group(), activation);
    }
    if (operator.equals(new MatMul())) {
      return new MatMul(activation);
    }
    if (operator instanceof Gemm && ((Gemm) operator).activation() == null) {
      Gemm gemm = (Gemm) operator;
      return new Gemm(gemm.alpha(), gemm.beta(), gemm.transA(), gemm.transB(), activation);
    }
    return null;
  }
}
