package dev.nimble.op;

import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * Rows of the first operand along an axis, chosen by the second (I64 or I32; negative counts from
 * the end). The result replaces the axis by the shape of the indices.
 *
 * @param axis the axis; a negative one counts from the end
 */
public record Gather(int axis) implements Operator {
  @Override
  public String name() {
    return "Gather";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 2, 2);
    TensorType data = inputs.get(0);
    TensorType indices = inputs.get(1);
    Checks.rankAtLeast(data, 1);
    Checks.that(
        indices.dataType() == DataType.I64 || indices.dataType() == DataType.I32,
        "indices must be i64 or i32, not " + indices);
    int along = Checks.axis(axis, data.shape().rank());
    int rank = indices.shape().rank();
    int[] extents = new int[data.shape().rank() - 1 + rank];
    for (int i = 0; i < extents.length; i++) {
      extents[i] =
          i < along
              ? data.shape().extent(i)
              : i < along + rank
                  ? indices.shape().extent(i - along)
                  : data.shape().extent(i - rank + 1);
    }
    return List.of(new TensorType(data.dataType(), Shape.of(extents)));
  }

  /** Throws {@link InvalidArgumentException} from its run if an index is out of range. */
  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor data = inputs.get(0);
    Tensor indices = inputs.get(1);
    Tensor out = outputs.get(0);
    int along = Checks.axis(axis, data.type().shape().rank());
    int extent = data.type().shape().extent(along);
    int inner = data.type().shape().strides()[along];
    int count = indices.type().elements();
    int outer = count == 0 ? 0 : out.type().elements() / Math.max(1, count * inner);
    int size = data.type().dataType().sizeBytes();
    return () -> {
      for (int i = 0; i < outer; i++) {
        for (int k = 0; k < count; k++) {
          long index = indices.getLong(k);
          if (index < -extent || index >= extent) {
            throw new InvalidArgumentException(
                "Gather: index " + index + " is outside axis " + axis + " of " + data.type());
          }
          int row = (int) (index < 0 ? index + extent : index);
          Elements.copy(
              data, (i * extent + row) * inner, out, (i * count + k) * inner, inner, size);
        }
      }
    };
  }

  @Override
  public String toString() {
    return name() + "(axis=" + axis + ")";
  }
}
