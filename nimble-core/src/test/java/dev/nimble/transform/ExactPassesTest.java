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
import static org.assertj.core.api.Assertions.assertThat;

import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Graph;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.Assign;
import dev.nimble.op.Cast;
import dev.nimble.op.Concat;
import dev.nimble.op.Expand;
import dev.nimble.op.FusedElementwise;
import dev.nimble.op.Gather;
import dev.nimble.op.Identity;
import dev.nimble.op.MatMul;
import dev.nimble.op.Pad;
import dev.nimble.op.Reshape;
import dev.nimble.op.ShapeOf;
import dev.nimble.op.Split;
import dev.nimble.op.StridedSlice;
import dev.nimble.op.Tile;
import dev.nimble.op.Transpose;
import dev.nimble.op.Unary;
import dev.nimble.op.UnaryFunction;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The passes that keep every bit, case by case. */
class ExactPassesTest {
  private static final Unary EXP = Unary.of(UnaryFunction.EXP);
  private static final Unary NEG = Unary.of(UnaryFunction.NEG);

  private final GraphBuilder g = graphOf();

  private Rewritten rewritten(Pass pass, Value... outputs) {
    for (int i = 0; i < outputs.length; i++) {
      g.output("y" + i, outputs[i]);
    }
    return Rewritten.by(pass, g);
  }

  private static ImmutableIntArray ints(int... numbers) {
    return ImmutableIntArray.copyOf(numbers);
  }

  // -- constant folding --

  @Test
  void foldsWhatConstantsDecide() {
    Value folded = apply(g, ADD, g.apply(EXP, weights(g, 4)), number(g, 1));
    rewritten(Pass.CONSTANT_FOLDING, apply(g, MUL, input(g, 4), folded)).hasOperatorsExactly("Mul");
  }

  @Test
  void foldsShapesOfValuesThatAreNotConstant() {
    Value x = input(g, 3, 5);
    Value shape = g.apply(new ShapeOf(), g.apply(EXP, x));
    Value second = g.constant("second", Tensor.ofLongs(Shape.scalar(), 1));
    Value extent = g.apply(new Gather(0), shape, second);
    rewritten(Pass.CONSTANT_FOLDING, extent).hasOperatorsExactly();
  }

  @Test
  void leavesANodeThatWouldFail() {
    Value wrong = g.constant("wrong", Tensor.ofLongs(Shape.of(1), 7));
    g.output("y", g.apply(new Gather(0), weights(g, 4), wrong));
    Rewritten.by(Pass.CONSTANT_FOLDING, g).isUnchanged();
  }

  @Test
  void leavesResultsThatBlowUpMemory() {
    Value large = g.apply(new Expand(Shape.of(1024, 1024)), number(g, 1));
    Value tiled = g.apply(new Tile(ints(1000)), weights(g, 1000));
    rewritten(Pass.CONSTANT_FOLDING, large, tiled).isUnchanged();
  }

  @Test
  void leavesProductsThatTakeLong() {
    Value a = g.constant("a", Tensor.zeros(TensorType.f32(512, 512)));
    g.output("y", g.apply(new MatMul(), a, a));
    Rewritten.by(Pass.CONSTANT_FOLDING, g).isUnchanged();
  }

  @Test
  void doesNotFoldVariables() {
    Value state = g.variable("state", Tensor.zeros(TensorType.f32(4)));
    rewritten(Pass.CONSTANT_FOLDING, g.apply(EXP, state)).isUnchanged();
  }

  // -- simplification --

  static Stream<Operator> unchanging() {
    return Stream.of(
        new Identity(),
        new Reshape(Shape.of(2, 3, 4)),
        new Expand(Shape.of(2, 3, 4)),
        new Cast(DataType.F32),
        new Tile(ints(1, 1, 1)),
        new Split(1, ints(3)),
        new Concat(1),
        new Pad(Pad.Mode.CONSTANT, ints(0, 0, 0), ints(0, 0, 0)),
        new StridedSlice(ints(0, 0, 0), ints(2, 3, 4), ints(1, 1, 1)),
        new Transpose(ints(0, 1, 2)));
  }

  @ParameterizedTest
  @MethodSource("unchanging")
  void removesNodesThatChangeNothing(Operator operator) {
    Value x = g.apply(EXP, input(g, 2, 3, 4));
    rewritten(Pass.SIMPLIFICATION, g.apply(NEG, g.apply(operator, x)))
        .hasOperatorsExactly("Exp", "Neg");
  }

  static Stream<Operator> changing() {
    return Stream.of(
        new Reshape(Shape.of(3, 2, 4)),
        new Expand(Shape.of(5, 2, 3, 4)),
        new Cast(DataType.F64),
        new Tile(ints(1, 2, 1)),
        new Pad(Pad.Mode.CONSTANT, ints(1, 0, 0), ints(-1, 0, 0)),
        new StridedSlice(ints(1, 0, 0), ints(2, 3, 4), ints(-1, 1, 1)),
        new Transpose(ints(0, 2, 1)));
  }

  @ParameterizedTest
  @MethodSource("changing")
  void keepsNodesThatChangeSomething(Operator operator) {
    Value x = g.apply(EXP, input(g, 2, 3, 4));
    rewritten(Pass.SIMPLIFICATION, g.apply(operator, x)).isUnchanged();
  }

  @Test
  void keepsACopyOfAVariable() {
    Value state = g.variable("state", Tensor.zeros(TensorType.f32(4)));
    Value old = g.apply(new Identity(), state);
    g.add("update", new Assign(true), List.of(state, input(g, 4)));
    rewritten(Pass.SIMPLIFICATION, old).isUnchanged();
  }

  @Test
  void removesNeutralArithmetic() {
    Value x = input(g, 2, 3);
    Value y = apply(g, MUL, number(g, 1), apply(g, MUL, x, number(g, 1)));
    y = apply(g, SUB, apply(g, DIV, y, number(g, 1)), number(g, 0));
    y = apply(g, ADD, apply(g, POW, y, number(g, 1)), number(g, -0.0));
    rewritten(Pass.SIMPLIFICATION, y).hasOperatorsExactly();
  }

  @Test
  void keepsArithmeticThatChangesSignedZerosOrShapes() {
    Value x = input(g, 2, 3);
    Value a = apply(g, ADD, x, number(g, 0)); // -0 + 0 = 0
    Value b = apply(g, SUB, x, number(g, -0.0));
    Value c = apply(g, SUB, number(g, 0), x);
    Value d = apply(g, DIV, number(g, 1), x);
    Value e = apply(g, POW, number(g, 1), x);
    Value f = apply(g, MUL, x, g.constant("ones", Tensor.of(Shape.of(1, 1, 1), 1)));
    rewritten(Pass.SIMPLIFICATION, a, b, c, d, e, f).isUnchanged();
  }

  @Test
  void removesIntegerZeros() {
    Value x = g.input("x", TensorType.of(DataType.I64, 3));
    Value zero = g.constant("zero", Tensor.ofLongs(Shape.scalar(), 0));
    rewritten(Pass.SIMPLIFICATION, apply(g, ADD, zero, x)).hasOperatorsExactly();
  }

  @Test
  void joinsReshapesAndTransposes() {
    Value x = input(g, 2, 3, 4);
    Value y = x;
    for (Shape shape : List.of(Shape.of(24), Shape.of(4, 6), Shape.of(3, 8), Shape.of(6, 4))) {
      y = g.apply(new Reshape(shape), y);
    }
    Value z = x;
    for (int i = 0; i < 4; i++) { // turns once, since three turns are none
      z = g.apply(new Transpose(ints(1, 2, 0)), z);
    }
    rewritten(Pass.SIMPLIFICATION, y, z).hasOperatorsExactly("Reshape", "Transpose");
  }

  @Test
  void removesReshapesAndTransposesThatUndoEachOther() {
    Value x = input(g, 2, 3, 4);
    Value y = g.apply(new Reshape(x.type().shape()), g.apply(new Reshape(Shape.of(24)), x));
    Value z = g.apply(new Transpose(ints(2, 0, 1)), g.apply(new Transpose(ints(1, 2, 0)), y));
    rewritten(Pass.SIMPLIFICATION, z).hasOperatorsExactly();
  }

  @Test
  void reshapesInsteadOfMovingAxesOfExtentOne() {
    Value x = input(g, 1, 3, 1, 4);
    Value y = g.apply(new Transpose(ints(1, 2, 3, 0)), x);
    rewritten(Pass.SIMPLIFICATION, y, g.apply(new Transpose(ints(0, 3, 2, 1)), x))
        .hasOperatorsExactly("Reshape", "Transpose");
  }

  @Test
  void joinsNothingAcrossAnUpdate() {
    Value state = g.variable("state", Tensor.zeros(TensorType.f32(2, 3)));
    Value flat = g.apply(new Reshape(Shape.of(6)), state);
    g.add("update", new Assign(true), List.of(state, input(g, 2, 3)));
    rewritten(Pass.SIMPLIFICATION, g.apply(new Reshape(Shape.of(3, 2)), flat)).isUnchanged();
  }

  // -- common subexpressions --

  @Test
  void computesEqualNodesOnceAndHoldsEqualConstantsOnce() {
    Value x = input(g, 4);
    Value a = g.apply(NEG, apply(g, MUL, x, weights(g, 4)));
    Value b = g.apply(NEG, apply(g, MUL, x, weights(g, 4)));
    Rewritten after = rewritten(Pass.COMMON_SUBEXPRESSIONS, apply(g, ADD, a, b));
    after.hasOperatorsExactly("Mul", "Neg", "Add");
    assertThat(after.graph().values().stream().filter(Constants::isConstant)).hasSize(1);
  }

  @Test
  void keepsNodesThatDifferInAttributesOrderOrType() {
    Value x = input(g, 4);
    Value y = g.input("y", x.type());
    rewritten(
            Pass.COMMON_SUBEXPRESSIONS,
            g.apply(new Unary(UnaryFunction.LEAKY_RELU, 0.1f, 0), x),
            g.apply(new Unary(UnaryFunction.LEAKY_RELU, 0.2f, 0), x),
            apply(g, SUB, x, y),
            apply(g, SUB, y, x))
        .isUnchanged();
  }

  @Test
  void tellsConstantsOfOtherBitsApart() {
    Value x = input(g, 1);
    Value ints = g.constant("i", Tensor.zeros(TensorType.of(DataType.I32, 1)));
    rewritten(
            Pass.COMMON_SUBEXPRESSIONS,
            apply(g, ADD, x, number(g, 0.0)),
            apply(g, ADD, x, number(g, -0.0)),
            apply(g, ADD, x, g.constant("one axis", Tensor.of(Shape.of(1), 0))),
            g.apply(new Cast(DataType.F32), ints))
        .isUnchanged();
  }

  @Test
  void tellsLargeConstantsApartThatDifferInOneElement() {
    Tensor tensor = Tensor.zeros(TensorType.f32(100_003));
    Tensor other = tensor.copy();
    other.floats().put(77_777, 1);
    Value x = g.input("x", tensor.type());
    rewritten(
            Pass.COMMON_SUBEXPRESSIONS,
            apply(g, ADD, x, g.constant("a", tensor)),
            apply(g, ADD, x, g.constant("b", other)))
        .isUnchanged();
  }

  @Test
  void readsAVariableOnceBetweenUpdates() {
    Value state = g.variable("state", Tensor.zeros(TensorType.f32(4)));
    Value x = input(g, 4);
    Value a = g.apply(EXP, state);
    Value b = g.apply(EXP, state);
    g.add("update", new Assign(true), List.of(state, x));
    Value c = g.apply(EXP, state);
    Value d = g.apply(EXP, state);
    rewritten(Pass.COMMON_SUBEXPRESSIONS, apply(g, ADD, a, b), apply(g, ADD, c, d))
        .hasOperatorsExactly("Exp", "AssignAdd", "Exp", "Add", "Add");
  }

  @Test
  void keepsEqualUpdates() {
    Value state = g.variable("state", Tensor.zeros(TensorType.f32(4)));
    Value x = input(g, 4);
    g.add("update", new Assign(true), List.of(state, x));
    g.add("update", new Assign(true), List.of(state, x));
    rewritten(Pass.COMMON_SUBEXPRESSIONS, state).isUnchanged();
  }

  // -- elementwise fusion --

  private Value chain(Value x, int length) {
    Value y = x;
    for (int i = 0; i < length; i++) {
      y = g.apply(i % 2 == 0 ? Unary.of(UnaryFunction.TANH) : NEG, y);
    }
    return y;
  }

  @Test
  void fusesADiamondAndItsBroadcastOperands() {
    Value x = input(g, 2, 3);
    Value left = apply(g, MUL, x, weights(g, 3));
    Value right = g.apply(NEG, apply(g, ADD, x, number(g, 2)));
    rewritten(Pass.ELEMENTWISE_FUSION, g.apply(EXP, apply(g, SUB, left, right)))
        .hasOperatorsExactly("FusedElementwise");
  }

  @Test
  void boundsTheStepsAndInputsOfAGroup() {
    Value x = input(g, 3);
    Value sum = x;
    for (int i = 0; i < 20; i++) {
      sum = apply(g, ADD, sum, g.input("x" + i, x.type()));
    }
    Graph graph = rewritten(Pass.ELEMENTWISE_FUSION, chain(x, 60), sum).graph();
    assertThat(graph.nodes()).hasSizeLessThanOrEqualTo(3 + 3);
    assertThat(graph.nodes())
        .allMatch(node -> node.inputs().size() <= 8)
        .allMatch(node -> ((FusedElementwise) node.operator()).steps().size() <= 24);
  }

  @Test
  void keepsValuesThatAreReadElsewhere() {
    Value x = input(g, 3, 3);
    Value shared = g.apply(EXP, x);
    Value product = g.apply(new MatMul(), shared, shared);
    rewritten(Pass.ELEMENTWISE_FUSION, apply(g, ADD, shared, product), g.apply(NEG, shared))
        .isUnchanged();
  }

  @Test
  void keepsOutputs() {
    Value shared = g.apply(EXP, input(g, 3));
    rewritten(Pass.ELEMENTWISE_FUSION, shared, g.apply(NEG, shared)).isUnchanged();
  }

  @Test
  void keepsResultsThatAreBroadcastApart() {
    Value row = g.apply(EXP, input(g, 3));
    Value matrix = g.input("matrix", TensorType.f32(2, 3));
    rewritten(Pass.ELEMENTWISE_FUSION, apply(g, ADD, matrix, row)).isUnchanged();
  }

  @Test
  void joinsNoBranchesThatDoNotMeet() {
    Value x = input(g, 3);
    rewritten(Pass.ELEMENTWISE_FUSION, chain(g.apply(EXP, x), 2), chain(g.apply(NEG, x), 2))
        .hasOperatorsExactly("FusedElementwise", "FusedElementwise");
  }

  @Test
  void readsAVariableBeforeItsUpdateOnly() {
    Value state = g.variable("state", Tensor.zeros(TensorType.f32(3)));
    Value x = input(g, 3);
    Value old = g.apply(EXP, state);
    Value fused = g.apply(NEG, g.apply(EXP, state));
    g.add("update", new Assign(false), List.of(state, x));
    rewritten(Pass.ELEMENTWISE_FUSION, g.apply(NEG, old), fused)
        .hasOperatorsExactly("Exp", "FusedElementwise", "Assign", "Neg");
  }

  // -- dead code, output copies --

  @Test
  void dropsWhatNothingDependsOnAndKeepsUpdatesAndInputs() {
    Value state = g.variable("state", Tensor.zeros(TensorType.f32(4)));
    Value x = input(g, 4);
    g.input("unused", TensorType.f32(1));
    g.apply(NEG, g.apply(EXP, x));
    Value next = g.apply(EXP, x);
    g.add("update", new Assign(true), List.of(state, next));
    Rewritten after = rewritten(Pass.DEAD_CODE, number(g, 3));
    after.hasOperatorsExactly("Exp", "AssignAdd");
    assertThat(after.graph().inputs()).hasSize(2);
  }

  @Test
  void givesEachOutputAResultOfItsOwn() {
    Value state = g.variable("state", Tensor.zeros(TensorType.f32(4)));
    Value x = input(g, 4);
    Value y = g.apply(EXP, x);
    g.output("a", x).output("b", number(g, 2)).output("c", y).output("d", y).output("e", state);
    g.add("update", new Assign(true), List.of(state, x));
    Graph graph = OutputCopies.apply(g.build());
    assertThat(graph.outputNames()).containsExactly("a", "b", "c", "d", "e");
    assertThat(graph.outputs()).doesNotHaveDuplicates();
    assertThat(graph.outputs()).allMatch(output -> output.kind() == Value.Kind.RESULT);
    assertThat(graph.nodes().stream().map(node -> node.operator().name()))
        .containsExactly("Exp", "AssignAdd", "Identity", "Identity", "Identity", "Identity");
  }

  // -- choice and report --

  @Test
  void passesThatAreTurnedOffDoNotRun() {
    Value y = g.apply(new Identity(), g.apply(NEG, g.apply(EXP, input(g, 4))));
    Graph graph = g.output("y", y).build();
    assertThat(Transforms.none().apply(graph)).isSameAs(graph);
    Transforms some = Transforms.all().without(Pass.SIMPLIFICATION, Pass.ELEMENTWISE_FUSION);
    assertThat(some.apply(graph)).isSameAs(graph);
    assertThat(Transforms.all().apply(graph).nodes()).hasSize(1);
  }

  @Test
  void explainsWhatEachPassDid() {
    Value y = g.apply(new Identity(), g.apply(NEG, g.apply(EXP, input(g, 4))));
    Graph graph = g.output("y", y).build();
    assertThat(Transforms.all().trace(graph).explain())
        .isEqualTo(
            "round 1: simplification, 3 nodes before, 2 after\n"
                + "round 2: elementwise-fusion, 2 nodes before, 1 after\n"
                + "3 nodes became 1\n");
  }
}
