package dev.nimble.cuda.op;

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.cuda.driver.DeviceAddress;
import dev.nimble.cuda.driver.LaunchDimensions;
import dev.nimble.cuda.kernel.KernelArguments;
import dev.nimble.cuda.kernel.KernelSource;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.TensorType;
import dev.nimble.op.Binary;
import dev.nimble.op.BinaryFunction;
import dev.nimble.op.Cast;
import dev.nimble.op.Compare;
import dev.nimble.op.Elementwise;
import dev.nimble.op.FusedElementwise;
import dev.nimble.op.KernelChoice;
import dev.nimble.op.Logical;
import dev.nimble.op.Not;
import dev.nimble.op.Unary;
import dev.nimble.op.Where;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * One generated kernel for an elementwise operator or a fused DAG of them: a thread an element, one
 * statement a step, each rounded as it would be alone.
 */
final class ElementwiseKernel implements CudaKernel {
  /** How a thread finds its element of an operand. */
  private enum Access {
    /** The operand has the result's shape. */
    DENSE,
    /** The operand is one element. */
    SCALAR,
    /** The operand is broadcast along some axes. */
    STRIDED
  }

  private final Toolbox toolbox;
  private final List<TensorType> inputs;
  private final TensorType output;
  private final int operations;
  private final List<Access> access = new ArrayList<>();
  private final Walk walk;
  private final KernelSource source;

  private ElementwiseKernel(
      Toolbox toolbox,
      FusedElementwise fused,
      List<TensorType> inputs,
      TensorType output,
      float lastFactor) {
    this.toolbox = toolbox;
    this.inputs = inputs;
    this.output = output;
    this.operations = fused.steps().size();
    List<int[]> strided = new ArrayList<>();
    for (TensorType input : inputs) {
      Access kind = accessOf(input.shape(), output.shape());
      access.add(kind);
      if (kind == Access.STRIDED) {
        strided.add(input.shape().broadcastStrides(output.shape()));
      }
    }
    this.walk =
        strided.isEmpty()
            ? new Walk(new int[0], new int[0][])
            : Walk.of(output.shape().toArray(), strided.toArray(int[][]::new));
    this.source = Sources.elementwise(label(fused), text(fused, inputs, output, lastFactor));
  }

  /** The kernel, or null if the operator is not elementwise. */
  static @Nullable CudaKernel of(
      Toolbox toolbox, Operator operator, List<TensorType> inputs, List<TensorType> outputs) {
    if (operator instanceof FusedElementwise) {
      return new ElementwiseKernel(toolbox, (FusedElementwise) operator, inputs, outputs.get(0), 1);
    }
    if (operator instanceof Elementwise) {
      return new ElementwiseKernel(
          toolbox, alone((Elementwise) operator, inputs.size()), inputs, outputs.get(0), 1);
    }
    return null;
  }

  /**
   * What follows a sum of products: a bias, if any, that broadcasts to it, times {@code beta}, then
   * an activation, if any; run in place over the sums. Its operands are the sums and the bias.
   */
  static ElementwiseKernel epilogue(
      Toolbox toolbox,
      TensorType sums,
      @Nullable TensorType bias,
      float beta,
      @Nullable Unary activation) {
    List<FusedElementwise.Step> steps = new ArrayList<>();
    if (bias != null) {
      steps.add(step(new Binary(BinaryFunction.ADD), 0, 1));
    }
    if (activation != null) {
      steps.add(step(activation, bias == null ? 0 : 2));
    }
    List<TensorType> types = bias == null ? List.of(sums) : List.of(sums, bias);
    FusedElementwise fused = new FusedElementwise(ImmutableList.copyOf(steps), types.size());
    return new ElementwiseKernel(toolbox, fused, types, sums, bias == null ? 1 : beta);
  }

  private static FusedElementwise.Step step(Elementwise operator, int... operands) {
    return new FusedElementwise.Step(operator, ImmutableIntArray.copyOf(operands));
  }

  private static FusedElementwise alone(Elementwise operator, int operands) {
    ImmutableIntArray.Builder all = ImmutableIntArray.builder();
    for (int i = 0; i < operands; i++) {
      all.add(i);
    }
    return new FusedElementwise(
        ImmutableList.of(new FusedElementwise.Step(operator, all.build())), operands);
  }

  private static Access accessOf(Shape operand, Shape result) {
    if (operand.elements() == result.elements()) {
      return Access.DENSE;
    }
    return operand.elements() == 1 ? Access.SCALAR : Access.STRIDED;
  }

  private static String label(FusedElementwise fused) {
    StringBuilder label = new StringBuilder();
    for (FusedElementwise.Step step : fused.steps()) {
      if (label.length() > 40) {
        return label + "_and_more";
      }
      label.append(label.length() == 0 ? "" : "_").append(step.operator().name());
    }
    return label.toString().toLowerCase(Locale.ROOT);
  }

  private String text(
      FusedElementwise fused, List<TensorType> inputTypes, TensorType result, float lastFactor) {
    StringBuilder text = new StringBuilder("extern \"C\" __global__ void NAME(long long n");
    boolean strided = access.contains(Access.STRIDED);
    if (strided) {
      text.append(", int rank, Axes extents");
    }
    for (int i = 0; i < inputTypes.size(); i++) {
      text.append(", const ").append(stored(inputTypes.get(i))).append("* in").append(i);
      if (access.get(i) == Access.STRIDED) {
        text.append(", Axes strides").append(i);
      }
    }
    text.append(", ").append(stored(result)).append("* out) {\n  GRID_STRIDE(i, n) {\n");
    List<TensorType> types = fused.operandTypes(inputTypes);
    for (int i = 0; i < inputTypes.size(); i++) {
      text.append("    const ").append(computed(inputTypes.get(i))).append(" v").append(i);
      text.append(" = load(in").append(i);
      switch (access.get(i)) {
        case DENSE:
          text.append(" + i");
          break;
        case STRIDED:
          text.append(" + offset_of(i, rank, extents, strides").append(i).append(")");
          break;
        default:
          break;
      }
      text.append(')');
      if (lastFactor != 1 && i == inputTypes.size() - 1) {
        text.append(" * ").append(literal(lastFactor));
      }
      text.append(";\n");
    }
    for (int s = 0; s < fused.steps().size(); s++) {
      FusedElementwise.Step step = fused.steps().get(s);
      TensorType type = types.get(fused.inputs() + s);
      text.append("    const ").append(computed(type)).append(" v").append(fused.inputs() + s);
      text.append(" = rounded<").append(stored(type)).append(">(");
      text.append(expression(step, types)).append(");\n");
    }
    int last = fused.inputs() + fused.steps().size() - 1;
    return text.append("    store(out + i, v").append(last).append(");\n  }\n}\n").toString();
  }

  private static String stored(TensorType type) {
    return CType.of(type.dataType()).stored();
  }

  private static String computed(TensorType type) {
    return CType.of(type.dataType()).computed();
  }

  private static String expression(FusedElementwise.Step step, List<TensorType> types) {
    Elementwise operator = step.operator();
    String[] v = step.operands().stream().mapToObj(k -> "v" + k).toArray(String[]::new);
    DataType first = types.get(step.operands().get(0)).dataType();
    if (operator instanceof Unary) {
      Unary unary = (Unary) operator;
      String name = unary.function().name().toLowerCase(Locale.ROOT);
      return first.isFloating()
          ? call(
              "u_" + name, floatingOf(first), v[0], literal(unary.alpha()), literal(unary.beta()))
          : "i_"
              + name
              + "("
              + v[0]
              + ", "
              + literal(unary.alpha())
              + ", "
              + literal(unary.beta())
              + ")";
    }
    if (operator instanceof Binary) {
      DataType second = types.get(step.operands().get(1)).dataType();
      return binary(((Binary) operator).function(), first, second, v[0], v[1]);
    }
    if (operator instanceof Compare) {
      return "(" + v[0] + relation(((Compare) operator).relation()) + v[1] + ") ? 1LL : 0LL";
    }
    if (operator instanceof Logical) {
      String a = "(" + v[0] + " != 0)";
      String b = "(" + v[1] + " != 0)";
      switch (((Logical) operator).connective()) {
        case AND:
          return "(" + a + " && " + b + ") ? 1LL : 0LL";
        case OR:
          return "(" + a + " || " + b + ") ? 1LL : 0LL";
        default:
          return "(" + a + " != " + b + ") ? 1LL : 0LL";
      }
    }
    if (operator instanceof Not) {
      return "(" + v[0] + " == 0) ? 1LL : 0LL";
    }
    if (operator instanceof Where) {
      return v[0] + " != 0 ? " + v[1] + " : " + v[2];
    }
    return cast(((Cast) operator).to(), first, v[0]);
  }

  private static String binary(
      BinaryFunction function, DataType first, DataType second, String a, String b) {
    String name = function.name().toLowerCase(Locale.ROOT);
    if (first.isFloating()) {
      boolean wide = first == DataType.F64 || second == DataType.F64;
      return call("b_" + name, wide ? "double" : "float", a, b);
    }
    if (second.isFloating()) { // an integer to a floating power
      return "to_long(integer_pow((double)" + a + ", (double)" + b + "))";
    }
    String type = CType.of(first).computed();
    return "j_" + name + "((" + type + ")" + a + ", (" + type + ")" + b + ")";
  }

  private static String cast(DataType to, DataType from, String operand) {
    if (to == DataType.BOOL) {
      return "(" + operand + " != 0) ? 1LL : 0LL";
    }
    if (!to.isFloating()) {
      return (to == DataType.U64 ? "to_unsigned(" : "to_long(") + operand + ")";
    }
    return from.isFloating() ? operand : "(double)" + operand; // integers round to double first
  }

  private static String relation(Compare.Relation relation) {
    switch (relation) {
      case EQUAL:
        return " == ";
      case LESS:
        return " < ";
      case LESS_OR_EQUAL:
        return " <= ";
      case GREATER:
        return " > ";
      default:
        return " >= ";
    }
  }

  private static String floatingOf(DataType type) {
    return type == DataType.F64 ? "double" : "float";
  }

  private static String call(String function, String type, String... arguments) {
    StringBuilder text = new StringBuilder(function).append('<').append(type).append(">(");
    for (int i = 0; i < arguments.length; i++) {
      text.append(i == 0 ? "" : ", ").append('(').append(type).append(')').append(arguments[i]);
    }
    return text.append(')').toString();
  }

  private static String literal(float value) {
    if (Float.isNaN(value)) {
      return "NOT_A_NUMBER";
    }
    if (Float.isInfinite(value)) {
      return value > 0 ? "INFINITE" : "(-INFINITE)";
    }
    String text = Float.toString(value) + "f";
    return value < 0 || 1 / value < 0 ? "(" + text + ")" : text;
  }

  @Override
  public KernelChoice choice() {
    List<Integer> same = new ArrayList<>();
    for (int i = 0; i < inputs.size(); i++) {
      if (inputs.get(i).equals(output)) {
        same.add(i);
      }
    }
    return KernelChoice.of(
            "generated " + source.name().replaceAll("_[0-9a-f]{16}$", ""),
            Demands.of((long) operations * output.elements(), inputs, List.of(output)))
        .inPlaceOver(same);
  }

  @Override
  public ImmutableList<KernelSource> generated() {
    return ImmutableList.of(source);
  }

  @Override
  public ImmutableList<Launch> bind(Operands operands) {
    return ImmutableList.copyOf(bind(operands.inputs(), operands.out()));
  }

  /** At most one launch. */
  List<Launch> bind(List<DeviceAddress> from, DeviceAddress out) {
    if (output.elements() == 0) {
      return List.of();
    }
    KernelArguments arguments = new KernelArguments().longInteger(output.elements());
    if (access.contains(Access.STRIDED)) {
      walk.addExtents(arguments);
    }
    int strided = 0;
    for (int i = 0; i < inputs.size(); i++) {
      arguments.address(from.get(i));
      if (access.get(i) == Access.STRIDED) {
        walk.addStrides(arguments, strided++);
      }
    }
    arguments.address(out);
    return List.of(
        Launches.kernel(
            toolbox.function(source), LaunchDimensions.forElements(output.elements()), arguments));
  }
}
