package dev.nimble.onnx;

import static org.assertj.core.api.Assertions.assertThat;

import ai.onnx.proto.OnnxMl.GraphProto;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.testkit.OnnxRuntimeOracle;
import dev.nimble.testkit.RandomTensors;
import dev.nimble.testkit.ReferenceExecutor;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Each operator in its variants, imported and run by the reference kernels, against ONNX Runtime.
 */
class OperatorImportTest {
  private static final long SEED = Long.getLong("nimble.seed", 20201201);

  /** An operand that the model holds. */
  private record Held(Tensor contents) {}

  private final List<DynamicTest> tests = new ArrayList<>();
  private final Set<String> operators = new TreeSet<>();
  private final Random random = new Random(SEED);
  private int opset;

  private Tensor x(int... extents) {
    return RandomTensors.of(TensorType.f32(extents), random);
  }

  /** Elements in (0, 1). */
  private Tensor unit(int... extents) {
    Tensor tensor = x(extents);
    for (int i = 0; i < tensor.type().elements(); i++) {
      tensor.setDouble(i, 0.02 + 0.96 * random.nextDouble());
    }
    return tensor;
  }

  private Tensor of(DataType type, int... extents) {
    return RandomTensors.of(TensorType.of(type, extents), random);
  }

  private static Held longs(long... elements) {
    return new Held(Tensor.ofLongs(Shape.of(elements.length), elements));
  }

  private static Held reals(float... elements) {
    return new Held(Tensor.of(Shape.of(elements.length), elements));
  }

  private static Held scalar(float element) {
    return new Held(Tensor.of(Shape.scalar(), element));
  }

  private static Object[] with(Object... attributes) {
    return attributes;
  }

  private static long[] ints(long... values) {
    return values;
  }

  /**
   * A test of one node with one output; an operand is a Tensor (an input), Held, or null (left
   * out).
   */
  private void node(String operator, Object[] attributes, @Nullable Object... operands) {
    node(1, operator, attributes, operands);
  }

  private void node(
      int outputs, String operator, Object[] attributes, @Nullable Object... operands) {
    operators.add(operator);
    ModelMaker maker = new ModelMaker(opset);
    List<Tensor> inputs = new ArrayList<>();
    List<String> names = new ArrayList<>();
    StringBuilder label = new StringBuilder(operator + "-" + opset);
    for (int i = 0; i < attributes.length; i += 2) {
      Object value = attributes[i + 1];
      label
          .append(' ')
          .append(attributes[i])
          .append('=')
          .append(value instanceof long[] ? java.util.Arrays.toString((long[]) value) : value);
    }
    for (int i = 0; i < operands.length; i++) {
      Object operand = operands[i];
      names.add(operand == null ? "" : "x" + i);
      if (operand instanceof Tensor) {
        inputs.add((Tensor) operand);
        maker.input("x" + i, ((Tensor) operand).type());
        label.append(' ').append(((Tensor) operand).type());
      } else if (operand instanceof Held) {
        maker.initializer("x" + i, ((Held) operand).contents());
        label.append(' ').append(((Held) operand).contents());
      }
    }
    List<String> results = new ArrayList<>();
    for (int i = 0; i < outputs; i++) {
      results.add("y" + i);
      maker.output("y" + i);
    }
    maker.node(operator, String.join(",", names), String.join(",", results), attributes);
    test(label.toString(), maker, inputs);
  }

  private void test(String label, ModelMaker maker, List<Tensor> inputs) {
    tests.add(DynamicTest.dynamicTest(label, () -> check(maker, inputs)));
  }

  private static void check(ModelMaker maker, List<Tensor> inputs) {
    Graph graph = maker.model().graph(Map.of());
    Map<String, Tensor> byName = new LinkedHashMap<>();
    for (int i = 0; i < inputs.size(); i++) {
      byName.put(graph.inputs().get(i).name(), inputs.get(i));
    }
    List<Tensor> expected = OnnxRuntimeOracle.run(maker.bytes(), byName);
    List<Tensor> actual = ReferenceExecutor.run(graph, inputs);
    assertThat(actual).hasSameSizeAs(expected);
    for (int i = 0; i < expected.size(); i++) {
      assertThat(actual.get(i).type()).isEqualTo(expected.get(i).type());
      if (!expected.get(i).type().dataType().isFloating()) {
        assertThat(actual.get(i).toLongArray()).isEqualTo(expected.get(i).toLongArray());
      }
      double tolerance = expected.get(i).type().dataType() == DataType.F16 ? 2e-3 : 1e-5;
      assertThat(RandomTensors.largestDifference(actual.get(i), expected.get(i)))
          .as("output %d: %s against %s (seed %d)", i, actual.get(i), expected.get(i), SEED)
          .isLessThanOrEqualTo(tolerance);
    }
  }

  @Test
  void everySupportedOperatorIsTested() {
    List<Stream<DynamicTest>> all =
        List.of(
            functionsOfOneOperand(),
            clipByAttributesAndOperands(),
            functionsOfSeveralOperands(),
            reductions(),
            positionsOfExtremes(),
            softmaxBeforeAndAfterOpset13(),
            normalisations(),
            products(),
            convolutions(),
            pools(),
            resampling(),
            movement(),
            constants(),
            halfPrecision(),
            positions(),
            masks(),
            placesKnownFromConstants(),
            quantisation(),
            recurrences(),
            losses(),
            sums(),
            furtherNormalisations(),
            furtherPools(),
            signals(),
            samples(),
            bodies(),
            sequences(),
            shapesThatFollowFromOtherShapes());
    assertThat(all).allMatch(some -> some.findAny().isPresent());
    Set<String> standard = new TreeSet<>(OnnxModel.supportedOperators());
    standard.removeIf(name -> name.contains(".")); // of other domains: ONNX Runtime has none
    assertThat(operators).isEqualTo(standard);
  }

  @TestFactory
  Stream<DynamicTest> functionsOfOneOperand() {
    for (int version : new int[] {7, 13, 20, 22}) {
      opset = version;
      for (String operator :
          List.of(
              "Abs",
              "Neg",
              "Exp",
              "Floor",
              "Ceil",
              "Relu",
              "Sigmoid",
              "Tanh",
              "Sin",
              "Cos",
              "Tan",
              "Atan",
              "Softplus",
              "Softsign",
              "Identity")) {
        node(operator, with(), x(2, 3));
      }
      for (String operator : List.of("Sqrt", "Log", "Reciprocal", "Asin", "Acos")) {
        node(operator, with(), unit(2, 3));
      }
      node("LeakyRelu", with(), x(2, 3));
      node("LeakyRelu", with("alpha", 0.3f), x(2, 3));
      node("Elu", with(), x(2, 3));
      node("Elu", with("alpha", 0.7f), x(2, 3));
      node("Selu", with(), x(2, 3));
      node("Selu", with("alpha", 1.5f, "gamma", 2f), x(2, 3));
      node("HardSigmoid", with(), x(2, 3));
      node("HardSigmoid", with("alpha", 0.3f, "beta", 0.4f), x(2, 3));
    }
    opset = 13;
    for (String operator : List.of("Sign", "Erf", "Sinh", "Cosh", "Asinh", "Round")) {
      node(operator, with(), x(2, 3));
    }
    node("Atanh", with(), unit(2, 3));
    node("Acosh", with(), new Held(Tensor.of(Shape.of(3), 1f, 1.5f, 40f)));
    node("Celu", with(), x(2, 3));
    node("Celu", with("alpha", 2f), x(2, 3));
    node("ThresholdedRelu", with("alpha", 0.5f), x(2, 3));
    node("ThresholdedRelu", with(), x(2, 3));
    node("Abs", with(), of(DataType.I64, 4));
    node("Neg", with(), of(DataType.I32, 4));
    node("Relu", with(), of(DataType.F64, 4));
    opset = 14;
    node("HardSwish", with(), x(2, 3));
    opset = 18;
    node("Mish", with(), x(2, 3));
    opset = 20;
    node("Gelu", with(), x(2, 3));
    node("Gelu", with("approximate", "tanh"), x(2, 3));
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> clipByAttributesAndOperands() {
    opset = 7;
    node("Clip", with(), x(5));
    node("Clip", with("min", -0.2f), x(5));
    node("Clip", with("max", 0.3f), x(5));
    node("Clip", with("min", 0f, "max", 6f), x(5));
    opset = 13;
    node("Clip", with(), x(5));
    node("Clip", with(), x(5), scalar(0));
    node("Clip", with(), x(5), null, scalar(0.2f));
    node("Clip", with(), x(5), scalar(-1), scalar(0.2f));
    node("Clip", with(), x(5), scalar(1), scalar(-1)); // the upper limit wins
    node("Clip", with(), of(DataType.I64, 5), new Held(Tensor.ofLongs(Shape.scalar(), 1)));
    long exact = (1L << 40) + 1; // no float
    node(
        "Clip",
        with(),
        Tensor.ofLongs(Shape.of(3), 0, exact + 5, -exact),
        new Held(Tensor.ofLongs(Shape.scalar(), -exact + 2)),
        new Held(Tensor.ofLongs(Shape.scalar(), exact + 2)));
    Tensor tenth = Tensor.zeros(TensorType.of(DataType.F64));
    tenth.setDouble(0, 0.1); // no float either
    node("Clip", with(), of(DataType.F64, 5), new Held(tenth));
    Tensor limit = Tensor.of(Shape.scalar(), 0.1f);
    node("Clip", with(), x(5), limit);
    node("Clip", with(), x(5), null, limit);
    node("Clip", with(), x(5), limit, scalar(0.5f));
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> functionsOfSeveralOperands() {
    for (int version : new int[] {7, 14, 20, 22}) {
      opset = version;
      for (String operator : List.of("Add", "Sub", "Mul", "Div")) {
        node(operator, with(), x(2, 3, 4), x(3, 1));
        node(operator, with(), x(3, 1), x(2, 1, 4));
        node(
            operator,
            with(),
            Tensor.ofLongs(Shape.of(4), -7, 7, 9, -1),
            Tensor.ofLongs(Shape.of(4), 2, -2, 4, 3));
      }
      node("Pow", with(), unit(2, 3), x(3));
      node("PRelu", with(), x(2, 3, 4), x(3, 1));
      node("And", with(), of(DataType.BOOL, 2, 3), of(DataType.BOOL, 3));
      node("Or", with(), of(DataType.BOOL, 2, 3), of(DataType.BOOL, 3));
      node("Xor", with(), of(DataType.BOOL, 2, 3), of(DataType.BOOL, 3));
      node("Not", with(), of(DataType.BOOL, 2, 3));
      node("Less", with(), x(2, 3), x(3));
      node("Greater", with(), x(2, 3), x(3));
      node("Equal", with(), of(DataType.I64, 2, 3), of(DataType.I64, 3));
    }
    opset = 8;
    for (String operator : List.of("Sum", "Mean", "Min", "Max")) {
      node(operator, with(), x(2, 3));
      node(operator, with(), x(2, 3), x(3));
      node(operator, with(), x(2, 3), x(3), x(2, 1), x(1));
    }
    opset = 13;
    node("Min", with(), of(DataType.I64, 2, 3), of(DataType.I64, 3));
    node("Pow", with(), unit(4), of(DataType.I64, 4));
    node("Pow", with(), of(DataType.I32, 4), of(DataType.I32, 4));
    node(
        "Mod",
        with(),
        Tensor.ofLongs(Shape.of(4), -7, 7, -7, 7),
        Tensor.ofLongs(Shape.of(4), 3, -3, -3, 3));
    node("Mod", with("fmod", 1), x(6), x(6));
    node(
        "Mod",
        with("fmod", 1),
        Tensor.ofLongs(Shape.of(2), -7, 7),
        Tensor.ofLongs(Shape.of(2), 3, -3));
    node("IsNaN", with(), Tensor.of(Shape.of(3), Float.NaN, 1, Float.POSITIVE_INFINITY));
    node("LessOrEqual", with(), x(2, 3), x(3));
    node("GreaterOrEqual", with(), of(DataType.I64, 2, 3), of(DataType.I64, 3));
    node("Equal", with(), of(DataType.BOOL, 2, 3), of(DataType.BOOL, 3));
    node("Where", with(), of(DataType.BOOL, 2, 1), x(3), x(2, 3));
    node("Where", with(), of(DataType.BOOL, 3), of(DataType.I64, 2, 3), of(DataType.I64, 1));
    opset = 15;
    node("CastLike", with(), x(3), of(DataType.F64, 2));
    for (int to : new int[] {1, 2, 3, 6, 7, 9, 10, 11}) {
      node("Cast", with("to", to), unit(2, 3));
      node("Cast", with("to", to), of(DataType.I64, 2, 3));
      node("Cast", with("to", to), of(DataType.BOOL, 2, 3));
    }
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> reductions() {
    List<String> all =
        List.of(
            "ReduceSum",
            "ReduceMean",
            "ReduceMax",
            "ReduceMin",
            "ReduceProd",
            "ReduceL1",
            "ReduceL2",
            "ReduceLogSum",
            "ReduceLogSumExp",
            "ReduceSumSquare");
    for (int version : new int[] {7, 11, 12}) {
      opset = version;
      for (String operator : all) {
        node(operator, with(), unit(2, 3, 4));
        node(operator, with("axes", ints(1)), unit(2, 3, 4));
        node(operator, with("axes", ints(0, 2), "keepdims", 0), unit(2, 3, 4));
        if (version >= 11) {
          node(operator, with("axes", ints(-1), "keepdims", 0), unit(2, 3, 4));
        }
      }
    }
    opset = 13; // ReduceSum first
    node("ReduceSum", with(), unit(2, 3, 4), longs(1));
    node("ReduceSum", with("keepdims", 0), unit(2, 3, 4), longs(-1, 0));
    node("ReduceSum", with("noop_with_empty_axes", 1), unit(2, 3, 4));
    node("ReduceSum", with("noop_with_empty_axes", 1), unit(2, 3, 4), longs());
    node("ReduceSum", with(), unit(2, 3, 4), longs());
    node("ReduceMean", with("axes", ints(1)), unit(2, 3, 4));
    opset = 18;
    for (String operator : all) {
      node(operator, with(), unit(2, 3, 4), longs(-1, 0));
      node(operator, with("keepdims", 0), unit(2, 3, 4));
    }
    node("ReduceSum", with(), of(DataType.I64, 2, 3), longs(1));
    node("ReduceMax", with(), of(DataType.I32, 2, 3), longs(0));
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> positionsOfExtremes() {
    for (String operator : List.of("ArgMax", "ArgMin")) {
      for (int version : new int[] {7, 11, 12, 13}) {
        opset = version;
        node(operator, with(), x(3, 4));
        node(operator, with("axis", 1, "keepdims", 0), x(2, 3, 4));
        if (version >= 11) {
          node(operator, with("axis", -1), x(2, 3, 4));
        }
        if (version >= 12) {
          node(operator, with("axis", 1, "select_last_index", 1), of(DataType.I32, 4, 9));
          node(operator, with("axis", 1), of(DataType.I64, 4, 9));
        }
      }
    }
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> softmaxBeforeAndAfterOpset13() {
    for (String operator : List.of("Softmax", "LogSoftmax")) {
      for (int version : new int[] {7, 11, 12}) {
        opset = version;
        node(operator, with(), x(2, 3, 4));
        node(operator, with("axis", 0), x(2, 3, 4));
        node(operator, with("axis", 1), x(2, 3, 1, 1));
        node(operator, with("axis", 2), x(2, 3, 4));
      }
      node(operator, with("axis", -1), x(2, 3, 4));
      node(operator, with("axis", -2), x(2, 3, 4));
      opset = 13;
      node(operator, with(), x(2, 3, 4));
      node(operator, with("axis", 0), x(2, 3, 4));
      node(operator, with("axis", 1), x(2, 3, 4));
      node(operator, with("axis", -2), x(2, 3, 4));
    }
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> normalisations() {
    for (int version : new int[] {7, 9, 14, 15}) {
      opset = version;
      node("BatchNormalization", with(), x(2, 3, 4, 5), x(3), x(3), x(3), unit(3));
      node(
          "BatchNormalization",
          with("epsilon", 0.1f, "momentum", 0.5f),
          x(2, 3, 4),
          x(3),
          x(3),
          x(3),
          unit(3));
    }
    opset = 8;
    node("BatchNormalization", with("spatial", 1), x(2, 3, 4), x(3), x(3), x(3), unit(3));
    opset = 17;
    node("LayerNormalization", with(), x(2, 3, 4), x(4), x(4));
    node("LayerNormalization", with("axis", 1, "epsilon", 0.1f), x(2, 3, 4), x(3, 4), x(3, 4));
    node("LayerNormalization", with("axis", -2), x(2, 3, 4), x(3, 4));
    for (int version : new int[] {7, 13}) {
      opset = version;
      node("InstanceNormalization", with(), x(2, 3, 4, 5), x(3), x(3));
      node("InstanceNormalization", with("epsilon", 0.2f), x(2, 3, 6), x(3), x(3));
    }
    for (int version : new int[] {7, 10, 13}) {
      opset = version;
      node("Dropout", with(), x(2, 3));
    }
    node("Dropout", with(), x(2, 3), null, new Held(bool(false)));
    node("Dropout", with(), x(2, 3), scalar(0.7f));
    return tests.stream();
  }

  private static Tensor bools(boolean... values) {
    Tensor tensor = Tensor.zeros(TensorType.of(DataType.BOOL, values.length));
    for (int i = 0; i < values.length; i++) {
      tensor.setLong(i, values[i] ? 1 : 0);
    }
    return tensor;
  }

  private static Tensor bool(boolean value) {
    Tensor tensor = Tensor.zeros(TensorType.of(DataType.BOOL));
    tensor.setLong(0, value ? 1 : 0);
    return tensor;
  }

  @TestFactory
  Stream<DynamicTest> products() {
    for (int version : new int[] {7, 9, 13}) {
      opset = version;
      node("MatMul", with(), x(2, 3), x(3, 4));
      node("MatMul", with(), x(5, 2, 3), x(3, 4));
      node("MatMul", with(), x(2, 1, 2, 3), x(5, 3, 4));
      node("MatMul", with(), x(3), x(3, 4));
      node("MatMul", with(), x(2, 3), x(3));
      node("MatMul", with(), x(3), x(3));
      node("Gemm", with(), x(2, 3), x(3, 4), x(4));
      node(
          "Gemm",
          with("transA", 1, "transB", 1, "alpha", 0.5f, "beta", 2f),
          x(3, 2),
          x(4, 3),
          x(2, 1));
    }
    opset = 11;
    node("Gemm", with("transB", 1), x(2, 3), x(4, 3));
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> convolutions() {
    for (int version : new int[] {7, 11, 20, 22}) {
      opset = version;
      node("Conv", with(), x(1, 2, 5, 6), x(3, 2, 3, 3));
      node(
          "Conv",
          with("kernel_shape", ints(3, 2), "pads", ints(1, 0, 2, 1)),
          x(2, 2, 5, 6),
          x(3, 2, 3, 2),
          x(3));
      node(
          "Conv",
          with("group", 4, "strides", ints(2, 1), "pads", ints(1, 1, 1, 1)),
          x(1, 4, 5, 6),
          x(8, 1, 3, 3));
      node("Conv", with("group", 2, "dilations", ints(2, 1)), x(1, 4, 5, 6), x(6, 2, 2, 3), x(6));
      for (String auto : List.of("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET")) {
        node("Conv", with("auto_pad", auto, "strides", ints(2, 2)), x(1, 2, 5, 6), x(3, 2, 2, 4));
      }
      node("Conv", with("strides", ints(2)), x(1, 2, 7), x(3, 2, 3), x(3));
      node("Conv", with("pads", ints(1, 0, 1, 1, 0, 1)), x(1, 2, 3, 4, 3), x(2, 2, 2, 2, 3));
      node("ConvTranspose", with(), x(1, 2, 3, 4), x(2, 3, 2, 2));
      node("ConvTranspose", with("strides", ints(2, 2)), x(2, 2, 3, 4), x(2, 3, 2, 2), x(3));
      node(
          "ConvTranspose",
          with("strides", ints(2, 3), "pads", ints(1, 0, 1, 2), "output_padding", ints(1, 0)),
          x(1, 2, 3, 4),
          x(2, 3, 3, 3));
      node(
          "ConvTranspose",
          with("group", 2, "dilations", ints(2, 1)),
          x(1, 4, 3, 4),
          x(4, 3, 2, 3),
          x(6));
      node("ConvTranspose", with("strides", ints(2)), x(1, 2, 3), x(2, 3, 2));
      for (String auto : List.of("SAME_UPPER", "SAME_LOWER", "VALID")) {
        node(
            "ConvTranspose",
            with("auto_pad", auto, "strides", ints(2, 2)),
            x(1, 2, 3, 4),
            x(2, 3, 3, 3));
      }
      node(
          "ConvTranspose",
          with("output_shape", ints(7, 9), "strides", ints(2, 2)),
          x(1, 2, 3, 4),
          x(2, 3, 3, 4));
    }
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> pools() {
    for (int version : new int[] {7, 10, 12, 19, 22}) {
      opset = version;
      for (String operator : List.of("MaxPool", "AveragePool")) {
        node(operator, with("kernel_shape", ints(2, 2)), x(1, 2, 5, 6));
        node(
            operator,
            with("kernel_shape", ints(3, 2), "strides", ints(2, 2), "pads", ints(1, 0, 1, 1)),
            x(2, 2, 5, 6));
        for (String auto : List.of("SAME_UPPER", "SAME_LOWER", "VALID")) {
          node(
              operator,
              with("kernel_shape", ints(3, 4), "strides", ints(2, 2), "auto_pad", auto),
              x(1, 2, 5, 6));
        }
        node(operator, with("kernel_shape", ints(2), "strides", ints(2)), x(1, 2, 7));
        node(operator, with("kernel_shape", ints(2, 2, 2)), x(1, 2, 3, 3, 3));
        if (version >= 10) {
          node(
              operator,
              with("kernel_shape", ints(2, 2), "strides", ints(2, 2), "ceil_mode", 1),
              x(1, 2, 5, 7));
          node(
              operator,
              with(
                  "kernel_shape",
                  ints(3, 3),
                  "strides",
                  ints(2, 2),
                  "ceil_mode",
                  1,
                  "pads",
                  ints(1, 1, 1, 1)),
              x(1, 2, 6, 4));
        }
      }
      node(
          "AveragePool",
          with(
              "kernel_shape",
              ints(3, 2),
              "strides",
              ints(2, 2),
              "pads",
              ints(1, 0, 1, 1),
              "count_include_pad",
              1),
          x(2, 2, 5, 6));
      node("GlobalAveragePool", with(), x(2, 3, 4, 5));
      node("GlobalMaxPool", with(), x(2, 3, 4, 5));
      node("GlobalAveragePool", with(), x(2, 3, 4));
    }
    opset = 12;
    node("MaxPool", with("kernel_shape", ints(2, 2), "dilations", ints(2, 1)), x(1, 2, 5, 6));
    opset = 19;
    node("AveragePool", with("kernel_shape", ints(2, 2), "dilations", ints(2, 1)), x(1, 2, 5, 6));
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> resampling() {
    opset = 7;
    node("Upsample", with("scales", new float[] {1, 1, 2, 3}), x(1, 2, 3, 4));
    opset = 9;
    node("Upsample", with("mode", "nearest"), x(1, 2, 3, 4), reals(1, 1, 2, 2));
    node("Upsample", with("mode", "linear"), x(1, 2, 3, 4), reals(1, 1, 2, 2));
    opset = 10;
    node("Resize", with("mode", "nearest"), x(1, 2, 3, 4), reals(1, 1, 2, 2));
    node("Resize", with("mode", "linear"), x(1, 2, 3, 4), reals(1, 1, 2, 2));
    node("Resize", with("mode", "nearest"), x(1, 2, 6, 8), reals(1, 1, 0.5f, 0.5f));
    for (int version : new int[] {11, 13, 18, 19}) {
      opset = version;
      Held none = version < 13 ? reals() : null; // "roi" may be left out since 13
      for (String transform :
          List.of("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")) {
        for (String rounding :
            List.of("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")) {
          node(
              "Resize",
              with("coordinate_transformation_mode", transform, "nearest_mode", rounding),
              x(1, 2, 3, 4),
              none,
              reals(1, 1, 2, 2));
          node(
              "Resize",
              with("coordinate_transformation_mode", transform, "nearest_mode", rounding),
              x(1, 1, 5, 6),
              reals(),
              reals(),
              longs(1, 1, 7, 3));
        }
        node(
            "Resize",
            with("mode", "linear", "coordinate_transformation_mode", transform),
            x(1, 2, 3, 4),
            reals(),
            reals(1, 1, 2, 1.5f));
        node(
            "Resize",
            with("mode", "linear", "coordinate_transformation_mode", transform),
            x(1, 2, 5, 4),
            reals(),
            reals(),
            longs(1, 2, 3, 7));
        node(
            "Resize",
            with("mode", "cubic", "coordinate_transformation_mode", transform),
            x(1, 1, 4, 5),
            reals(),
            reals(1, 1, 2, 1.6f));
        node(
            "Resize",
            with(
                "mode",
                "cubic",
                "coordinate_transformation_mode",
                transform,
                "cubic_coeff_a",
                -0.5f,
                "exclude_outside",
                1),
            x(1, 1, 4, 5),
            reals(),
            reals(1, 1, 2, 0.8f));
      }
      node(
          "Resize",
          with("coordinate_transformation_mode", "asymmetric", "nearest_mode", "floor"),
          x(1, 1, 10, 10),
          reals(),
          reals(1, 1, 0.7f, 1.1f)); // 10 x 0.7f: floats round up to 7
      node(
          "Resize",
          with("coordinate_transformation_mode", "asymmetric", "nearest_mode", "floor"),
          x(1, 1, 5, 3),
          reals(),
          reals(1, 1, 0.6f, 1 / 3f));
    }
    opset = 18;
    node("Resize", with("axes", ints(3, 2)), x(1, 2, 3, 4), null, reals(2, 1.5f));
    node("Resize", with("axes", ints(-2, -1)), x(1, 2, 3, 4), null, null, longs(5, 6));
    for (String policy : List.of("stretch", "not_larger", "not_smaller")) {
      node(
          "Resize",
          with("axes", ints(2, 3), "keep_aspect_ratio_policy", policy),
          x(1, 2, 3, 5),
          null,
          null,
          longs(7, 8));
      node(
          "Resize",
          with("axes", ints(2, 3), "keep_aspect_ratio_policy", policy, "mode", "linear"),
          x(1, 1, 6, 5),
          null,
          null,
          longs(3, 4));
    }
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> movement() {
    for (int version : new int[] {7, 11, 12}) {
      opset = version;
      node("Squeeze", with("axes", ints(0, 2)), x(1, 3, 1, 4));
      node("Squeeze", with(), x(1, 3, 1, 4));
      node("Unsqueeze", with("axes", ints(0, 3)), x(2, 3));
      node(2, "Split", with("axis", 1), x(2, 4));
      node(2, "Split", with("axis", 1, "split", ints(1, 3)), x(2, 4));
      node("Flatten", with(), x(2, 3, 4));
      node("Flatten", with("axis", 0), x(2, 3, 4));
      node("Flatten", with("axis", 3), x(2, 3, 4));
      node("Transpose", with(), x(2, 3, 4));
      node("Transpose", with("perm", ints(1, 2, 0)), x(2, 3, 4));
      node("Concat", with("axis", 1), x(2, 3), x(2, 1), x(2, 2));
      node("Gather", with(), x(4, 3), longs(3, 0, 1));
      node(
          "Gather", with("axis", 1), x(4, 3), new Held(Tensor.ofLongs(Shape.of(2, 2), 0, 2, 1, 1)));
      node("Gather", with("axis", 1), x(4, 3), new Held(Tensor.ofLongs(Shape.scalar(), 2)));
      node("Reshape", with(), x(2, 3, 4), longs(4, -1));
      node("Reshape", with(), x(2, 3, 4), longs(0, 0, 2, -1));
      node("Tile", with(), x(2, 3), longs(2, 1));
      node("Shape", with(), x(2, 3, 4));
      node("Size", with(), x(2, 3, 4));
    }
    opset = 11;
    node("Squeeze", with("axes", ints(-2)), x(1, 3, 1, 4));
    node("Unsqueeze", with("axes", ints(-1)), x(2, 3));
    node("Flatten", with("axis", -1), x(2, 3, 4));
    node(2, "Split", with("axis", -1), x(2, 4));
    node("Concat", with("axis", -1), x(2, 3), x(2, 1));
    node("Gather", with("axis", -1), x(4, 3), longs(-1, 0));
    for (int version : new int[] {7, 9}) {
      opset = version;
      node("Slice", with("starts", ints(1, 0), "ends", ints(3, 2)), x(4, 5));
      node("Slice", with("starts", ints(-2), "ends", ints(1000), "axes", ints(1)), x(4, 5));
      node("Pad", with("pads", ints(1, 0, 0, 2)), x(2, 3));
      node("Pad", with("pads", ints(1, 0, 0, 2), "value", 1.5f), x(2, 3));
      node("Pad", with("pads", ints(1, 2, 1, 1), "mode", "reflect"), x(3, 4));
      node("Pad", with("pads", ints(1, 2, 1, 1), "mode", "edge"), x(3, 4));
    }
    for (int version : new int[] {10, 13}) {
      opset = version;
      node("Slice", with(), x(4, 5), longs(1, 0), longs(3, 2));
      node("Slice", with(), x(4, 5), longs(1), longs(5), longs(1), longs(2));
      node("Slice", with(), x(4, 5), longs(-1), longs(-1000), longs(1), longs(-1));
      node("Slice", with(), x(4, 5), longs(3), longs(0), longs(0), longs(-2));
      node("Slice", with(), x(4, 5), longs(1000), longs(-1000), longs(1), longs(-3));
      node("Slice", with(), x(4, 5), longs(0), longs(Long.MAX_VALUE), longs(-1));
      node("Slice", with(), x(4, 5), longs(1, 2), longs(3, 5), null, longs(1, 2));
      node("Slice", with(), x(4, 5), longs(4), longs(Long.MIN_VALUE), longs(1), longs(-1));
    }
    opset = 13;
    node("Squeeze", with(), x(1, 3, 1, 4), longs(0, -2));
    node("Squeeze", with(), x(1, 3, 1, 4));
    node("Unsqueeze", with(), x(2, 3), longs(-1, 0));
    node(3, "Split", with("axis", -1), x(2, 6), longs(1, 2, 3));
    node(3, "Split", with(), x(6, 2));
    node("Expand", with(), x(3, 1), longs(2, 1, 4));
    node("Expand", with(), x(3, 4), longs(1));
    for (String mode : List.of("constant", "reflect", "edge")) {
      node("Pad", with("mode", mode), x(3, 4), longs(1, 2, 1, 1));
    }
    node("Pad", with(), x(3, 4), longs(1, 2, 1, 1), scalar(0.5f));
    node("Pad", with(), x(3, 4), longs(1, 2, 1, 1), Tensor.of(Shape.scalar(), 2.5f));
    node("Pad", with(), x(3, 4), longs(-1, 2, 1, -2));
    node(
        "Pad",
        with(),
        of(DataType.I64, 3),
        longs(1, 1),
        new Held(Tensor.ofLongs(Shape.scalar(), 9)));
    opset = 14;
    node("Reshape", with("allowzero", 1), x(2, 0, 4), longs(4, 0, 5));
    opset = 15;
    node("Shape", with("start", 1), x(2, 3, 4));
    node("Shape", with("start", -2, "end", -1), x(2, 3, 4));
    node("Shape", with("start", 5), x(2, 3, 4));
    opset = 18;
    node(2, "Split", with("num_outputs", 2), x(4, 3));
    node(3, "Split", with("num_outputs", 3, "axis", 1), x(2, 7));
    node("Pad", with(), x(3, 4), longs(2, 1), null, longs(-1));
    opset = 19;
    node("Pad", with("mode", "wrap"), x(3, 4), longs(1, 2, 1, 1));
    for (int version : new int[] {7, 11, 13}) {
      opset = version;
      node("DepthToSpace", with("blocksize", 2), x(2, 8, 3, 2));
      node("SpaceToDepth", with("blocksize", 2), x(2, 3, 4, 6));
    }
    node("DepthToSpace", with("blocksize", 2, "mode", "CRD"), x(2, 8, 3, 2));
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> constants() {
    Tensor matrix = x(2, 3);
    opset = 11;
    node("Constant", with("value", matrix));
    for (DataType type : OnnxRuntimeOracle.dataTypes()) {
      node("Constant", with("value", of(type, 3)));
    }
    opset = 13;
    node("Constant", with("value_float", 1.5f));
    node("Constant", with("value_int", 7));
    node("Constant", with("value_floats", new float[] {1, 2}));
    node("Constant", with("value_ints", ints(1, 2, 3)));
    node("ConstantOfShape", with(), longs(2, 3));
    node("ConstantOfShape", with(), longs());
    node("ConstantOfShape", with("value", Tensor.ofLongs(Shape.of(1), 5)), longs(4));
    node("Range", with(), scalar(0.5f), scalar(3), scalar(0.75f));
    node(
        "Range",
        with(),
        new Held(Tensor.ofLongs(Shape.scalar(), 10)),
        new Held(Tensor.ofLongs(Shape.scalar(), 1)),
        new Held(Tensor.ofLongs(Shape.scalar(), -3)));
    node(
        "Range",
        with(),
        new Held(Tensor.ofLongs(Shape.scalar(), 1)),
        new Held(Tensor.ofLongs(Shape.scalar(), 1)),
        new Held(Tensor.ofLongs(Shape.scalar(), 1)));
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> halfPrecision() {
    opset = 13;
    node("Add", with(), of(DataType.F16, 2, 3), of(DataType.F16, 3));
    node("Sigmoid", with(), of(DataType.F16, 2, 3));
    node("MatMul", with(), of(DataType.F16, 2, 3), of(DataType.F16, 3, 4));
    node("Concat", with("axis", 0), of(DataType.F16, 2), of(DataType.F16, 3));
    node("ReduceMean", with("axes", ints(1)), of(DataType.F16, 2, 3));
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> shapesThatFollowFromOtherShapes() {
    test(
        "Reshape to Concat of Shape, Gather, Unsqueeze",
        new ModelMaker(12)
            .input("x", TensorType.f32(2, 3, 4))
            .initializer("first", Tensor.ofLongs(Shape.scalar(), 0))
            .initializer("rest", Tensor.ofLongs(Shape.of(1), -1))
            .node("Shape", "x", "shape")
            .node("Gather", "shape,first", "rows")
            .node("Unsqueeze", "rows", "rows1", "axes", ints(0))
            .node("Concat", "rows1,rest", "target", "axis", 0)
            .node("Reshape", "x,target", "y")
            .output("y"),
        List.of(x(2, 3, 4)));
    test(
        "Range and Expand from a shape, nodes not sorted",
        new ModelMaker(14)
            .input("x", TensorType.f32(2, 5))
            .initializer("one", Tensor.ofLongs(Shape.scalar(), 1))
            .initializer("zero", Tensor.ofLongs(Shape.scalar(), 0))
            .node("Cast", "positions", "y", "to", 1)
            .node("Expand", "range,shape", "positions")
            .node("Range", "zero,columns,one", "range")
            .node("Gather", "shape,one", "columns")
            .node("Shape", "x", "shape")
            .output("y"),
        List.of(x(2, 5)));
    test(
        "the shape of a product, through arithmetic, as a slice's end",
        new ModelMaker(14)
            .input("x", TensorType.f32(4, 6))
            .initializer("two", Tensor.ofLongs(Shape.of(1), 2))
            .initializer("start", Tensor.ofLongs(Shape.of(2), 0, 1))
            .node("MatMul", "x,xt", "p")
            .node("Transpose", "x", "xt")
            .node("Shape", "p", "shape")
            .node("Div", "shape,two", "half")
            .node("Slice", "p,start,half", "y")
            .output("y"),
        List.of(x(4, 6)));
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> positions() {
    opset = 13;
    Tensor data = x(3, 4, 2);
    Tensor rows =
        Tensor.ofLongs(Shape.of(2, 4, 2), 0, 1, 2, -1, -3, 0, 1, 1, 2, 2, 0, 0, -1, 1, 2, 0);
    node("GatherElements", with("axis", 0), data, rows);
    node("GatherElements", with("axis", -3), data, new Held(rows));
    node("ScatterElements", with("axis", 0), data, rows, x(2, 4, 2));
    node("GatherND", with(), data, Tensor.ofLongs(Shape.of(3, 2), 0, 1, 2, -1, -3, 0));
    node("GatherND", with(), data, Tensor.ofLongs(Shape.of(2, 1), 2, 0));
    node(
        "GatherND",
        with("batch_dims", 1),
        data,
        Tensor.ofLongs(Shape.of(3, 2, 1), 0, 1, 2, -1, 3, 0));
    node("ScatterND", with(), data, Tensor.ofLongs(Shape.of(2, 2), 0, 1, 2, -1), x(2, 2));
    node("ScatterND", with(), data, Tensor.ofLongs(Shape.of(1, 1), 1), x(1, 4, 2));
    for (DataType type : List.of(DataType.I64, DataType.F64, DataType.U8)) {
      node("ScatterElements", with("axis", 1), of(type, 2, 3), longs2(0, 1), of(type, 2, 1));
    }
    opset = 18;
    for (String reduction : List.of("add", "mul", "min", "max")) {
      Tensor updates = x(2, 3);
      Tensor repeated = Tensor.ofLongs(Shape.of(2, 3), 1, 1, 0, 2, 2, 2);
      node("ScatterElements", with("axis", 1, "reduction", reduction), x(2, 3), repeated, updates);
      node("ScatterND", with("reduction", reduction), x(4, 2), longs2(1, 1), x(2, 2));
    }
    opset = 10;
    node("Scatter", with("axis", 1), x(2, 3), longs2(0, -1), x(2, 1));
    opset = 11;
    for (int largest : new int[] {0, 1}) {
      node(2, "TopK", with("largest", largest), x(3, 9), longs(4));
      node(2, "TopK", with("largest", largest, "axis", 0), of(DataType.I64, 7, 3), longs(7));
    }
    opset = 9;
    node(2, "TopK", with("k", 2, "axis", 1), x(2, 5));
    opset = 14;
    for (int mode = 0; mode < 4; mode++) {
      Object[] how = with("exclusive", mode & 1, "reverse", mode >> 1);
      node("CumSum", how, x(3, 4), new Held(Tensor.ofLongs(Shape.scalar(), 1)));
      node("CumSum", how, of(DataType.I64, 3, 4), new Held(Tensor.ofLongs(Shape.scalar(), -2)));
    }
    node("ReverseSequence", with(), x(4, 3, 2), Tensor.ofLongs(Shape.of(3), 1, 4, 2));
    node(
        "ReverseSequence",
        with("time_axis", 1, "batch_axis", 0),
        x(3, 4),
        Tensor.ofLongs(Shape.of(3), 3, 4, 1));
    return tests.stream();
  }

  private static Tensor longs2(long a, long b) {
    return Tensor.ofLongs(Shape.of(2, 1), a, b);
  }

  @TestFactory
  Stream<DynamicTest> masks() {
    opset = 14;
    for (int upper : new int[] {0, 1}) {
      node("Trilu", with("upper", upper), x(2, 3, 4));
      for (long k : new long[] {-9, -1, 2, 9}) {
        node("Trilu", with("upper", upper), x(3, 4), new Held(Tensor.ofLongs(Shape.scalar(), k)));
      }
    }
    node("EyeLike", with("k", -1), x(3, 4));
    node("EyeLike", with("k", 1, "dtype", 7), x(3, 4));
    Tensor places = Tensor.ofLongs(Shape.of(2, 3), 0, 4, -1, 7, -9, 2);
    node("OneHot", with(), places, longs(5), x(2));
    node("OneHot", with("axis", 0), places, longs(5), x(2));
    node("IsInf", with(), infinities());
    node("IsInf", with("detect_positive", 0), infinities());
    node("IsInf", with("detect_negative", 0), infinities());
    node("IsInf", with("detect_negative", 0, "detect_positive", 0), infinities());
    node("Shrink", with("lambd", 0.4f, "bias", 0.3f), x(3, 4));
    node("BitShift", with("direction", "LEFT"), of(DataType.U8, 6), of(DataType.U8, 6));
    node("BitShift", with("direction", "RIGHT"), of(DataType.U8, 2, 3), of(DataType.U8, 3));
    node("Hardmax", with("axis", 0), x(3, 4));
    node("Hardmax", with(), x(3, 4, 2));
    opset = 11;
    node("Hardmax", with(), x(3, 4, 2));
    return tests.stream();
  }

  private static Tensor infinities() {
    float end = Float.POSITIVE_INFINITY;
    return Tensor.of(Shape.of(4), end, -end, Float.NaN, 1);
  }

  @TestFactory
  Stream<DynamicTest> placesKnownFromConstants() {
    opset = 13;
    node("Compress", with("axis", 1), x(2, 3), new Held(bools(true, false, true)));
    node("Compress", with(), x(2, 3), new Held(bools(true, false, true, true)));
    node("NonZero", with(), new Held(of(DataType.I64, 3, 4)));
    Held repeated = new Held(Tensor.ofLongs(Shape.of(6), 3, 1, 3, 2, 1, 1));
    node(4, "Unique", with(), repeated);
    node(4, "Unique", with("sorted", 0), repeated);
    node(4, "Unique", with("axis", 1), new Held(of(DataType.I64, 1, 7)));
    Tensor boxes = unit(1, 6, 4);
    node(
        "NonMaxSuppression",
        with("center_point_box", 1),
        new Held(boxes),
        new Held(unit(1, 2, 6)),
        longs(3),
        reals(0.2f),
        reals(0.3f));
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> quantisation() {
    opset = 13;
    Tensor scale = Tensor.of(Shape.scalar(), 0.05f);
    Tensor zero = of(DataType.U8);
    node("QuantizeLinear", with(), x(3, 4), scale, zero);
    node("QuantizeLinear", with(), x(3, 4), scale);
    node("QuantizeLinear", with("axis", 0), x(3, 4), unit(3), of(DataType.I8, 3));
    node("DequantizeLinear", with(), of(DataType.U8, 3, 4), scale, zero);
    node("DequantizeLinear", with("axis", 1), of(DataType.I8, 3, 4), unit(4), of(DataType.I8, 4));
    node("DequantizeLinear", with(), of(DataType.I32, 3, 4), scale);
    node(3, "DynamicQuantizeLinear", with(), x(3, 4));
    DataType u8 = DataType.U8;
    node("MatMulInteger", with(), of(u8, 3, 4), of(u8, 4, 2), zero, of(u8));
    node("MatMulInteger", with(), of(u8, 2, 3, 4), of(DataType.I8, 4, 2));
    node(
        "ConvInteger",
        with("pads", ints(1, 1, 1, 1)),
        of(u8, 1, 2, 5, 5),
        of(u8, 3, 2, 3, 3),
        zero);
    node(
        "QLinearMatMul",
        with(),
        of(u8, 3, 4),
        scale,
        zero,
        of(u8, 4, 2),
        scale,
        of(u8),
        scale,
        zero);
    node(
        "QLinearConv",
        with("strides", ints(2, 2)),
        of(u8, 1, 2, 6, 6),
        scale,
        zero,
        new Held(of(DataType.I8, 3, 2, 3, 3)),
        new Held(unit(3)),
        new Held(Tensor.zeros(TensorType.of(DataType.I8, 3))),
        Tensor.of(Shape.scalar(), 0.3f),
        of(u8),
        new Held(of(DataType.I32, 3)));
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> recurrences() {
    opset = 14;
    String[] operators = {"RNN", "GRU", "LSTM"};
    int[] gates = {1, 3, 4};
    for (int k = 0; k < 3; k++) {
      for (String direction : List.of("forward", "reverse", "bidirectional")) {
        int d = direction.equals("bidirectional") ? 2 : 1;
        Object[] how = with("hidden_size", 3, "direction", direction);
        Tensor w = x(d, gates[k] * 3, 2);
        Tensor r = x(d, gates[k] * 3, 3);
        Tensor lengths = Tensor.zeros(TensorType.of(DataType.I32, 2));
        lengths.setLong(0, 4);
        lengths.setLong(1, 2);
        int outputs = k == 2 ? 3 : 2;
        node(outputs, operators[k], how, x(4, 2, 2), w, r);
        node(outputs, operators[k], how, x(4, 2, 2), w, r, x(d, 2 * gates[k] * 3), lengths);
        node(outputs, operators[k], how, x(4, 2, 2), w, r, null, null, x(d, 2, 3));
      }
    }
    Tensor gru = x(1, 9, 2);
    node(
        2,
        "GRU",
        with("hidden_size", 3, "linear_before_reset", 1, "clip", 0.5f),
        x(4, 2, 2),
        gru,
        x(1, 9, 3),
        x(1, 18));
    node(
        3,
        "LSTM",
        with("hidden_size", 3, "activations", new String[] {"HardSigmoid", "Softsign", "Relu"}),
        x(4, 2, 2),
        x(1, 12, 2),
        x(1, 12, 3),
        x(1, 24),
        null,
        x(1, 2, 3),
        x(1, 2, 3),
        x(1, 9));
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> losses() {
    opset = 13;
    Tensor classes = Tensor.ofLongs(Shape.of(3, 2), 0, 3, 1, 2, 2, 0);
    for (String reduction : List.of("none", "sum", "mean")) {
      for (String operator : List.of("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")) {
        node(operator, with("reduction", reduction), x(3, 4, 2), classes);
        node(
            operator,
            with("reduction", reduction, "ignore_index", 2),
            x(3, 4, 2),
            classes,
            unit(4));
      }
    }
    node(2, "SoftmaxCrossEntropyLoss", with(), x(3, 4), Tensor.ofLongs(Shape.of(3), 0, 3, 1));
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> sums() {
    opset = 13;
    node("Einsum", with("equation", "ij,jk->ik"), x(2, 3), x(3, 4));
    node("Einsum", with("equation", "bij,bjk->bik"), x(2, 3, 4), x(2, 4, 5));
    node("Einsum", with("equation", "...ij,...jk->...ik"), x(2, 2, 3, 4), x(1, 2, 4, 5));
    node("Einsum", with("equation", "bhqd,bhkd->bhqk"), x(2, 2, 3, 4), x(2, 2, 5, 4));
    node("Einsum", with("equation", "ij->ji"), x(2, 3));
    node("Einsum", with("equation", "ij->j"), x(2, 3));
    node("Einsum", with("equation", "ii->i"), x(3, 3));
    node("Einsum", with("equation", "...ii->...i"), x(2, 3, 3));
    node("Einsum", with("equation", "i,j->ij"), x(2), x(3));
    node("Einsum", with("equation", "ij,ij"), x(2, 3), x(2, 3));
    node("Einsum", with("equation", "ij,jk,kl->il"), x(2, 3), x(3, 4), x(4, 2));
    node("Einsum", with("equation", "ab,bc,ac->b"), x(2, 3), x(3, 4), x(2, 4));
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> furtherNormalisations() {
    opset = 17;
    node(3, "LayerNormalization", with("axis", 1), x(2, 3, 4), x(3, 4), x(3, 4));
    node("LRN", with("size", 3, "alpha", 0.3f, "beta", 0.6f, "bias", 1.5f), x(2, 5, 3, 3));
    node("LRN", with("size", 5), x(2, 3, 2, 2));
    node("LpNormalization", with("axis", 1, "p", 1), x(2, 3, 4));
    node("LpNormalization", with(), x(2, 3, 4));
    node("MeanVarianceNormalization", with(), x(2, 3, 4, 4));
    node("MeanVarianceNormalization", with("axes", ints(1, 2)), x(2, 3, 4));
    node(3, "BatchNormalization", with("training_mode", 1), x(2, 3, 4), x(3), x(3), x(3), unit(3));
    opset = 21;
    node("GroupNormalization", with("num_groups", 2), x(2, 6, 3, 2), x(6), x(6));
    opset = 13;
    node(2, "Dropout", with(), x(2, 3));
    node("Det", with(), x(3, 3));
    node("Det", with(), x(2, 2, 2));
    node("Det", with(), x(4, 4));
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> furtherPools() {
    opset = 12;
    Object[] square =
        with("kernel_shape", ints(3, 2), "strides", ints(2, 1), "pads", ints(1, 0, 1, 1));
    node(2, "MaxPool", square, x(2, 3, 6, 5));
    node(2, "MaxPool", with("kernel_shape", ints(2, 2), "storage_order", 1), x(2, 2, 4, 5));
    node(2, "MaxPool", with("kernel_shape", ints(2), "dilations", ints(2)), x(1, 2, 7));
    node(
        "LpPool",
        with("kernel_shape", ints(2, 3), "p", 3, "pads", ints(1, 1, 0, 1)),
        x(1, 2, 5, 6));
    node("LpPool", with("kernel_shape", ints(2), "strides", ints(2)), x(1, 2, 5));
    node("GlobalLpPool", with("p", 2), x(2, 3, 4, 4));
    Tensor places = Tensor.ofLongs(Shape.of(1, 1, 2, 2), 5, 7, 13, 15);
    node(
        "MaxUnpool",
        with("kernel_shape", ints(2, 2), "strides", ints(2, 2)),
        x(1, 1, 2, 2),
        places);
    opset = 19;
    node(
        "Resize",
        with("mode", "linear", "coordinate_transformation_mode", "half_pixel_symmetric"),
        x(1, 1, 5, 7),
        null,
        reals(1, 1, 0.7f, 1.3f));
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> signals() {
    opset = 17;
    node("DFT", with(), x(2, 6, 1));
    node("DFT", with("axis", 2, "inverse", 1), x(1, 3, 5, 2));
    node("DFT", with("onesided", 1), x(2, 7, 1));
    node("DFT", with(), x(2, 6, 1), new Held(Tensor.ofLongs(Shape.scalar(), 8)));
    Held step = new Held(Tensor.ofLongs(Shape.scalar(), 3));
    node("STFT", with(), x(2, 16, 1), step, new Held(unit(8)));
    node(
        "STFT",
        with("onesided", 0),
        x(2, 16, 1),
        step,
        null,
        new Held(Tensor.ofLongs(Shape.scalar(), 8)));
    for (int periodic : new int[] {0, 1}) {
      for (String operator : List.of("HannWindow", "HammingWindow", "BlackmanWindow")) {
        node(operator, with("periodic", periodic), new Held(Tensor.ofLongs(Shape.scalar(), 9)));
      }
    }
    node(
        "MelWeightMatrix",
        with(),
        new Held(Tensor.ofLongs(Shape.scalar(), 8)),
        new Held(Tensor.ofLongs(Shape.scalar(), 64)),
        new Held(Tensor.ofLongs(Shape.scalar(), 8192)),
        scalar(0),
        scalar(4096));
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> samples() {
    opset = 16;
    for (String mode : List.of("nearest", "bilinear", "bicubic")) {
      for (String padding : List.of("zeros", "border", "reflection")) {
        for (int align : new int[] {0, 1}) {
          node(
              "GridSample",
              with("mode", mode, "padding_mode", padding, "align_corners", align),
              x(2, 3, 4, 5),
              x(2, 3, 3, 2));
        }
      }
    }
    return tests.stream();
  }

  private static GraphProto body(ModelMaker maker) {
    return maker.proto().getGraph();
  }

  @TestFactory
  Stream<DynamicTest> bodies() {
    operators.addAll(List.of("If", "Loop", "Scan"));
    opset = 13;
    Object[] branches =
        with(
            "then_branch",
            body(new ModelMaker(13).node("Relu", "x", "t").output("t")),
            "else_branch",
            body(new ModelMaker(13).node("Neg", "x", "e").output("e")));
    for (boolean taken : new boolean[] {true, false}) {
      test(
          "If " + taken,
          new ModelMaker(13)
              .input("x", TensorType.f32(2, 3))
              .initializer("c", bool(taken).reshaped(Shape.scalar()))
              .node("If", "c", "y", branches)
              .output("y"),
          List.of(x(2, 3)));
    }
    TensorType count = TensorType.of(DataType.I64);
    TensorType flag = TensorType.of(DataType.BOOL);
    GraphProto loop =
        body(
            new ModelMaker(13)
                .input("i", count)
                .input("go", flag)
                .input("h", TensorType.f32(3))
                .initializer("three", Tensor.ofLongs(Shape.scalar(), 3))
                .node("Add", "h,x", "next")
                .node("Cast", "i", "f", "to", 1)
                .node("Mul", "next,f", "row")
                .node("Less", "i,three", "goes")
                .output("goes")
                .output("next")
                .output("row"));
    for (long most : new long[] {2, 9}) {
      test(
          "Loop of at most " + most,
          new ModelMaker(13)
              .input("x", TensorType.f32(3))
              .initializer("m", Tensor.ofLongs(Shape.scalar(), most))
              .initializer("start", Tensor.of(Shape.of(3), 1, 2, 3))
              .node("Loop", "m,,start", "last,rows", "body", loop)
              .output("last")
              .output("rows"),
          List.of(x(3)));
    }
    GraphProto scan =
        body(
            new ModelMaker(13)
                .input("h", TensorType.f32(2))
                .input("a", TensorType.f32(2))
                .node("Add", "h,a", "next")
                .node("Mul", "next,a", "row")
                .output("next")
                .output("row"));
    for (long backward : new long[] {0, 1}) {
      test(
          "Scan " + backward,
          new ModelMaker(13)
              .input("s", TensorType.f32(2))
              .input("xs", TensorType.f32(2, 5))
              .node(
                  "Scan",
                  "s,xs",
                  "last,rows",
                  "body",
                  scan,
                  "num_scan_inputs",
                  1,
                  "scan_input_axes",
                  ints(1),
                  "scan_input_directions",
                  ints(backward),
                  "scan_output_directions",
                  ints(1 - backward))
              .output("last")
              .output("rows"),
          List.of(x(2), x(2, 5)));
    }
    return tests.stream();
  }

  @TestFactory
  Stream<DynamicTest> sequences() {
    operators.addAll(SequenceOperators.BUILDERS.keySet());
    ModelMaker maker =
        new ModelMaker(13)
            .input("x", TensorType.f32(2, 3))
            .input("z", TensorType.f32(2, 3))
            .initializer("first", Tensor.ofLongs(Shape.scalar(), 0))
            .initializer("last", Tensor.ofLongs(Shape.scalar(), -1))
            .initializer("two", Tensor.ofLongs(Shape.scalar(), 2));
    test(
        "sequences that are built, changed and taken apart",
        maker
            .node("SequenceEmpty", "", "s0", "dtype", 1)
            .node("SequenceInsert", "s0,x", "s1")
            .node("SequenceInsert", "s1,z,first", "s2")
            .node("SequenceConstruct", "x,x,z", "t0")
            .node("SequenceErase", "t0,last", "t1")
            .node("SequenceAt", "s2,first", "a")
            .node("Neg", "a", "y0")
            .node("ConcatFromSequence", "s2", "y1", "axis", 1)
            .node("ConcatFromSequence", "t1", "y2", "axis", -1, "new_axis", 1)
            .node("SplitToSequence", "x", "u", "axis", 1, "keepdims", 0)
            .node("SequenceAt", "u,last", "y3")
            .node("SplitToSequence", "x,two", "v", "axis", 1)
            .node("SequenceAt", "v,last", "y4")
            .node("SequenceLength", "v", "y5")
            .output("y0")
            .output("y1")
            .output("y2")
            .output("y3")
            .output("y4")
            .output("y5"),
        List.of(x(2, 3), x(2, 3)));
    return tests.stream();
  }
}
