package dev.nimble.op;

import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A copy of the first operand in which some rows (along axis 0) are replaced, or combined with
 * others: operands data {@code [R, ...]}, rows {@code [M]} (I64, in {@code [-R, R)}) and updates
 * {@code [M, ...]}. Where a row is named more than once, updates are applied in order. ONNX's
 * ScatterElements and ScatterND become this over reshaped operands.
 *
 * @param reduction how a row and an update are combined
 */
public record Scatter(Reduction reduction) implements Operator {
  /** How an element and its update are combined. */
  public enum Reduction {
    /** The update replaces it. */
    NONE(null),
    ADD(BinaryFunction.ADD),
    MUL(BinaryFunction.MUL),
    MIN(BinaryFunction.MIN),
    MAX(BinaryFunction.MAX);

    private final @Nullable BinaryFunction function;

    Reduction(@Nullable BinaryFunction function) {
      this.function = function;
    }
  }

  @Override
  public String name() {
    return "Scatter";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 3, 3);
    TensorType data = inputs.get(0);
    TensorType rows = inputs.get(1);
    TensorType updates = inputs.get(2);
    Checks.sameDataType(List.of(data, updates));
    Checks.rankAtLeast(data, 1);
    if (reduction != Reduction.NONE) {
      Checks.numeric(data);
    }
    Checks.that(
        rows.dataType() == DataType.I64 && rows.shape().rank() == 1,
        "rows must be i64 of rank 1, not " + rows);
    int[] extents = data.shape().toArray();
    extents[0] = rows.shape().extent(0);
    Checks.that(
        Arrays.equals(extents, updates.shape().toArray()),
        "updates must be " + Arrays.toString(extents) + ", not " + updates);
    return List.of(data);
  }

  /** Throws {@link InvalidArgumentException} from its run if a row is out of range. */
  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor data = inputs.get(0);
    Tensor rows = inputs.get(1);
    Tensor updates = inputs.get(2);
    Tensor out = outputs.get(0);
    int extent = data.type().shape().extent(0);
    int count = rows.type().elements();
    int inner = count == 0 ? 0 : updates.type().elements() / count;
    int size = data.type().dataType().sizeBytes();
    return () -> {
      out.copyFrom(data);
      for (int i = 0; i < count; i++) {
        long row = rows.getLong(i);
        if (row < -extent || row >= extent) {
          throw new InvalidArgumentException(
              "Scatter: row " + row + " is outside axis 0 of " + data.type());
        }
        int to = (int) (row < 0 ? row + extent : row) * inner;
        if (reduction.function == null) {
          Elements.copy(updates, i * inner, out, to, inner, size);
        } else {
          combine(reduction.function, updates, i * inner, out, to, inner);
        }
      }
    };
  }

  private static void combine(
      BinaryFunction function, Tensor from, int fromOffset, Tensor to, int toOffset, int count) {
    DataType type = to.type().dataType();
    for (int i = 0; i < count; i++) {
      int at = toOffset + i;
      if (type == DataType.F64) {
        to.setDouble(at, function.apply(to.getDouble(at), from.getDouble(fromOffset + i)));
      } else if (type.isFloating()) {
        to.setDouble(
            at, function.apply((float) to.getDouble(at), (float) from.getDouble(fromOffset + i)));
      } else if (type == DataType.U64) {
        to.setLong(at, function.applyUnsigned(to.getLong(at), from.getLong(fromOffset + i)));
      } else {
        to.setLong(at, function.apply(to.getLong(at), from.getLong(fromOffset + i)));
      }
    }
  }

  @Override
  public String toString() {
    return name() + "(" + reduction + ")";
  }
}
