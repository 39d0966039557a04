package dev.nimble.capture;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Operand;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.Pad;
import dev.nimble.op.Window;
import dev.nimble.testkit.ReferenceExecutor;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;

class OpsTest {
  private static final Tensor X = Tensor.of(Shape.of(2, 3), 1, -2, 3, -4, 5, -6);

  private static Value value(TensorType type, BiFunction<Ops, Operand, Operand> code) {
    return Capture.of(Layer.of(code)).input("x", type).graph().outputs().get(0);
  }

  private static Shape shape(Shape shape, BiFunction<Ops, Operand, Operand> code) {
    return value(new TensorType(DataType.F32, shape), code).type().shape();
  }

  private static Tensor result(Tensor x, BiFunction<Ops, Operand, Operand> code) {
    Graph graph = Capture.of(Layer.of(code)).input("x", x.type()).graph();
    return ReferenceExecutor.run(graph, List.of(x)).get(0);
  }

  private static void fails(BiFunction<Ops, Operand, Operand> code, String reason) {
    assertThatThrownBy(() -> result(X, code))
        .isInstanceOf(InvalidModelException.class)
        .hasMessageContaining(reason);
  }

  /** Every method of plain operands makes the operator of its own name. */
  @Test
  void methodsAreNamedAfterOperators() throws ReflectiveOperationException {
    Map<String, String> others = Map.of("fmod", "Mod", "shapeOf", "Shape");
    int checked = 0;
    for (Method method : Ops.class.getDeclaredMethods()) {
      List<Class<?>> types = List.of(method.getParameterTypes());
      boolean plain =
          Modifier.isPublic(method.getModifiers())
              && method.getReturnType() == Operand.class
              && !List.of("apply", "silu", "where", "batchNorm", "not").contains(method.getName())
              && !types.isEmpty()
              && types.stream()
                  .allMatch(t -> t == Operand.class || t == double.class || t == float.class);
      if (!plain) {
        continue;
      }
      boolean logical = List.of("and", "or", "xor").contains(method.getName());
      TensorType type =
          method.getName().startsWith("global")
              ? TensorType.f32(1, 2, 3, 3)
              : TensorType.of(logical ? DataType.BOOL : DataType.F32, 3, 3);
      Value made =
          value(
              type,
              (f, x) -> {
                List<Object> arguments = new ArrayList<>();
                types.forEach(
                    t ->
                        arguments.add(
                            t == Operand.class ? x : t == double.class ? (Object) 2.0 : 2.0f));
                try {
                  return (Operand) method.invoke(f, arguments.toArray());
                } catch (ReflectiveOperationException e) {
                  throw new AssertionError(method.toString(), e);
                }
              });
      String expected = others.getOrDefault(method.getName(), method.getName());
      assertThat(java.util.Objects.requireNonNull(made.producer()).operator().name())
          .as(method.toString())
          .isEqualToIgnoringCase(expected);
      checked++;
    }
    assertThat(checked).isGreaterThan(60);
  }

  @Test
  void attributesReachTheOperator() {
    assertThat(result(X, (f, x) -> f.clip(x, -2, 3)).toFloatArray())
        .containsExactly(1, -2, 3, -2, 3, -2);
    assertThat(result(X, (f, x) -> f.leakyRelu(x, 0.5f)).toFloatArray())
        .containsExactly(1, -1, 3, -2, 5, -3);
    assertThat(result(X, (f, x) -> f.hardSigmoid(x, 0.25f, 0.5f)).toFloatArray())
        .containsExactly(0.75f, 0, 1, 0, 1, 0);
    assertThat(result(X, (f, x) -> f.thresholdedRelu(x, 2)).toFloatArray())
        .containsExactly(0, 0, 3, 0, 5, 0);
    assertThat(result(X, (f, x) -> f.selu(f.relu(x), 9, 2)).toFloatArray())
        .containsExactly(2, 0, 6, 0, 10, 0);
  }

  @Test
  void numbersTakeTheOperandsType() {
    assertThat(result(X, (f, x) -> f.sub(10, f.mul(x, 2))).toFloatArray())
        .containsExactly(8, 14, 4, 18, 0, 22);
    assertThat(result(X, (f, x) -> f.div(60, x)).getDouble(3)).isEqualTo(-15);
    Tensor longs = Tensor.ofLongs(Shape.of(2), 7, -7);
    assertThat(result(longs, (f, x) -> f.div(x, 2)).toLongArray()).containsExactly(3, -3);
    assertThat(result(longs, (f, x) -> f.mod(x, f.scalar(4, DataType.I64))).toLongArray())
        .containsExactly(3, 1);
    assertThat(result(longs, (f, x) -> f.fmod(x, f.scalar(4, DataType.I64))).toLongArray())
        .containsExactly(3, -3);
    Graph graph =
        Capture.of(Layer.of((f, x) -> f.add(f.add(x, 1), 1))).input("x", X.type()).graph();
    assertThat(graph.values().stream().filter(v -> v.kind() == Value.Kind.CONSTANT)).hasSize(1);
    assertThat(value(X.type(), (f, x) -> f.cast(x, DataType.F32)).kind())
        .isEqualTo(Value.Kind.INPUT);
  }

  @Test
  void reductionsResolveAxes() {
    assertThat(result(X, (f, x) -> f.reduceSum(x, false)).toFloatArray()).containsExactly(-3);
    assertThat(result(X, (f, x) -> f.reduceMax(x, false, -1)).toFloatArray()).containsExactly(3, 5);
    assertThat(result(X, (f, x) -> f.argMax(x, -1, false)).toLongArray()).containsExactly(2, 1);
    assertThat(result(X, (f, x) -> f.argMin(x, 0, true)).toLongArray()).containsExactly(1, 0, 1);
    assertThat(shape(X.type().shape(), (f, x) -> f.reduceMean(x, true, -1, 0)))
        .isEqualTo(Shape.of(1, 1));
    fails((f, x) -> f.reduceMin(x, false, 2), "axis 2 is outside rank 2");
    fails((f, x) -> f.reduceMin(x, false, 1, -1), "not distinct");
  }

  @Test
  void shapesAreWorkedOut() {
    Shape shape = Shape.of(2, 1, 3, 4);
    assertThat(shape(shape, (f, x) -> f.reshape(x, 4, -1))).isEqualTo(Shape.of(4, 6));
    assertThat(shape(shape, (f, x) -> f.reshape(x, -1))).isEqualTo(Shape.of(24));
    assertThat(shape(shape, (f, x) -> f.flatten(x, 2))).isEqualTo(Shape.of(2, 12));
    assertThat(shape(shape, (f, x) -> f.flatten(x, 0))).isEqualTo(Shape.of(1, 24));
    assertThat(shape(shape, (f, x) -> f.flatten(x, 4))).isEqualTo(Shape.of(24, 1));
    assertThat(shape(shape, (f, x) -> f.squeeze(x))).isEqualTo(Shape.of(2, 3, 4));
    assertThat(shape(shape, (f, x) -> f.squeeze(x, -3))).isEqualTo(Shape.of(2, 3, 4));
    assertThat(shape(shape, (f, x) -> f.unsqueeze(x, 0, -1))).isEqualTo(Shape.of(1, 2, 1, 3, 4, 1));
    assertThat(shape(Shape.scalar(), (f, x) -> f.unsqueeze(x, 0))).isEqualTo(Shape.of(1));
    assertThat(shape(shape, (f, x) -> f.transpose(x))).isEqualTo(Shape.of(4, 3, 1, 2));
    assertThat(shape(shape, (f, x) -> f.transpose(x, 0, 1, -1, 2))).isEqualTo(Shape.of(2, 1, 4, 3));
    assertThat(shape(shape, (f, x) -> f.expand(x, 5, 1, 7, 1, 1)))
        .isEqualTo(Shape.of(5, 2, 7, 3, 4));
    assertThat(shape(shape, (f, x) -> f.chunk(x, -1, 2).get(1))).isEqualTo(Shape.of(2, 1, 3, 2));
    assertThat(shape(shape, (f, x) -> f.tile(x, 1, 2, 1, 3))).isEqualTo(Shape.of(2, 2, 3, 12));
    assertThat(shape(shape, (f, x) -> f.upsampleNearest(x, 2))).isEqualTo(Shape.of(2, 1, 6, 8));
    assertThat(shape(shape, (f, x) -> f.upsampleLinear(x, 3))).isEqualTo(Shape.of(2, 1, 9, 12));
    assertThat(shape(shape, (f, x) -> f.concat(-1, x, x, x))).isEqualTo(Shape.of(2, 1, 3, 12));
    assertThat(shape(shape, (f, x) -> f.maxPool(x, 3, 2, 1))).isEqualTo(Shape.of(2, 1, 2, 2));
    assertThat(
            shape(
                shape,
                (f, x) ->
                    f.convTranspose(
                        x,
                        f.constant(Tensor.zeros(TensorType.f32(1, 5, 2, 2))),
                        null,
                        Window.square(2, 0),
                        1)))
        .isEqualTo(Shape.of(2, 5, 6, 8));
  }

  @Test
  void shapesThatDoNotFitAreRefused() {
    fails((f, x) -> f.reshape(x, -1, 4), "cannot reshape f32[2,3] to [-1, 4]");
    fails((f, x) -> f.reshape(x, -1, -1), "cannot reshape");
    fails((f, x) -> f.reshape(x, -1, 0), "cannot reshape");
    fails((f, x) -> f.reshape(x, 5), "cannot reshape");
    fails((f, x) -> f.squeeze(x, 0), "cannot squeeze axis 0 of f32[2,3]");
    fails((f, x) -> f.unsqueeze(x, 0, 0), "repeat one");
    fails((f, x) -> f.chunk(x, 1, 2).get(0), "cannot cut axis 1 of f32[2,3] into 2 equal parts");
    fails((f, x) -> f.slice(x, 0, 0, 1, 0), "step");
    fails((f, x) -> f.slice(x, 2, 0, 1), "axis 2 is outside rank 2");
    fails((f, x) -> f.expand(x, 4, 3), "do not broadcast");
    fails((f, x) -> f.apply(new dev.nimble.op.Split(1, ints(1, 2)), x), "use applyAll");
  }

  private static com.google.common.primitives.ImmutableIntArray ints(int... values) {
    return com.google.common.primitives.ImmutableIntArray.copyOf(values);
  }

  /** Against a walk that collects elements one by one. */
  @Test
  void slicesAreThoseOfOnnx() {
    int extent = 5;
    Tensor x = Tensor.of(Shape.of(extent), 0, 1, 2, 3, 4);
    for (int start = -7; start <= 7; start++) {
      for (int end = -7; end <= 7; end++) {
        for (int step : new int[] {-7, -3, -2, -1, 1, 2, 3, 7}) {
          int from = start < 0 ? start + extent : start;
          int to = end < 0 ? end + extent : end;
          from = step > 0 ? Math.max(0, from) : Math.min(extent - 1, from);
          List<Float> expected = new ArrayList<>();
          for (int i = from; step > 0 ? i < to : i > Math.max(to, -1); i += step) {
            if (i >= 0 && i < extent) {
              expected.add((float) i);
            }
          }
          int first = start;
          int last = end;
          List<Float> actual = new ArrayList<>();
          for (float element :
              result(x, (f, y) -> f.slice(y, -1, first, last, step)).toFloatArray()) {
            actual.add(element);
          }
          assertThat(actual).as("[%s:%s:%s]", start, end, step).isEqualTo(expected);
        }
      }
    }
  }

  @Test
  void padsAndGathers() {
    assertThat(result(X, (f, x) -> f.pad(x, new int[] {0, 1}, new int[] {0, 0})).toFloatArray())
        .containsExactly(0, 1, -2, 3, 0, -4, 5, -6);
    assertThat(
            result(X, (f, x) -> f.pad(x, Pad.Mode.EDGE, new int[] {0, 0}, new int[] {0, 1}))
                .toFloatArray())
        .containsExactly(1, -2, 3, 3, -4, 5, -6, -6);
    Tensor rows = Tensor.ofLongs(Shape.of(3), 1, 0, -1);
    assertThat(result(X, (f, x) -> f.gather(x, f.constant(rows), 0)).toFloatArray())
        .containsExactly(-4, 5, -6, 1, -2, 3, -4, 5, -6);
    assertThat(result(X, (f, x) -> f.shapeOf(x)).toLongArray()).containsExactly(2, 3);
  }
}
