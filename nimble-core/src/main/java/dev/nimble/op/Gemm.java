package dev.nimble.op;

import dev.nimble.graph.Operator;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * alpha * op(A) * op(B) + beta * C of matrices, op being transposition if asked; C broadcasts to
 * the result and may be absent. Accumulated in double precision.
 *
 * @param alpha factor of the product
 * @param beta factor of C
 * @param transA whether A is given as [k, m]
 * @param transB whether B is given as [n, k]
 * @param activation applied last; null for none
 */
public record Gemm(
    float alpha, float beta, boolean transA, boolean transB, @Nullable Unary activation)
    implements Operator {
  @Override
  public String name() {
    return "Gemm";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 2, 3);
    Checks.sameDataType(inputs);
    TensorType a = inputs.get(0);
    TensorType b = inputs.get(1);
    Checks.floating(a);
    Checks.that(
        a.shape().rank() == 2 && b.shape().rank() == 2,
        "multiplies matrices, not " + a + " and " + b);
    int m = a.shape().extent(transA ? 1 : 0);
    int n = b.shape().extent(transB ? 0 : 1);
    Checks.that(
        a.shape().extent(transA ? 0 : 1) == b.shape().extent(transB ? 1 : 0),
        "inner extents of " + a + " and " + b + " differ");
    TensorType result = TensorType.of(a.dataType(), m, n);
    if (inputs.size() == 3) {
      Checks.that(
          Checks.broadcasts(inputs.get(2).shape(), result.shape()),
          "C " + inputs.get(2) + " does not broadcast to " + result);
    }
    return List.of(result);
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor a = inputs.get(0);
    Tensor b = inputs.get(1);
    Tensor out = outputs.get(0);
    Tensor c = inputs.size() > 2 ? inputs.get(2) : out;
    boolean added = inputs.size() > 2 && beta != 0;
    int m = out.type().shape().extent(0);
    int n = out.type().shape().extent(1);
    int k = a.type().shape().extent(transA ? 0 : 1);
    Odometer at = Odometer.broadcasting(out.type().shape(), c.type().shape());
    Epilogue epilogue = new Epilogue(null, out, activation);
    Tensor sums = epilogue.sums();
    return () -> {
      at.reset();
      for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++, at.next()) {
          double sum = 0;
          for (int p = 0; p < k; p++) {
            sum +=
                a.getDouble(transA ? p * m + i : i * k + p)
                    * b.getDouble(transB ? j * k + p : p * n + j);
          }
          sum *= alpha;
          sums.setDouble(i * n + j, added ? sum + beta * c.getDouble(at.offset(0)) : sum);
        }
      }
      epilogue.run();
    };
  }

  @Override
  public String toString() {
    return name()
        + (transA ? "(A')" : "")
        + (transB ? "(B')" : "")
        + (activation == null ? "" : "+" + activation);
  }
}
