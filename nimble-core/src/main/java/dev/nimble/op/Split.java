package dev.nimble.op;

import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.ArrayList;
import java.util.List;

/**
 * Cuts its operand into neighbouring parts along an axis; one output a part.
 *
 * @param axis the axis; a negative one counts from the end
 * @param sizes the extent of each part; their sum is the operand's
 */
public record Split(int axis, ImmutableIntArray sizes) implements Operator {
  @Override
  public String name() {
    return "Split";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 1, 1);
    TensorType type = inputs.get(0);
    Checks.rankAtLeast(type, 1);
    int along = Checks.axis(axis, type.shape().rank());
    long sum = 0;
    List<TensorType> parts = new ArrayList<>();
    for (int size : sizes.asList()) {
      int[] extents = type.shape().toArray();
      extents[along] = size;
      parts.add(new TensorType(type.dataType(), Shape.of(extents)));
      sum += size;
    }
    Checks.that(
        sum == type.shape().extent(along) && !parts.isEmpty(),
        "parts " + sizes + " do not add up to axis " + axis + " of " + type);
    return parts;
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor in = inputs.get(0);
    int along = Checks.axis(axis, in.type().shape().rank());
    int inner = in.type().shape().strides()[along];
    int row = in.type().shape().extent(along) * inner;
    int rows = row == 0 ? 0 : in.type().elements() / row;
    int size = in.type().dataType().sizeBytes();
    return () -> {
      int start = 0;
      for (int k = 0; k < outputs.size(); k++) {
        int part = sizes.get(k) * inner;
        for (int i = 0; i < rows; i++) {
          Elements.copy(in, i * row + start, outputs.get(k), i * part, part, size);
        }
        start += part;
      }
    };
  }

  @Override
  public String toString() {
    return name() + "(axis=" + axis + ", sizes=" + sizes + ")";
  }
}
