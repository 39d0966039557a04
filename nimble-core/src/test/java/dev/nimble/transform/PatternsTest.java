package dev.nimble.transform;

import static dev.nimble.op.BinaryFunction.ADD;
import static dev.nimble.op.BinaryFunction.DIV;
import static dev.nimble.op.BinaryFunction.MUL;
import static dev.nimble.op.BinaryFunction.POW;
import static dev.nimble.op.BinaryFunction.SUB;
import static dev.nimble.transform.Rewritten.apply;
import static dev.nimble.transform.Rewritten.graphOf;
import static dev.nimble.transform.Rewritten.input;
import static dev.nimble.transform.Rewritten.number;
import static dev.nimble.transform.Rewritten.weights;

import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.Assign;
import dev.nimble.op.Reduce;
import dev.nimble.op.Unary;
import dev.nimble.op.UnaryFunction;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PatternsTest {
  private final GraphBuilder g = graphOf();
  private final Value x = input(g, 2, 3, 8);

  private Rewritten rewritten(Value... outputs) {
    for (int i = 0; i < outputs.length; i++) {
      g.output("y" + i, outputs[i]);
    }
    return Rewritten.by(Pass.PATTERNS, g);
  }

  // -- GELU --

  /** 1 + erf(operand / root). */
  private Value erfPart(Value operand, double root) {
    Value erf = g.apply(Unary.of(UnaryFunction.ERF), apply(g, DIV, operand, number(g, root)));
    return apply(g, ADD, erf, number(g, 1));
  }

  @Test
  void recognisesGeluHoweverItIsMultiplied() {
    Value part = erfPart(x, Math.sqrt(2));
    rewritten(apply(g, MUL, apply(g, MUL, x, part), number(g, 0.5))).hasOperators("Gelu");
  }

  @Test
  void recognisesGeluThatHalvesFirst() {
    Value part = erfPart(x, Math.sqrt(2));
    rewritten(apply(g, MUL, apply(g, DIV, x, number(g, 2)), part)).hasOperators("Gelu");
  }

  @Test
  void recognisesGeluWithFactorsInAnotherOrder() {
    Value scaled = apply(g, MUL, number(g, Math.sqrt(0.5)), x);
    Value part = apply(g, ADD, number(g, 1), g.apply(Unary.of(UnaryFunction.ERF), scaled));
    rewritten(apply(g, MUL, apply(g, MUL, number(g, 0.5), part), x)).hasOperators("Gelu");
  }

  @ParameterizedTest
  @CsvSource({"1.5, 0.5", "1.4142135, 0.25", "1.4142, 0.5"})
  void leavesOtherNumbers(double root, double half) {
    Value part = erfPart(x, root);
    rewritten(apply(g, MUL, apply(g, MUL, x, part), number(g, half))).isUnchanged();
  }

  @Test
  void leavesTheErrorFunctionOfSomethingElse() {
    Value other = g.input("other", x.type());
    Value part = erfPart(other, Math.sqrt(2));
    rewritten(apply(g, MUL, apply(g, MUL, x, part), number(g, 0.5))).isUnchanged();
  }

  @Test
  void leavesGeluWhosePartsAreReadElsewhere() {
    Value part = erfPart(x, Math.sqrt(2));
    rewritten(apply(g, MUL, apply(g, MUL, x, part), number(g, 0.5)), part).isUnchanged();
  }

  @Test
  void leavesAQuotientByTheErrorFunction() {
    Value part = erfPart(x, Math.sqrt(2));
    rewritten(apply(g, DIV, apply(g, MUL, x, number(g, 0.5)), part)).isUnchanged();
  }

  @Test
  void leavesGeluOfAVariableThatIsUpdatedBetween() {
    Value state = g.variable("state", Tensor.zeros(TensorType.f32(2, 3, 8)));
    Value part = erfPart(state, Math.sqrt(2));
    g.add("update", new Assign(true), List.of(state, x));
    rewritten(apply(g, MUL, apply(g, MUL, state, part), number(g, 0.5))).isUnchanged();
  }

  // -- hard swish --

  private Value clipped(Value operand, double shift, float least, float most) {
    Value shifted = apply(g, ADD, operand, number(g, shift));
    return g.apply(new Unary(UnaryFunction.CLIP, least, most), shifted);
  }

  @Test
  void recognisesHardSwish() {
    rewritten(apply(g, DIV, apply(g, MUL, x, clipped(x, 3, 0, 6)), number(g, 6)))
        .hasOperators("HardSwish");
  }

  @Test
  void recognisesHardSwishThatDividesFirst() {
    Value sixth = apply(g, MUL, clipped(x, 3, 0, 6), number(g, 1 / 6.0));
    rewritten(apply(g, MUL, x, sixth)).hasOperators("HardSwish");
  }

  @ParameterizedTest
  @CsvSource({"2, 0, 6, 6", "3, 1, 6, 6", "3, 0, 5, 6", "3, 0, 6, 5"})
  void leavesOtherClips(double shift, float least, float most, double divisor) {
    Value product = apply(g, MUL, x, clipped(x, shift, least, most));
    rewritten(apply(g, DIV, product, number(g, divisor))).isUnchanged();
  }

  @Test
  void recognisesHardSwishOfHardSigmoid() {
    Value gate = g.apply(new Unary(UnaryFunction.HARD_SIGMOID, 1 / 6f, 0.5f), x);
    rewritten(apply(g, MUL, x, gate)).hasOperators("HardSwish");
  }

  @Test
  void leavesAHardSigmoidOfAnotherSlope() {
    Value gate = g.apply(new Unary(UnaryFunction.HARD_SIGMOID, 0.2f, 0.5f), x);
    rewritten(apply(g, MUL, x, gate)).isUnchanged();
  }

  // -- layer normalisation --

  private Value mean(Value value, boolean keepDims, int axis) {
    return g.apply(new Reduce(Reduce.Function.MEAN, ImmutableIntArray.of(axis), keepDims), value);
  }

  /** What divides by the deviation. */
  private Value standardised(Value operand, int axis, boolean squareByProduct) {
    Value centred = apply(g, SUB, operand, mean(operand, true, axis));
    Value square =
        squareByProduct ? apply(g, MUL, centred, centred) : apply(g, POW, centred, number(g, 2));
    Value variance = apply(g, ADD, mean(square, true, axis), number(g, 1e-5));
    return apply(g, DIV, centred, g.apply(Unary.of(UnaryFunction.SQRT), variance));
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void recognisesLayerNormalization(boolean squareByProduct) {
    Value y = apply(g, MUL, standardised(x, 2, squareByProduct), weights(g, 8));
    rewritten(apply(g, ADD, y, weights(g, 8))).hasOperators("LayerNormalization");
  }

  @Test
  void recognisesLayerNormalizationOfFactorsInAnotherOrder() {
    Value y = apply(g, MUL, weights(g, 8), standardised(x, 2, false));
    rewritten(apply(g, ADD, weights(g, 1), y)).hasOperators("LayerNormalization");
  }

  @Test
  void leavesNormalizationOverAnotherAxis() {
    Value y = apply(g, MUL, standardised(x, 1, false), weights(g, 8));
    rewritten(apply(g, ADD, y, weights(g, 8))).isUnchanged();
  }

  @Test
  void leavesAScaleOfAnotherShape() {
    Value y = apply(g, MUL, standardised(x, 2, false), weights(g, 3, 1));
    rewritten(apply(g, ADD, y, weights(g, 8))).isUnchanged();
  }

  @Test
  void leavesAScaleThatIsComputed() {
    Value scale = g.input("scale", TensorType.f32(8));
    Value y = apply(g, MUL, standardised(x, 2, false), scale);
    rewritten(apply(g, ADD, y, weights(g, 8))).isUnchanged();
  }

  @Test
  void leavesAQuotientThatIsReadElsewhere() {
    Value standardised = standardised(x, 2, false);
    Value y = apply(g, MUL, standardised, weights(g, 8));
    rewritten(apply(g, ADD, y, weights(g, 8)), standardised).isUnchanged();
  }

  @Test
  void leavesAnotherPower() {
    Value centred = apply(g, SUB, x, mean(x, true, 2));
    Value cube = apply(g, POW, centred, number(g, 4));
    Value variance = apply(g, ADD, mean(cube, true, 2), number(g, 1e-5));
    Value quotient = apply(g, DIV, centred, g.apply(Unary.of(UnaryFunction.SQRT), variance));
    Value y = apply(g, MUL, quotient, weights(g, 8));
    rewritten(apply(g, ADD, y, weights(g, 8))).isUnchanged();
  }
}
