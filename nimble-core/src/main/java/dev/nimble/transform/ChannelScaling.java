package dev.nimble.transform;

import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Value;
import dev.nimble.op.Concat;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Folds what only scales and shifts channels (batch normalisation with fixed statistics, arithmetic
 * with constants of each channel) into the weights and bias of the convolution or matrix product
 * before it, where that is read nowhere else. Also where a Concat of the channels of several
 * products lies between: each takes its part. What no product comes before goes into the one after
 * it, but for a shift before a convolution that pads, which does not pad with what it shifts.
 */
final class ChannelScaling {
  private final Uses uses;
  private final Rewriter rewriter;

  private ChannelScaling(Graph graph) {
    this.uses = new Uses(graph);
    this.rewriter = new Rewriter(graph);
  }

  static Graph apply(Graph graph) {
    ChannelScaling scaling = new ChannelScaling(graph);
    for (Node node : graph.nodes()) {
      if (!scaling.fold(node) && !scaling.foldIntoReader(node)) {
        scaling.rewriter.copy(node);
      }
    }
    return scaling.rewriter.finish();
  }

  private boolean fold(Node node) {
    for (int i = 0; i < Math.min(2, node.inputs().size()); i++) {
      Value operand = node.inputs().get(i);
      boolean sameType = node.outputs().size() == 1 && operand.type().equals(node.output().type());
      if (sameType
          && uses.onlyReader(operand) == node
          && (foldIntoProduct(node, i) || foldThroughConcat(node, i))) {
        return true;
      }
    }
    return false;
  }

  private boolean foldIntoProduct(Node node, int position) {
    // The producer in the new graph: it may itself have been folded in this very pass.
    ChannelProduct product = product(rewriter.map(node.inputs().get(position)));
    ChannelAffine affine =
        product == null ? null : ChannelAffine.of(node, position, product.channelAxis());
    if (product == null || affine == null) {
      return false;
    }
    rewriter.emit(node, product.operator(), product.operandsBefore(affine, node.name(), rewriter));
    return true;
  }

  private @Nullable ChannelProduct product(Value value) {
    ChannelProduct product = ChannelProduct.of(value.producer());
    return product != null && product.isPlain() && rewriter.readsTheSame(product.node())
        ? product
        : null;
  }

  private boolean foldThroughConcat(Node node, int position) {
    Node concat = node.inputs().get(position).producer();
    if (concat == null || !(concat.operator() instanceof Concat)) {
      return false;
    }
    int rank = concat.output().type().shape().rank();
    int axis = Math.floorMod(((Concat) concat.operator()).axis(), rank);
    ChannelAffine affine = ChannelAffine.of(node, position, axis);
    if (affine == null || new HashSet<>(concat.inputs()).size() < concat.inputs().size()) {
      return false;
    }
    List<ChannelProduct> products = new ArrayList<>();
    for (Value part : concat.inputs()) {
      ChannelProduct product = product(rewriter.map(part));
      if (product == null || product.channelAxis() != axis || uses.onlyReader(part) != concat) {
        return false;
      }
      products.add(product);
    }
    List<Value> parts = new ArrayList<>();
    int from = 0;
    for (ChannelProduct product : products) {
      int to = from + product.node().output().type().shape().extent(axis);
      String name = product.node().name();
      List<Value> operands = product.operandsBefore(affine.part(from, to), name, rewriter);
      parts.add(rewriter.add(name, product.operator(), operands));
      from = to;
    }
    rewriter.emit(node, concat.operator(), parts);
    return true;
  }

  /** Folds what scales and shifts the operand of {@code node}, for it alone, into {@code node}. */
  private boolean foldIntoReader(Node node) {
    ChannelProduct product = ChannelProduct.of(node);
    if (product == null) {
      return false;
    }
    int axis = product.operandAxis();
    Value operand = node.inputs().get(0);
    ChannelAffine total = ChannelAffine.identity(operand.type().shape().extent(axis));
    Node reader = node;
    boolean found = false;
    for (int position = 0; position >= 0; ) {
      Node before = operand.producer();
      position = -1;
      Node copied = rewriter.map(operand).producer();
      if (before == null
          || copied == null
          || !copied.operator().equals(before.operator()) // it has gone into the product before it
          || uses.onlyReader(operand) != reader) {
        break;
      }
      for (int i = 0; i < before.inputs().size() && position < 0; i++) {
        Value candidate = before.inputs().get(i);
        ChannelAffine affine =
            candidate.type().equals(operand.type()) && candidate.kind() != Value.Kind.VARIABLE
                ? ChannelAffine.of(before, i, axis)
                : null;
        ChannelAffine both = affine == null ? null : total.after(affine);
        if (both != null && both.isFinite() && (product.meetsAllWeights() || both.keepsZero())) {
          total = both;
          position = i;
        }
      }
      if (position >= 0) {
        found = true;
        reader = before;
        operand = before.inputs().get(position);
      }
    }
    if (found) {
      List<Value> inputs = product.operandsAfter(total, operand, node.name(), rewriter);
      rewriter.emit(node, product.operator(), inputs);
    }
    return found;
  }
}
