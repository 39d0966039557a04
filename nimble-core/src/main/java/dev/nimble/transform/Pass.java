package dev.nimble.transform;

import dev.nimble.graph.Graph;
import java.util.Locale;
import java.util.function.UnaryOperator;

/**
 * The rewrites, in the order in which they run. Each leaves inputs, outputs and variables as they
 * are.
 */
public enum Pass {
  /** Evaluates nodes whose operands are constants, and shapes. Exact. */
  CONSTANT_FOLDING(ConstantFolding::apply),
  /** Removes nodes that change nothing (Identity, x * 1, a Reshape before a Reshape). Exact. */
  SIMPLIFICATION(Simplification::apply),
  /** Computes equal nodes once. Exact. */
  COMMON_SUBEXPRESSIONS(CommonSubexpressions::apply),
  /**
   * Recognises operators that exporters spell out: layer normalisation, GELU, hard swish.
   * Reassociates.
   */
  PATTERNS(Patterns::apply),
  /**
   * Folds batch normalisation, and channel-wise scales and shifts, into the convolution or matrix
   * product before it, also through a Concat, or after it. Reassociates.
   */
  CONV_BATCH_NORM(ChannelScaling::apply),
  /** Gives convolutions and matrix products their bias and activation. Reassociates. */
  EPILOGUES(Epilogues::apply),
  /** Makes one node of connected elementwise nodes. Exact. */
  ELEMENTWISE_FUSION(ElementwiseFusion::apply),
  /** Drops nodes on which neither an output nor a variable depends. Exact. */
  DEAD_CODE(DeadCode::apply);

  private final UnaryOperator<Graph> rewrite;

  Pass(UnaryOperator<Graph> rewrite) {
    this.rewrite = rewrite;
  }

  /** Rewrites {@code graph}; returns it itself where there is nothing to do. */
  public Graph apply(Graph graph) {
    return rewrite.apply(graph);
  }

  /** The pass's name, as on the command line: {@code constant-folding}. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }
}
