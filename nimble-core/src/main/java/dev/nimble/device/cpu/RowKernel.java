package dev.nimble.device.cpu;

import dev.nimble.graph.DataType;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.op.BatchNormalization;
import dev.nimble.op.GlobalPool;
import dev.nimble.op.KernelChoice;
import dev.nimble.op.LayerNormalization;
import dev.nimble.op.Pool;
import dev.nimble.op.Reduce;
import dev.nimble.op.Softmax;
import java.nio.FloatBuffer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Operators in single precision that treat each row (the elements of the last axes) by itself:
 * softmax, layer normalisation, batch normalisation, means and sums over the last axes, global
 * pools.
 */
final class RowKernel implements CpuKernel {
  private final String name;
  private final List<TensorType> inputs;
  private final List<TensorType> outputs;
  private final int length;
  private final boolean inPlace;
  private final Binder binder;

  /** Binds a kernel for rows of {@code length}. */
  private interface Binder {
    Runnable bind(List<Tensor> inputs, FloatBuffer out, int rows, int length);
  }

  private RowKernel(
      String name,
      List<TensorType> inputs,
      List<TensorType> outputs,
      int length,
      boolean inPlace,
      Binder binder) {
    this.name = name;
    this.inputs = inputs;
    this.outputs = outputs;
    this.length = length;
    this.inPlace = inPlace;
    this.binder = binder;
  }

  /** The kernel, or null if the operator, an axis or a type is not for it. */
  static @Nullable CpuKernel of(
      Operator operator, List<TensorType> inputs, List<TensorType> outputs) {
    if (inputs.isEmpty()
        || outputs.isEmpty()
        || inputs.get(0).elements() == 0
        || !inputs.stream().allMatch(type -> type.dataType() == DataType.F32)) {
      return null;
    }
    Shape shape = inputs.get(0).shape();
    int rank = shape.rank();
    if (operator instanceof Softmax) {
      Softmax softmax = (Softmax) operator;
      boolean last = softmax.axis() == -1 || softmax.axis() == rank - 1;
      return last && !softmax.log()
          ? new RowKernel(
              "row softmax", inputs, outputs, shape.extent(-1), true, RowKernel::softmax)
          : null;
    }
    if (operator instanceof LayerNormalization) {
      LayerNormalization norm = (LayerNormalization) operator;
      boolean last = norm.axis() == -1 || norm.axis() == rank - 1;
      int n = shape.extent(-1);
      boolean plain =
          inputs.stream().skip(1).allMatch(t -> t.elements() == n && t.shape().rank() == 1);
      return last && plain
          ? new RowKernel(
              "row layer normalization",
              inputs,
              outputs,
              n,
              true,
              (in, out, rows, length) -> layerNorm(in, out, rows, length, norm.epsilon()))
          : null;
    }
    if (operator instanceof BatchNormalization) {
      float epsilon = ((BatchNormalization) operator).epsilon();
      int area = inputs.get(0).elements() / (shape.extent(0) * shape.extent(1));
      return new RowKernel(
          "plane batch normalization",
          inputs,
          outputs,
          area,
          true,
          (in, out, rows, length) -> batchNorm(in, out, rows, length, epsilon));
    }
    if (operator instanceof GlobalPool
        && ((GlobalPool) operator).function() == Pool.Function.AVERAGE) {
      int area = inputs.get(0).elements() / (shape.extent(0) * shape.extent(1));
      return new RowKernel(
          "plane mean",
          inputs,
          outputs,
          area,
          false,
          (in, out, rows, length) -> sum(in, out, rows, length, 1.0 / length));
    }
    if (operator instanceof Reduce) {
      return reduce((Reduce) operator, inputs, outputs);
    }
    return null;
  }

  private static @Nullable CpuKernel reduce(
      Reduce reduce, List<TensorType> inputs, List<TensorType> outputs) {
    Shape shape = inputs.get(0).shape();
    int count = reduce.axes().length();
    boolean last = count > 0;
    int n = 1;
    for (int i = 0; i < count; i++) {
      last &= reduce.axes().get(i) == shape.rank() - count + i;
      n *= shape.extent(reduce.axes().get(i));
    }
    boolean mean = reduce.function() == Reduce.Function.MEAN;
    if (!last || !(mean || reduce.function() == Reduce.Function.SUM)) {
      return null;
    }
    double factor = mean ? 1.0 / n : 1;
    return new RowKernel(
        mean ? "row mean" : "row sum",
        inputs,
        outputs,
        n,
        false,
        (in, out, rows, length) -> sum(in, out, rows, length, factor));
  }

  @Override
  public KernelChoice choice() {
    KernelChoice choice =
        KernelChoice.of(
            name, ReferenceKernel.demandOf(5L * inputs.get(0).elements(), inputs, outputs));
    return inPlace ? choice.inPlaceOver(List.of(0)) : choice;
  }

  @Override
  public Runnable bind(List<Tensor> in, List<Tensor> out, @Nullable Tensor workspace) {
    return binder.bind(in, out.get(0).floats(), inputs.get(0).elements() / length, length);
  }

  private static Runnable softmax(List<Tensor> in, FloatBuffer out, int rows, int n) {
    FloatBuffer x = in.get(0).floats();
    return () -> {
      float[] row = Scratch.get().row(n);
      for (int r = 0; r < rows; r++) {
        x.get(r * n, row, 0, n);
        float largest = row[0];
        for (int i = 1; i < n; i++) {
          largest = Math.max(largest, row[i]);
        }
        double sum = 0;
        for (int i = 0; i < n; i++) {
          row[i] = Loops.exp(row[i] - largest);
          sum += row[i];
        }
        Loops.affine(row, (float) (1 / sum), 0f, row, n);
        out.put(r * n, row, 0, n);
      }
    };
  }

  private static Runnable layerNorm(
      List<Tensor> in, FloatBuffer out, int rows, int n, float epsilon) {
    FloatBuffer x = in.get(0).floats();
    FloatBuffer scale = in.get(1).floats();
    FloatBuffer bias = in.size() > 2 ? in.get(2).floats() : null;
    return () -> {
      float[] row = Scratch.get().row(n);
      for (int r = 0; r < rows; r++) {
        x.get(r * n, row, 0, n);
        double mean = 0;
        for (int i = 0; i < n; i++) {
          mean += row[i];
        }
        mean /= n;
        double variance = 0;
        for (int i = 0; i < n; i++) {
          double difference = row[i] - mean;
          variance += difference * difference;
        }
        float inverse = (float) (1 / Math.sqrt(variance / n + epsilon));
        float centre = (float) mean;
        for (int i = 0; i < n; i++) {
          float y = (row[i] - centre) * inverse * scale.get(i);
          row[i] = bias == null ? y : y + bias.get(i);
        }
        out.put(r * n, row, 0, n);
      }
    };
  }

  private static Runnable batchNorm(
      List<Tensor> in, FloatBuffer out, int rows, int n, float epsilon) {
    FloatBuffer x = in.get(0).floats();
    int channels = in.get(1).type().elements();
    return () -> {
      float[] row = Scratch.get().row(n);
      for (int r = 0; r < rows; r++) {
        int c = r % channels;
        double scale =
            in.get(1).floats().get(c) / Math.sqrt(in.get(4).floats().get(c) + (double) epsilon);
        double shift = in.get(2).floats().get(c) - in.get(3).floats().get(c) * scale;
        x.get(r * n, row, 0, n);
        Loops.affine(row, (float) scale, (float) shift, row, n);
        out.put(r * n, row, 0, n);
      }
    };
  }

  private static Runnable sum(List<Tensor> in, FloatBuffer out, int rows, int n, double factor) {
    FloatBuffer x = in.get(0).floats();
    return () -> {
      float[] row = Scratch.get().row(n);
      for (int r = 0; r < rows; r++) {
        x.get(r * n, row, 0, n);
        double even = 0;
        double odd = 0;
        int pairs = n & ~1;
        for (int i = 0; i < pairs; i += 2) {
          even += row[i];
          odd += row[i + 1];
        }
        double rest = pairs < n ? row[pairs] : 0;
        out.put(r, (float) ((even + odd + rest) * factor));
      }
    };
  }
}
