package dev.nimble.device.cpu;

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.op.Binary;
import dev.nimble.op.BinaryFunction;
import dev.nimble.op.Elementwise;
import dev.nimble.op.FusedElementwise;
import dev.nimble.op.KernelChoice;
import dev.nimble.op.Unary;
import dev.nimble.op.UnaryFunction;
import java.nio.FloatBuffer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Unary and binary functions in single precision, one or a fused DAG of them, a block of elements
 * at a time: operands are copied into arrays (broadcast on the way), each step is a loop over
 * arrays, and the last result is copied out.
 */
final class ElementwiseKernel implements CpuKernel {
  /** Up to this many elements a loop over the buffers themselves is quicker than copying blocks. */
  private static final int TINY = 64;

  private final ImmutableList<FusedElementwise.Step> steps;
  private final int operands;
  private final List<TensorType> inputs;
  private final List<TensorType> outputs;
  private final String name;

  private ElementwiseKernel(
      ImmutableList<FusedElementwise.Step> steps,
      List<TensorType> inputs,
      List<TensorType> outputs,
      String name) {
    this.steps = steps;
    this.operands = inputs.size();
    this.inputs = inputs;
    this.outputs = outputs;
    this.name = name;
  }

  /** The kernel, or null if the operator or a type is not for it. */
  static @Nullable CpuKernel of(
      Operator operator, List<TensorType> inputs, List<TensorType> outputs) {
    if (operator instanceof FusedElementwise) {
      FusedElementwise fused = (FusedElementwise) operator;
      List<TensorType> types = fused.operandTypes(inputs);
      boolean fits = true;
      for (int i = 0; i < fused.steps().size(); i++) {
        Elementwise step = fused.steps().get(i).operator();
        fits &= isFast(step) && types.get(fused.inputs() + i).equals(outputs.get(0));
      }
      return fits && allSingle(types)
          ? new ElementwiseKernel(fused.steps(), inputs, outputs, "fused elementwise")
          : null;
    }
    if (!(operator instanceof Elementwise)
        || !isFast((Elementwise) operator)
        || !allSingle(inputs)) {
      return null;
    }
    ImmutableIntArray order =
        inputs.size() == 1 ? ImmutableIntArray.of(0) : ImmutableIntArray.of(0, 1);
    return new ElementwiseKernel(
        ImmutableList.of(new FusedElementwise.Step((Elementwise) operator, order)),
        inputs,
        outputs,
        "elementwise " + operator.name());
  }

  private static boolean isFast(Elementwise operator) {
    return operator instanceof Unary || operator instanceof Binary;
  }

  private static boolean allSingle(List<TensorType> types) {
    return types.stream().allMatch(type -> type.dataType() == DataType.F32);
  }

  @Override
  public KernelChoice choice() {
    long operations = (long) steps.size() * outputs.get(0).elements();
    return KernelChoice.of(name, ReferenceKernel.demandOf(operations, inputs, outputs))
        .inPlaceOver(ReferenceKernel.sameAsOutput(inputs, outputs));
  }

  @Override
  public Runnable bind(List<Tensor> in, List<Tensor> out, @Nullable Tensor workspace) {
    Runnable tiny = tiny(in, out.get(0));
    return tiny != null ? tiny : blocks(in, out.get(0));
  }

  // -- a few elements, one common function --

  private @Nullable Runnable tiny(List<Tensor> in, Tensor out) {
    int n = out.type().elements();
    if (n > TINY || steps.size() > 1) {
      return null;
    }
    FloatBuffer x = in.get(0).floats();
    FloatBuffer z = out.floats();
    Operator operator = steps.get(0).operator();
    if (operator instanceof Unary) {
      return ((Unary) operator).function() == UnaryFunction.RELU ? () -> relu(x, z, n) : null;
    }
    FloatBuffer y = in.get(1).floats();
    if (!in.get(0).type().equals(in.get(1).type())) {
      return null;
    }
    switch (((Binary) operator).function()) {
      case ADD:
        return () -> add(x, y, z, n);
      case MUL:
        return () -> multiply(x, y, z, n);
      default:
        return null;
    }
  }

  private static void relu(FloatBuffer x, FloatBuffer z, int n) {
    for (int i = 0; i < n; i++) {
      float value = x.get(i);
      z.put(
          i,
          value <= 0f ? 0f : value); // as Math.max(value, 0f), which is slow outside vector loops
    }
  }

  private static void add(FloatBuffer x, FloatBuffer y, FloatBuffer z, int n) {
    for (int i = 0; i < n; i++) {
      z.put(i, x.get(i) + y.get(i));
    }
  }

  private static void multiply(FloatBuffer x, FloatBuffer y, FloatBuffer z, int n) {
    for (int i = 0; i < n; i++) {
      z.put(i, x.get(i) * y.get(i));
    }
  }

  // -- blocks --

  private Runnable blocks(List<Tensor> in, Tensor out) {
    int n = out.type().elements();
    int count = steps.size();
    Loader[] loaders = new Loader[operands];
    for (int k = 0; k < operands; k++) {
      loaders[k] = Loader.of(in.get(k), out.type().shape());
    }
    Operator[] operators = new Operator[count];
    int[] first = new int[count];
    int[] second = new int[count];
    for (int s = 0; s < count; s++) {
      operators[s] = steps.get(s).operator();
      ImmutableIntArray order = steps.get(s).operands();
      first[s] = order.get(0);
      second[s] = order.length() > 1 ? order.get(1) : -1;
    }
    return () -> {
      float[][] registers = Scratch.get().blocks(operands + count);
      for (int start = 0; start < n; start += Scratch.BLOCK) {
        int length = Math.min(Scratch.BLOCK, n - start);
        for (int k = 0; k < loaders.length; k++) {
          loaders[k].load(registers[k], start, length);
        }
        for (int s = 0; s < operators.length; s++) {
          step(operators[s], registers, first[s], second[s], operands + s, length);
        }
        out.floats().put(start, registers[operands + count - 1], 0, length);
      }
    };
  }

  private static void step(
      Operator operator, float[][] registers, int first, int second, int result, int length) {
    if (operator instanceof Unary) {
      Loops.unary((Unary) operator, registers[first], registers[result], length);
    } else {
      BinaryFunction function = ((Binary) operator).function();
      Loops.binary(function, registers[first], registers[second], registers[result], length);
    }
  }

  /** Copies the elements of one operand that a block of the result needs. */
  private abstract static class Loader {
    final Tensor source;

    Loader(Tensor source) {
      this.source = source;
    }

    abstract void load(float[] block, int start, int length);

    static Loader of(Tensor source, Shape result) {
      Shape own = source.type().shape();
      if (source.type().elements() == result.elements()) {
        return new Dense(source);
      }
      int shift = result.rank() - own.rank();
      int lead = 0; // axes before those that the operand has
      while (lead < result.rank() && (lead < shift || own.extent(lead - shift) == 1)) {
        lead++;
      }
      int trail = result.rank(); // and after
      while (trail > lead && own.extent(trail - 1 - shift) == 1) {
        trail--;
      }
      int inner = 1;
      boolean block = true;
      for (int axis = lead; axis < result.rank(); axis++) {
        if (axis < trail) {
          block &= own.extent(axis - shift) == result.extent(axis);
        } else {
          inner *= result.extent(axis);
        }
      }
      return block ? new Repeated(source, inner) : new Scattered(source, result);
    }
  }

  private static final class Dense extends Loader {
    Dense(Tensor source) {
      super(source);
    }

    @Override
    void load(float[] block, int start, int length) {
      source.floats().get(start, block, 0, length);
    }
  }

  /**
   * Element i of the result takes element (i / inner) mod elements: a scalar, a row, or a channel.
   */
  private static final class Repeated extends Loader {
    private final int inner;
    private final int elements;

    Repeated(Tensor source, int inner) {
      super(source);
      this.inner = inner;
      this.elements = source.type().elements();
    }

    @Override
    void load(float[] block, int start, int length) {
      if (elements == 1) {
        java.util.Arrays.fill(block, 0, length, source.floats().get(0));
        return;
      }
      int at = 0;
      while (at < length) {
        int position = start + at;
        int element = position / inner % elements;
        if (inner == 1) {
          int run = Math.min(length - at, elements - element);
          source.floats().get(element, block, at, run);
          at += run;
        } else {
          int run = Math.min(length - at, inner - position % inner);
          java.util.Arrays.fill(block, at, at + run, source.floats().get(element));
          at += run;
        }
      }
    }
  }

  /** Any other broadcast: the offset of each element from its position. */
  private static final class Scattered extends Loader {
    private final int[] extents;
    private final int[] strides;
    private final int[] position;

    Scattered(Tensor source, Shape result) {
      super(source);
      this.extents = result.toArray();
      this.strides = source.type().shape().broadcastStrides(result);
      this.position = new int[extents.length];
    }

    @Override
    void load(float[] block, int start, int length) {
      int offset = 0;
      int rest = start;
      for (int axis = extents.length - 1; axis >= 0; axis--) {
        position[axis] = rest % extents[axis];
        rest /= extents[axis];
        offset += position[axis] * strides[axis];
      }
      for (int i = 0; i < length; i++) {
        block[i] = source.floats().get(offset);
        for (int axis = extents.length - 1; axis >= 0; axis--) {
          offset += strides[axis];
          if (++position[axis] < extents[axis]) {
            break;
          }
          offset -= extents[axis] * strides[axis];
          position[axis] = 0;
        }
      }
    }
  }
}
