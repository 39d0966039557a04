package dev.nimble.op;

import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * Operands one after the other along an axis; other extents are equal.
 *
 * @param axis the axis; a negative one counts from the end
 */
public record Concat(int axis) implements Operator {
  @Override
  public String name() {
    return "Concat";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 1, Integer.MAX_VALUE);
    Checks.sameDataType(inputs);
    Shape first = inputs.get(0).shape();
    Checks.rankAtLeast(inputs.get(0), 1);
    int along = Checks.axis(axis, first.rank());
    int[] extents = first.toArray();
    long total = 0;
    for (TensorType type : inputs) {
      int[] own = type.shape().toArray();
      boolean fits = own.length == extents.length;
      for (int i = 0; fits && i < own.length; i++) {
        fits = i == along || own[i] == first.extent(i);
      }
      Checks.that(fits, "cannot join " + inputs.get(0) + " and " + type + " along axis " + axis);
      total += own[along];
    }
    Checks.that(total <= Integer.MAX_VALUE, "the result has " + total + " elements along an axis");
    extents[along] = (int) total;
    return List.of(new TensorType(inputs.get(0).dataType(), Shape.of(extents)));
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor out = outputs.get(0);
    int along = Checks.axis(axis, out.type().shape().rank());
    int inner = out.type().shape().strides()[along];
    int row = out.type().shape().extent(along) * inner;
    int rows = row == 0 ? 0 : out.type().elements() / row;
    int size = out.type().dataType().sizeBytes();
    return () -> {
      int start = 0;
      for (int k = 0; k < inputs.size(); k++) {
        Tensor in = inputs.get(k);
        int part = in.type().shape().extent(along) * inner;
        for (int i = 0; i < rows; i++) {
          Elements.copy(in, i * part, out, i * row + start, part, size);
        }
        start += part;
      }
    };
  }

  @Override
  public String toString() {
    return name() + "(axis=" + axis + ")";
  }
}
