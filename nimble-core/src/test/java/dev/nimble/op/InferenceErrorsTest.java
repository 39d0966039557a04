package dev.nimble.op;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.ImmutableDoubleArray;
import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Operands that do not fit are refused, in words that say why. */
class InferenceErrorsTest {
  private static final TensorType F = TensorType.f32(2, 3);
  private static final TensorType D = TensorType.of(DataType.F64, 2, 3);
  private static final TensorType L = TensorType.of(DataType.I64, 2, 3);
  private static final TensorType B = TensorType.of(DataType.BOOL, 2, 3);
  private static final TensorType IMAGE = TensorType.f32(1, 4, 5, 5);
  private static final TensorType SCALAR = TensorType.f32();

  private final List<DynamicTest> tests = new ArrayList<>();

  private void refuses(Operator operator, String reason, TensorType... operands) {
    tests.add(
        DynamicTest.dynamicTest(
            operator.name() + ": " + reason,
            () ->
                assertThatThrownBy(() -> operator.infer(List.of(operands)))
                    .isInstanceOf(InvalidModelException.class)
                    .hasMessageContaining(reason)));
  }

  private static ImmutableIntArray ints(int... values) {
    return ImmutableIntArray.copyOf(values);
  }

  private static Binary binary(BinaryFunction function) {
    return new Binary(function);
  }

  @TestFactory
  Stream<DynamicTest> refusals() {
    refuses(Unary.of(UnaryFunction.EXP), "not defined for elements of type i64", L);
    refuses(Unary.of(UnaryFunction.ABS), "not defined for elements of type bool", B);
    refuses(Unary.of(UnaryFunction.ABS), "takes 1 operands, not 2", F, F);
    refuses(binary(BinaryFunction.ADD), "differ in element type: f32[2,3] and f64[2,3]", F, D);
    refuses(binary(BinaryFunction.ADD), "needs a numeric operand, not bool[2,3]", B, B);
    refuses(binary(BinaryFunction.ADD), "takes 2 operands, not 1", F);
    refuses(
        binary(BinaryFunction.MUL),
        "shapes [2,3] and [3,2] do not broadcast",
        F,
        TensorType.f32(3, 2));
    refuses(binary(BinaryFunction.POW), "needs a numeric operand", F, B);
    refuses(new Compare(Compare.Relation.LESS), "one element type, not f32[2,3] and i64", F, L);
    refuses(new Logical(Logical.Connective.AND), "needs a bool operand, not f32[2,3]", B, F);
    refuses(new Not(), "needs a bool operand", L);
    refuses(new Where(), "needs a bool operand", F, F, F);
    refuses(new Where(), "one element type", B, F, L);
    refuses(new Where(), "takes 3 operands, not 2", B, F);
    refuses(new Cast(DataType.F16), "takes 1 operands, not 0");
    refuses(new Reduce(Reduce.Function.SUM, ints(2), true), "not distinct axes of f32[2,3]", F);
    refuses(new Reduce(Reduce.Function.SUM, ints(1, 1), true), "not distinct axes", F);
    refuses(new Reduce(Reduce.Function.SUM, ints(-1), true), "not distinct axes", F);
    refuses(new Reduce(Reduce.Function.L2, ints(0), true), "floating-point operand", L);
    refuses(new Reduce(Reduce.Function.MAX, ints(0), true), "numeric operand", B);
    refuses(new ArgReduce(true, 2, true, false), "axis 2 is outside rank 2", F);
    refuses(new ArgReduce(true, 0, true, false), "has no element", TensorType.f32(0, 2));
    refuses(new ArgReduce(false, 0, true, false), "rank 1 or more", SCALAR);
    refuses(new Softmax(2, false), "axis 2 is outside rank 2", F);
    refuses(new Softmax(-3, true), "axis -3 is outside rank 2", F);
    refuses(new Softmax(0, true), "rank 1 or more", SCALAR);
    refuses(new Softmax(0, false), "floating-point operand, not i64[2,3]", L);
    refuses(new LayerNormalization(-1, 0), "must broadcast to [3]", F, TensorType.f32(2));
    refuses(new LayerNormalization(5, 0), "axis 5", F, TensorType.f32(3));
    refuses(new LayerNormalization(0, 0), "takes 2 to 3 operands", F);
    refuses(
        new BatchNormalization(0),
        "must be [4], not f32[5]",
        IMAGE,
        TensorType.f32(5),
        TensorType.f32(4),
        TensorType.f32(4),
        TensorType.f32(4));
    refuses(new Assign(false), "differ in type: f32[2,3] and f32[]", F, SCALAR);
    refuses(new Assign(true), "numeric", B, B);
    refuses(new MatMul(), "A [2,3] has 3 columns but B [2,3] has 2 rows", F, F);
    refuses(new MatMul(), "rank 1 or more", SCALAR, F);
    refuses(new MatMul(), "do not broadcast", TensorType.f32(2, 1, 1), TensorType.f32(3, 1, 1));
    refuses(
        new MatMul(), "bias f32[4] does not broadcast", F, TensorType.f32(3, 2), TensorType.f32(4));
    refuses(new Gemm(1, 1, false, false, null), "inner extents", F, F);
    refuses(new Gemm(1, 1, false, false, null), "matrices", F, TensorType.f32(3));
    refuses(new Gemm(1, 1, true, false, null), "does not broadcast", F, F, TensorType.f32(9));
    refuses(
        new Conv(Window.unit(2), 1),
        "channels do not fit: X [1,4,5,5], W [2,3,1,1], group 1",
        IMAGE,
        TensorType.f32(2, 3, 1, 1));
    refuses(new Conv(Window.unit(1), 1), "1 to 3 spatial axes", IMAGE, IMAGE);
    refuses(new Conv(Window.unit(2), 1), "does not fit into 5", IMAGE, TensorType.f32(2, 4, 6, 1));
    refuses(
        new Conv(Window.unit(2), 1),
        "bias must be [2]",
        IMAGE,
        TensorType.f32(2, 4, 1, 1),
        TensorType.f32(3));
    refuses(
        new ConvTranspose(Window.unit(2), ints(0, 0), 1, null),
        "channels do not fit",
        IMAGE,
        TensorType.f32(3, 1, 1, 1));
    refuses(
        new Pool(Pool.Function.MAX, ints(3, 3), Window.square(1, 3), false, false),
        "must be smaller than the kernel",
        IMAGE);
    refuses(
        new Pool(Pool.Function.AVERAGE, ints(6, 6), Window.square(1, 0), false, false),
        "does not fit",
        IMAGE);
    refuses(new GlobalPool(Pool.Function.MAX), "rank 3 or more", F);
    refuses(new Reshape(Shape.of(7)), "cannot reshape f32[2,3] (6 elements) to [7]", F);
    refuses(new Transpose(ints(0, 0)), "not a permutation of the axes of f32[2,3]", F);
    refuses(new Transpose(ints(0)), "not a permutation", F);
    refuses(new Concat(0), "cannot join f32[2,3] and f32[] along axis 0", F, SCALAR);
    refuses(new Concat(1), "cannot join", F, TensorType.f32(3, 3));
    refuses(new Concat(0), "one element type", F, D);
    refuses(new Concat(0), "takes 1 to");
    refuses(new Split(1, ints(1, 1)), "do not add up to axis 1 of f32[2,3]", F);
    refuses(new Split(0, ints()), "do not add up", F);
    refuses(new StridedSlice(ints(0, 1), ints(2, 3), ints(1, 1)), "leaves f32[2,3]", F);
    refuses(new StridedSlice(ints(0, 0), ints(1, 1), ints(1, 0)), "leaves", F);
    refuses(new StridedSlice(ints(0), ints(1), ints(1)), "for each axis", F);
    refuses(new Gather(0), "indices must be i64 or i32, not f32[2,3]", F, F);
    refuses(new Gather(2), "axis 2", F, L);
    refuses(new Expand(Shape.of(4, 3)), "f32[2,3] does not broadcast to [4,3]", F);
    refuses(new Expand(Shape.of(3)), "f32[2,3] does not broadcast to [3]", F);
    refuses(new Pad(Pad.Mode.CONSTANT, ints(0), ints(0)), "do not fit f32[2,3]", F);
    refuses(new Pad(Pad.Mode.CONSTANT, ints(0, 0), ints(0, 0)), "one element", F, F);
    refuses(new Pad(Pad.Mode.CONSTANT, ints(-3, 0), ints(0, 0)), "extent outside 0", F);
    refuses(new Pad(Pad.Mode.EDGE, ints(1), ints(0)), "empty axis", TensorType.f32(0));
    refuses(new Tile(ints(1)), "do not fit", F);
    refuses(new Tile(ints(1, -1)), "must not be negative", F);
    refuses(
        new Resize(
            Resize.Mode.LINEAR,
            Resize.Transform.ASYMMETRIC,
            Resize.Rounding.FLOOR,
            0,
            false,
            Shape.of(4, 6),
            ImmutableDoubleArray.of(2)),
        "do not fit f32[2,3]",
        F);
    return tests.stream();
  }

  @Test
  void attributesAreChecked() {
    assertThatThrownBy(() -> new Window(ints(0), ints(1), ints(0), ints(0)))
        .hasMessageContaining("strides must be positive");
    assertThatThrownBy(() -> new Window(ints(1), ints(0), ints(0), ints(0)))
        .hasMessageContaining("dilations must be positive");
    assertThatThrownBy(() -> new Window(ints(1), ints(1), ints(-1), ints(0)))
        .hasMessageContaining("pads must not be negative");
    assertThatThrownBy(() -> new Window(ints(1), ints(1, 1), ints(0), ints(0)))
        .hasMessageContaining("differ in length");
    assertThatThrownBy(() -> new FusedElementwise(ImmutableList.of(), 1))
        .hasMessageContaining("needs a step");
    FusedElementwise.Step step = new FusedElementwise.Step(new Not(), ints(1));
    assertThatThrownBy(() -> new FusedElementwise(ImmutableList.of(step), 1))
        .hasMessageContaining("step 0 refers to operand 1");
  }

  @Test
  void theGraphAddsThePlace() {
    GraphBuilder builder = new GraphBuilder("g");
    Value x = builder.input("x", F);
    assertThatThrownBy(() -> builder.apply("layer1.sum", binary(BinaryFunction.ADD), x, x, x))
        .hasMessage(
            "node 'layer1.sum' (Add of f32[2,3], f32[2,3], f32[2,3]): takes 2 operands, not 3");
  }

  @Test
  void gatherNamesAnIndexOutOfRange() {
    Tensor data = Tensor.of(Shape.of(2), 1, 2);
    Tensor out = Tensor.of(Shape.of(1), 0);
    for (long index : new long[] {2, -3, Long.MIN_VALUE, Long.MAX_VALUE}) {
      Tensor indices = Tensor.ofLongs(Shape.of(1), index);
      Runnable kernel = new Gather(0).bind(List.of(data, indices), List.of(out));
      assertThatThrownBy(kernel::run)
          .isInstanceOf(InvalidArgumentException.class)
          .hasMessageContaining("index " + index + " is outside axis 0 of f32[2]");
    }
    assertThat(out.toFloatArray()).containsExactly(0);
  }
}
