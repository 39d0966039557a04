package dev.nimble.transform;

import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
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
 * Moves what follows a convolution or matrix product, and nothing else reads, into it: a bias, then
 * an activation. Only a bias that is there before the step starts, so that the product waits for
 * nothing new.
 */
final class Epilogues {
  private final Uses uses;
  private final Rewriter rewriter;

  private Epilogues(Graph graph) {
    this.uses = new Uses(graph);
    this.rewriter = new Rewriter(graph);
  }

  static Graph apply(Graph graph) {
    Epilogues epilogues = new Epilogues(graph);
    for (Node node : graph.nodes()) {
      if (!epilogues.bias(node) && !epilogues.activation(node)) {
        epilogues.rewriter.copy(node);
      }
    }
    return epilogues.rewriter.finish();
  }

  /** The product in the new graph that computes {@code operand} for {@code reader} alone. */
  private @Nullable Node productFor(Node reader, Value operand) {
    Node product = uses.onlyReader(operand) == reader ? rewriter.map(operand).producer() : null;
    return product != null && rewriter.readsTheSame(product) ? product : null;
  }

  private boolean bias(Node node) {
    if (!node.operator().equals(new Binary(BinaryFunction.ADD))) {
      return false;
    }
    for (int i = 0; i < 2; i++) {
      Value operand = node.inputs().get(i);
      Node product = productFor(node, operand);
      if (product == null
          || product.inputs().size() != 2
          || !operand.type().equals(node.output().type())) {
        continue;
      }
      Value bias = biasOf(product, rewriter.map(node.inputs().get(1 - i)));
      if (bias != null) {
        List<Value> inputs = new ArrayList<>(product.inputs());
        inputs.add(bias);
        rewriter.emit(node, biased(product.operator()), inputs);
        return true;
      }
    }
    return false;
  }

  /** The value as the third operand of a product, or null if it cannot be that. */
  private @Nullable Value biasOf(Node product, Value value) {
    Operator operator = product.operator();
    if (!Constants.isConstant(value)) {
      return null;
    }
    if (operator.equals(new MatMul())
        || (operator instanceof Gemm && ((Gemm) operator).activation() == null)) {
      return value;
    }
    boolean plain =
        (operator instanceof Conv && ((Conv) operator).activation() == null)
            || (operator instanceof ConvTranspose
                && ((ConvTranspose) operator).activation() == null);
    Shape shape = product.output().type().shape();
    Shape channels = plain ? Shape.of(shape.extent(1)) : Shape.scalar();
    boolean perChannel =
        plain
            && value.type().elements() == channels.elements()
            && Constants.broadcastsAlong(value.type().shape(), shape, 1);
    if (!perChannel) {
      return null;
    }
    return value.type().shape().equals(channels)
        ? value
        : rewriter.constant(value.name(), value.contents().reshaped(channels));
  }

  private static Operator biased(Operator operator) {
    if (operator instanceof Gemm) {
      Gemm gemm = (Gemm) operator;
      return new Gemm(gemm.alpha(), 1, gemm.transA(), gemm.transB(), null);
    }
    return operator;
  }

  private boolean activation(Node node) {
    if (!(node.operator() instanceof Unary)) {
      return false;
    }
    Node product = productFor(node, node.inputs().get(0));
    Operator activated =
        product == null ? null : activated(product.operator(), (Unary) node.operator());
    if (product == null || activated == null) {
      return false;
    }
    rewriter.emit(node, activated, product.inputs());
    return true;
  }

  private static @Nullable Operator activated(Operator operator, Unary activation) {
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
