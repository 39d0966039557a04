package dev.nimble.transform;

import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Value;
import dev.nimble.op.Binary;
import dev.nimble.op.BinaryFunction;
import dev.nimble.op.LayerNormalization;
import dev.nimble.op.Reduce;
import dev.nimble.op.Unary;
import dev.nimble.op.UnaryFunction;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Replaces operators that exporters spell out in parts. The parts are left to dead code removal.
 */
final class Patterns {
  private static final int MOST_FACTORS = 4;

  private final Graph graph;
  private final Uses uses;

  private Patterns(Graph graph) {
    this.graph = graph;
    this.uses = new Uses(graph);
  }

  static Graph apply(Graph graph) {
    return new Patterns(graph).rewrite();
  }

  private Graph rewrite() {
    Rewriter rewriter = new Rewriter(graph);
    for (Node node : graph.nodes()) {
      if (Uses.touchesVariable(node)
          || !(activation(node, rewriter) || layerNorm(node, rewriter))) {
        rewriter.copy(node);
      }
    }
    return rewriter.finish();
  }

  // -- GELU and hard swish: a product of x, a function of x, and a number --

  private boolean activation(Node node, Rewriter rewriter) {
    List<Value> factors = new ArrayList<>();
    double coefficient = product(node, factors, 1);
    if (factors.size() != 2 || node.output().type().dataType() != DataType.F32) {
      return false;
    }
    for (int i = 0; i < 2; i++) {
      Value x = factors.get(i);
      Value other = factors.get(1 - i);
      UnaryFunction function = functionOf(x, other, coefficient);
      if (function != null
          && uses.onlyReader(other) != null // else its parts are computed all the same
          && x.type().equals(node.output().type())
          && x.kind() != Value.Kind.VARIABLE) {
        rewriter.emit(node, Unary.of(function), List.of(rewriter.map(x)));
        return true;
      }
    }
    return false;
  }

  /**
   * Collects the factors of a product that is read nowhere else; returns the product of its
   * numbers.
   */
  private double product(Node node, List<Value> factors, int depth) {
    BinaryFunction function = binary(node);
    if (function != BinaryFunction.MUL && function != BinaryFunction.DIV) {
      return 1;
    }
    double coefficient = 1;
    for (int i = 0; i < 2; i++) {
      Value operand = node.inputs().get(i);
      double number = Constants.scalar(operand);
      Node producer = operand.producer();
      if (!Double.isNaN(number)) {
        coefficient *= function == BinaryFunction.DIV && i == 1 ? 1 / number : number;
        if (function == BinaryFunction.DIV && i == 0) {
          factors.clear();
          return 1; // a number divided by something is no product
        }
      } else if (function == BinaryFunction.DIV && i == 1) {
        factors.clear();
        factors.addAll(node.inputs());
        factors.add(operand); // a quotient: more factors than any pattern has
        return 1;
      } else if (producer != null
          && isProduct(producer)
          && depth < MOST_FACTORS
          && uses.onlyReader(operand) == node) {
        coefficient *= product(producer, factors, depth + 1);
      } else {
        factors.add(operand);
      }
    }
    return coefficient;
  }

  private static boolean isProduct(Node node) {
    BinaryFunction function = binary(node);
    return function == BinaryFunction.MUL
        || (function == BinaryFunction.DIV
            && !Double.isNaN(Constants.scalar(node.inputs().get(1))));
  }

  /** Which function of x is coefficient * x * other. */
  private static @Nullable UnaryFunction functionOf(Value x, Value other, double coefficient) {
    Node node = other.producer();
    if (node == null) {
      return null;
    }
    if (node.operator() instanceof Unary) {
      Unary unary = (Unary) node.operator();
      Value argument = node.inputs().get(0);
      if (unary.function() == UnaryFunction.HARD_SIGMOID
          && argument == x
          && Constants.isClose(unary.alpha() * coefficient, 1 / 6.0)
          && Constants.isClose(unary.beta() * coefficient, 0.5)
          && Constants.isClose(coefficient, 1)) {
        return UnaryFunction.HARD_SWISH;
      }
      Value shifted = plus(argument, 3);
      if (unary.function() == UnaryFunction.CLIP
          && unary.alpha() == 0
          && unary.beta() == 6
          && shifted == x
          && Constants.isClose(coefficient, 1 / 6.0)) {
        return UnaryFunction.HARD_SWISH;
      }
    }
    Value erf = plus(other, 1);
    Node erfNode = erf == null ? null : erf.producer();
    if (erfNode != null
        && erfNode.operator().equals(Unary.of(UnaryFunction.ERF))
        && Constants.isClose(coefficient, 0.5)
        && isScaled(erfNode.inputs().get(0), x, Math.sqrt(0.5))) {
      return UnaryFunction.GELU;
    }
    return null;
  }

  /** v if {@code sum} is v + number, else null. */
  private static @Nullable Value plus(Value sum, double number) {
    Node node = sum.producer();
    if (node == null || binary(node) != BinaryFunction.ADD) {
      return null;
    }
    for (int i = 0; i < 2; i++) {
      if (Constants.isScalar(node.inputs().get(i), number)) {
        return node.inputs().get(1 - i);
      }
    }
    return null;
  }

  /** Whether {@code value} is x * factor. */
  private static boolean isScaled(Value value, Value x, double factor) {
    Node node = value.producer();
    if (node == null) {
      return false;
    }
    BinaryFunction function = binary(node);
    Value a = node.inputs().get(0);
    Value b = node.inputs().size() > 1 ? node.inputs().get(1) : a;
    return (function == BinaryFunction.DIV && a == x && Constants.isScalar(b, 1 / factor))
        || (function == BinaryFunction.MUL
            && ((a == x && Constants.isScalar(b, factor))
                || (b == x && Constants.isScalar(a, factor))));
  }

  private static @Nullable BinaryFunction binary(Node node) {
    Operator operator = node.operator();
    return operator instanceof Binary ? ((Binary) operator).function() : null;
  }

  // -- layer normalisation: (x - mean) / sqrt(mean((x - mean)^2) + epsilon) * scale + bias --

  private boolean layerNorm(Node node, Rewriter rewriter) {
    if (binary(node) != BinaryFunction.ADD || node.output().type().dataType() != DataType.F32) {
      return false;
    }
    for (int i = 0; i < 2; i++) {
      Value bias = node.inputs().get(i);
      Node scaling = readOnlyHere(node.inputs().get(1 - i), node);
      if (!isRow(bias, node) || scaling == null || binary(scaling) != BinaryFunction.MUL) {
        continue;
      }
      for (int k = 0; k < 2; k++) {
        Value scale = scaling.inputs().get(k);
        Node quotient = readOnlyHere(scaling.inputs().get(1 - k), scaling);
        if (isRow(scale, node) && quotient != null) {
          @Nullable Standardised standardised = standardised(quotient);
          if (standardised != null && standardised.x().type().equals(node.output().type())) {
            rewriter.emit(
                node,
                new LayerNormalization(
                    node.output().type().shape().rank() - 1, standardised.epsilon()),
                rewriter.map(List.of(standardised.x(), scale, bias)));
            return true;
          }
        }
      }
    }
    return false;
  }

  /** A constant that broadcasts along the last axis only. */
  private static boolean isRow(Value value, Node node) {
    Shape shape = value.type().shape();
    return Constants.isConstant(value)
        && (value.type().elements() == 1 || value.type().elements() == shape.extent(-1))
        && shape.rank() <= 1
        && node.output().type().shape().rank() >= 1;
  }

  private @Nullable Node readOnlyHere(Value value, Node reader) {
    return uses.onlyReader(value) == reader ? value.producer() : null;
  }

  /**
   * What a quotient standardises.
   *
   * @param x the operand
   * @param epsilon what is added to the variance
   */
  private record Standardised(Value x, float epsilon) {}

  private static @Nullable Standardised standardised(Node quotient) {
    if (binary(quotient) != BinaryFunction.DIV) {
      return null;
    }
    Value x = centred(quotient.inputs().get(0));
    Node root = quotient.inputs().get(1).producer();
    if (x == null || root == null || !root.operator().equals(Unary.of(UnaryFunction.SQRT))) {
      return null;
    }
    Node sum = root.inputs().get(0).producer();
    if (sum == null || binary(sum) != BinaryFunction.ADD) {
      return null;
    }
    for (int i = 0; i < 2; i++) {
      double epsilon = Constants.scalar(sum.inputs().get(i));
      Value squared = lastAxisMean(sum.inputs().get(1 - i));
      if (!Double.isNaN(epsilon) && squared != null && isSquareOfCentred(squared, x)) {
        return new Standardised(x, (float) epsilon);
      }
    }
    return null;
  }

  private static boolean isSquareOfCentred(Value value, Value x) {
    Node node = value.producer();
    if (node == null) {
      return false;
    }
    boolean power =
        binary(node) == BinaryFunction.POW && Constants.isScalar(node.inputs().get(1), 2);
    boolean product =
        binary(node) == BinaryFunction.MUL && node.inputs().get(0) == node.inputs().get(1);
    return (power || product) && centred(node.inputs().get(0)) == x;
  }

  /** x if {@code value} is x - mean(x) over the last axis, else null. */
  private static @Nullable Value centred(Value value) {
    Node node = value.producer();
    if (node == null || binary(node) != BinaryFunction.SUB) {
      return null;
    }
    Value x = node.inputs().get(0);
    return lastAxisMean(node.inputs().get(1)) == x && x.kind() != Value.Kind.VARIABLE ? x : null;
  }

  /** v if {@code value} is the mean of v over its last axis, which is kept; else null. */
  private static @Nullable Value lastAxisMean(Value value) {
    Node node = value.producer();
    if (node == null || !(node.operator() instanceof Reduce)) {
      return null;
    }
    Value operand = node.inputs().get(0);
    Reduce wanted =
        new Reduce(
            Reduce.Function.MEAN, ImmutableIntArray.of(operand.type().shape().rank() - 1), true);
    return node.operator().equals(wanted) ? operand : null;
  }
}
