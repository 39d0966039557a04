package dev.nimble.op;

import dev.nimble.graph.DataType;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * The k largest or smallest elements along an axis, best first, and where they were (ONNX TopK):
 * outputs values and I64 indices. Of equal elements the one that comes first is better. A NaN is
 * larger than every number.
 *
 * @param axis the axis; a negative one counts from the end
 * @param k how many
 * @param largest whether the largest are meant
 */
public record TopK(int axis, int k, boolean largest) implements Operator {
  @Override
  public String name() {
    return "TopK";
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
    Checks.that(
        k >= 0 && k <= extents[along], "k = " + k + " is not within axis " + axis + " of " + type);
    extents[along] = k;
    Shape shape = Shape.of(extents);
    return List.of(new TensorType(type.dataType(), shape), new TensorType(DataType.I64, shape));
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor in = inputs.get(0);
    Shape shape = in.type().shape();
    int along = Checks.axis(axis, shape.rank());
    int n = shape.extent(along);
    int inner = shape.strides()[along];
    int rows = n == 0 || k == 0 ? 0 : shape.elements() / n;
    int[] heap = new int[k];
    int size = in.type().dataType().sizeBytes();
    return () -> {
      for (int row = 0; row < rows; row++) {
        int start = row / inner * n * inner + row % inner;
        select(in, start, inner, n, heap);
        int result = row / inner * k * inner + row % inner;
        for (int i = 0; i < k; i++) {
          Elements.copy(in, start + heap[i] * inner, outputs.get(0), result + i * inner, 1, size);
          outputs.get(1).longs().put(result + i * inner, heap[i]);
        }
      }
    };
  }

  /** Fills {@code heap} with the positions of the k best, best first. */
  private void select(Tensor in, int start, int inner, int n, int[] heap) {
    // a heap of the k best so far with the worst on top, then sorted by taking the top away
    for (int i = 0; i < k; i++) {
      heap[i] = i;
    }
    for (int i = k / 2 - 1; i >= 0; i--) {
      sink(in, start, inner, heap, i, k);
    }
    for (int i = k; i < n; i++) {
      if (better(in, start, inner, i, heap[0])) {
        heap[0] = i;
        sink(in, start, inner, heap, 0, k);
      }
    }
    for (int end = k - 1; end > 0; end--) {
      int worst = heap[0];
      heap[0] = heap[end];
      heap[end] = worst;
      sink(in, start, inner, heap, 0, end);
    }
  }

  private void sink(Tensor in, int start, int inner, int[] heap, int from, int size) {
    int at = from;
    while (2 * at + 1 < size) {
      int child = 2 * at + 1;
      if (child + 1 < size && better(in, start, inner, heap[child], heap[child + 1])) {
        child++;
      }
      if (better(in, start, inner, heap[child], heap[at])) {
        return;
      }
      int held = heap[at];
      heap[at] = heap[child];
      heap[child] = held;
      at = child;
    }
  }

  private boolean better(Tensor in, int start, int inner, int a, int b) {
    int order =
        in.type().dataType().isFloating()
            ? compare(in.getDouble(start + a * inner), in.getDouble(start + b * inner))
            : Long.compare(in.getLong(start + a * inner), in.getLong(start + b * inner));
    return order == 0 ? a < b : largest == order > 0;
  }

  private static int compare(double a, double b) {
    return a == b ? 0 : Double.compare(a, b); // 0.0 equals -0.0
  }

  @Override
  public String toString() {
    return name() + "(axis=" + axis + ", k=" + k + (largest ? ", largest)" : ", smallest)");
  }
}
