package dev.nimble.op;

import dev.nimble.graph.DataType;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * Where along an axis the largest or smallest element is, as I64 (ONNX ArgMax, ArgMin). NaNs are
 * never it, unless there is nothing else.
 *
 * @param max whether the largest is meant
 * @param axis the axis; a negative one counts from the end
 * @param keepDims whether the axis stays, with extent 1
 * @param selectLast which of equal elements: the last, or the first
 */
public record ArgReduce(boolean max, int axis, boolean keepDims, boolean selectLast)
    implements Operator {
  @Override
  public String name() {
    return max ? "ArgMax" : "ArgMin";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 1, 1);
    TensorType type = inputs.get(0);
    Checks.numeric(type);
    Checks.notUnsignedLong(type);
    Checks.rankAtLeast(type, 1);
    int[] extents = type.shape().toArray();
    int along = Checks.axis(axis, extents.length);
    Checks.that(extents[along] > 0, "axis " + axis + " of " + type + " has no element");
    int[] kept = new int[keepDims ? extents.length : extents.length - 1];
    for (int i = 0; i < extents.length; i++) {
      if (keepDims) {
        kept[i] = i == along ? 1 : extents[i];
      } else if (i != along) {
        kept[i < along ? i : i - 1] = extents[i];
      }
    }
    return List.of(new TensorType(DataType.I64, Shape.of(kept)));
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor in = inputs.get(0);
    Tensor out = outputs.get(0);
    int along = Checks.axis(axis, in.type().shape().rank());
    int extent = in.type().shape().extent(along);
    int inner = in.type().shape().strides()[along];
    int rows = out.type().elements();
    boolean floating = in.type().dataType().isFloating();
    return () -> {
      for (int row = 0; row < rows; row++) {
        int start = row / inner * extent * inner + row % inner;
        int best = 0;
        for (int i = 1; i < extent; i++) {
          int at = start + i * inner;
          int held = start + best * inner;
          if (floating
              ? better(in.getDouble(at), in.getDouble(held))
              : better(in.getLong(at), in.getLong(held))) {
            best = i;
          }
        }
        out.longs().put(row, best);
      }
    };
  }

  private boolean better(double candidate, double held) {
    boolean beyond = max ? candidate > held : candidate < held;
    return beyond
        || (selectLast && candidate == held)
        || (Double.isNaN(held) && !Double.isNaN(candidate));
  }

  private boolean better(long candidate, long held) {
    return (max ? candidate > held : candidate < held) || (selectLast && candidate == held);
  }

  @Override
  public String toString() {
    return name() + "(axis=" + axis + (keepDims ? ", keepDims)" : ")");
  }
}
