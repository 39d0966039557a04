package dev.nimble.op;

import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Matrix product as NumPy's matmul: the last two axes are matrices, those before broadcast, an
 * operand of rank 1 is a row on the left or a column on the right. Operands A, B, and optionally a
 * bias that broadcasts to the result. Accumulated in double precision.
 *
 * @param activation applied last; null for none
 */
public record MatMul(@Nullable Unary activation) implements Operator {
  /** Without activation. */
  public MatMul() {
    this(null);
  }

  @Override
  public String name() {
    return "MatMul";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 2, 3);
    Checks.sameDataType(inputs);
    TensorType a = inputs.get(0);
    TensorType b = inputs.get(1);
    Checks.numeric(a);
    Checks.rankAtLeast(a, 1);
    Checks.rankAtLeast(b, 1);
    Geometry geometry = Geometry.of(a.shape(), b.shape());
    TensorType result = new TensorType(a.dataType(), geometry.result());
    if (inputs.size() == 3) {
      Checks.that(
          Checks.broadcasts(inputs.get(2).shape(), result.shape()),
          "the bias " + inputs.get(2) + " does not broadcast to " + result);
    }
    return activation == null ? List.of(result) : activation.infer(List.of(result));
  }

  /**
   * The product in terms of plain matrices.
   *
   * @param m rows of A
   * @param k columns of A and rows of B
   * @param n columns of B
   * @param batch the broadcast leading axes
   * @param batchA the leading axes of A
   * @param batchB the leading axes of B
   * @param result the result's shape
   */
  public record Geometry(
      int m, int k, int n, Shape batch, Shape batchA, Shape batchB, Shape result) {
    /** Reads two operand shapes of rank 1 or more. */
    public static Geometry of(Shape a, Shape b) {
      int m = a.rank() == 1 ? 1 : a.extent(-2);
      int n = b.rank() == 1 ? 1 : b.extent(-1);
      int k = a.extent(-1);
      int rows = b.rank() == 1 ? b.extent(0) : b.extent(-2);
      if (k != rows) {
        throw new InvalidModelException(
            "A " + a + " has " + k + " columns but B " + b + " has " + rows + " rows");
      }
      Shape batchA = leading(a);
      Shape batchB = leading(b);
      Shape batch = Shape.broadcast(batchA, batchB);
      int[] extents = java.util.Arrays.copyOf(batch.toArray(), batch.rank() + 2);
      int rank = batch.rank();
      if (a.rank() > 1) {
        extents[rank++] = m;
      }
      if (b.rank() > 1) {
        extents[rank++] = n;
      }
      Shape result = Shape.of(java.util.Arrays.copyOf(extents, rank));
      return new Geometry(m, k, n, batch, batchA, batchB, result);
    }

    private static Shape leading(Shape shape) {
      return Shape.of(java.util.Arrays.copyOf(shape.toArray(), Math.max(0, shape.rank() - 2)));
    }

    /** For each matrix of the batch, which matrix of A (k = 0) or B (k = 1) it multiplies. */
    public int[][] matrices() {
      Odometer at = Odometer.broadcasting(batch, batchA, batchB);
      int[][] indices = new int[2][batch.elements()];
      for (int i = 0; i < batch.elements(); i++, at.next()) {
        indices[0][i] = at.offset(0);
        indices[1][i] = at.offset(1);
      }
      return indices;
    }
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor a = inputs.get(0);
    Tensor b = inputs.get(1);
    Tensor out = outputs.get(0);
    Geometry g = Geometry.of(a.type().shape(), b.type().shape());
    int[][] matrices = g.matrices();
    boolean floating = a.type().dataType().isFloating();
    Epilogue epilogue = new Epilogue(inputs.size() > 2 ? inputs.get(2) : null, out, activation);
    Tensor sums = epilogue.sums();
    return () -> {
      for (int batch = 0; batch < g.batch().elements(); batch++) {
        int startA = matrices[0][batch] * g.m() * g.k();
        int startB = matrices[1][batch] * g.k() * g.n();
        int startC = batch * g.m() * g.n();
        for (int i = 0; i < g.m(); i++) {
          for (int j = 0; j < g.n(); j++) {
            if (floating) {
              double sum = 0;
              for (int p = 0; p < g.k(); p++) {
                sum += a.getDouble(startA + i * g.k() + p) * b.getDouble(startB + p * g.n() + j);
              }
              sums.setDouble(startC + i * g.n() + j, sum);
            } else {
              long sum = 0;
              for (int p = 0; p < g.k(); p++) {
                sum += a.getLong(startA + i * g.k() + p) * b.getLong(startB + p * g.n() + j);
              }
              sums.setLong(startC + i * g.n() + j, sum);
            }
          }
        }
      }
      epilogue.run();
    };
  }

  @Override
  public String toString() {
    return activation == null ? name() : name() + "+" + activation;
  }
}
