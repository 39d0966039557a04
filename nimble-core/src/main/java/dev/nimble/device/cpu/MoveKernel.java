package dev.nimble.device.cpu;

import dev.nimble.graph.DataType;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.op.Expand;
import dev.nimble.op.KernelChoice;
import dev.nimble.op.Pool;
import dev.nimble.op.Resize;
import dev.nimble.op.StridedSlice;
import dev.nimble.op.Transpose;
import java.nio.FloatBuffer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Operators in single precision that fill each row of the result from strided elements of the
 * operand.
 */
final class MoveKernel implements CpuKernel {
  private final String name;
  private final List<TensorType> inputs;
  private final List<TensorType> outputs;
  private final int start;
  private final int[] strides;

  private MoveKernel(
      String name, List<TensorType> inputs, List<TensorType> outputs, int start, int[] strides) {
    this.name = name;
    this.inputs = inputs;
    this.outputs = outputs;
    this.start = start;
    this.strides = strides;
  }

  /** The kernel, or null if the operator or a type is not for it. */
  static @Nullable CpuKernel of(
      Operator operator, List<TensorType> inputs, List<TensorType> outputs) {
    if (inputs.size() != 1
        || inputs.get(0).dataType() != DataType.F32
        || outputs.get(0).elements() == 0
        || outputs.get(0).shape().rank() == 0) {
      return null;
    }
    Shape shape = inputs.get(0).shape();
    int[] own = shape.strides();
    int[] strides = new int[outputs.get(0).shape().rank()];
    int start = 0;
    if (operator instanceof Transpose) {
      for (int axis = 0; axis < strides.length; axis++) {
        strides[axis] = own[((Transpose) operator).permutation().get(axis)];
      }
      return new MoveKernel("strided transpose", inputs, outputs, 0, strides);
    }
    if (operator instanceof StridedSlice) {
      StridedSlice slice = (StridedSlice) operator;
      for (int axis = 0; axis < strides.length; axis++) {
        strides[axis] = own[axis] * slice.steps().get(axis);
        start += own[axis] * slice.starts().get(axis);
      }
      return new MoveKernel("strided slice", inputs, outputs, start, strides);
    }
    if (operator instanceof Expand) {
      return new MoveKernel(
          "strided expand", inputs, outputs, 0, shape.broadcastStrides(outputs.get(0).shape()));
    }
    if (operator instanceof Resize && ((Resize) operator).mode() == Resize.Mode.NEAREST) {
      return new Nearest((Resize) operator, inputs, outputs);
    }
    if (operator instanceof Pool && ((Pool) operator).window().rank() == 2) {
      return new PlanePool((Pool) operator, inputs, outputs);
    }
    return null;
  }

  @Override
  public KernelChoice choice() {
    return KernelChoice.of(name, ReferenceKernel.demandOf(0, inputs, outputs));
  }

  @Override
  public Runnable bind(List<Tensor> in, List<Tensor> out, @Nullable Tensor workspace) {
    FloatBuffer x = in.get(0).floats();
    FloatBuffer y = out.get(0).floats();
    int rank = strides.length;
    int[] extents = out.get(0).type().shape().toArray();
    int width = extents[rank - 1];
    int step = strides[rank - 1];
    int rows = out.get(0).type().elements() / width;
    int[] position = new int[rank];
    return () -> {
      float[] row = Scratch.get().row(width);
      java.util.Arrays.fill(position, 0);
      int offset = start;
      for (int r = 0; r < rows; r++) {
        if (step == 1) {
          x.get(offset, row, 0, width);
        } else {
          for (int i = 0; i < width; i++) {
            row[i] = x.get(offset + i * step);
          }
        }
        y.put(r * width, row, 0, width);
        for (int axis = rank - 2; axis >= 0; axis--) {
          offset += strides[axis];
          if (++position[axis] < extents[axis]) {
            break;
          }
          offset -= extents[axis] * strides[axis];
          position[axis] = 0;
        }
      }
    };
  }

  /** Nearest-neighbour resampling: a table of source positions for each axis. */
  private record Nearest(Resize operator, List<TensorType> inputs, List<TensorType> outputs)
      implements CpuKernel {
    @Override
    public KernelChoice choice() {
      return KernelChoice.of("nearest resize", ReferenceKernel.demandOf(0, inputs, outputs));
    }

    @Override
    public Runnable bind(List<Tensor> in, List<Tensor> out, @Nullable Tensor workspace) {
      Shape source = inputs.get(0).shape();
      Shape target = outputs.get(0).shape();
      int rank = target.rank();
      int[] own = source.strides();
      int[][] offsets = new int[rank][];
      for (int axis = 0; axis < rank; axis++) {
        offsets[axis] = new int[target.extent(axis)];
        for (int i = 0; i < offsets[axis].length; i++) {
          offsets[axis][i] = operator.nearest(axis, i, source.extent(axis)) * own[axis];
        }
      }
      FloatBuffer x = in.get(0).floats();
      FloatBuffer y = out.get(0).floats();
      int width = target.extent(-1);
      int rows = target.elements() / width;
      int[] position = new int[rank];
      int[] last = offsets[rank - 1];
      return () -> {
        float[] row = Scratch.get().row(width);
        java.util.Arrays.fill(position, 0);
        for (int r = 0; r < rows; r++) {
          int offset = 0;
          for (int axis = 0; axis < rank - 1; axis++) {
            offset += offsets[axis][position[axis]];
          }
          for (int i = 0; i < width; i++) {
            row[i] = x.get(offset + last[i]);
          }
          y.put(r * width, row, 0, width);
          for (int axis = rank - 2; axis >= 0 && ++position[axis] == target.extent(axis); axis--) {
            position[axis] = 0;
          }
        }
      };
    }
  }

  /** Pools over two spatial axes. */
  private record PlanePool(Pool operator, List<TensorType> inputs, List<TensorType> outputs)
      implements CpuKernel {
    @Override
    public KernelChoice choice() {
      long operations =
          (long) operator.kernel().get(0) * operator.kernel().get(1) * outputs.get(0).elements();
      return KernelChoice.of("plane pool", ReferenceKernel.demandOf(operations, inputs, outputs));
    }

    @Override
    public Runnable bind(List<Tensor> in, List<Tensor> out, @Nullable Tensor workspace) {
      FloatBuffer x = in.get(0).floats();
      FloatBuffer y = out.get(0).floats();
      Shape target = outputs.get(0).shape();
      int planes = target.extent(0) * target.extent(1);
      return () -> {
        int at = 0;
        for (int plane = 0; plane < planes; plane++) {
          for (int h = 0; h < target.extent(2); h++) {
            for (int v = 0; v < target.extent(3); v++) {
              y.put(at++, window(x, plane, h, v));
            }
          }
        }
      };
    }

    private float window(FloatBuffer x, int plane, int h, int v) {
      int height = inputs.get(0).shape().extent(2);
      int width = inputs.get(0).shape().extent(3);
      int dilationH = operator.window().dilations().get(0);
      int dilationW = operator.window().dilations().get(1);
      int top = h * operator.window().strides().get(0) - operator.window().padsBefore().get(0);
      int left = v * operator.window().strides().get(1) - operator.window().padsBefore().get(1);
      int bottomPad = height + operator.window().padsAfter().get(0);
      int rightPad = width + operator.window().padsAfter().get(1);
      float largest = Float.NEGATIVE_INFINITY;
      double sum = 0;
      int count = 0;
      for (int a = 0; a < operator.kernel().get(0); a++) {
        int p = top + a * dilationH;
        for (int b = 0; b < operator.kernel().get(1); b++) {
          int q = left + b * dilationW;
          if (p >= 0 && p < height && q >= 0 && q < width) {
            float element = x.get((plane * height + p) * width + q);
            largest = Math.max(largest, element);
            sum += element;
            count++;
          } else if (operator.countIncludePad() && p < bottomPad && q < rightPad) {
            count++;
          }
        }
      }
      return operator.function() == Pool.Function.MAX ? largest : (float) (sum / count);
    }
  }
}
