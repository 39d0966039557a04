package dev.nimble.device.cpu;

import dev.nimble.graph.DataType;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.op.Gemm;
import dev.nimble.op.KernelChoice;
import dev.nimble.op.MatMul;
import dev.nimble.op.Unary;
import java.nio.FloatBuffer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** MatMul and Gemm in single precision, with bias and activation. */
final class MatrixKernel implements CpuKernel {
  private final MatMul.Geometry geometry;
  private final boolean transA;
  private final boolean transB;
  private final float alpha;
  private final float beta;
  private final @Nullable Unary activation;
  private final List<TensorType> inputs;
  private final List<TensorType> outputs;

  private MatrixKernel(
      MatMul.Geometry geometry,
      boolean transA,
      boolean transB,
      float alpha,
      float beta,
      @Nullable Unary activation,
      List<TensorType> inputs,
      List<TensorType> outputs) {
    this.geometry = geometry;
    this.transA = transA;
    this.transB = transB;
    this.alpha = alpha;
    this.beta = beta;
    this.activation = activation;
    this.inputs = inputs;
    this.outputs = outputs;
  }

  /** The kernel, or null if the operator, a type or the bias is not for it. */
  static @Nullable CpuKernel of(
      Operator operator, List<TensorType> inputs, List<TensorType> outputs) {
    boolean single = inputs.stream().allMatch(type -> type.dataType() == DataType.F32);
    if (!single || outputs.isEmpty() || outputs.get(0).elements() == 0) {
      return null;
    }
    if (operator instanceof MatMul) {
      MatMul.Geometry geometry = MatMul.Geometry.of(inputs.get(0).shape(), inputs.get(1).shape());
      return takesBias(inputs, geometry)
          ? new MatrixKernel(
              geometry, false, false, 1, 1, ((MatMul) operator).activation(), inputs, outputs)
          : null;
    }
    if (operator instanceof Gemm) {
      Gemm gemm = (Gemm) operator;
      Shape a = inputs.get(0).shape();
      Shape b = inputs.get(1).shape();
      Shape one = Shape.scalar();
      MatMul.Geometry geometry =
          new MatMul.Geometry(
              a.extent(gemm.transA() ? 1 : 0),
              a.extent(gemm.transA() ? 0 : 1),
              b.extent(gemm.transB() ? 0 : 1),
              one,
              one,
              one,
              outputs.get(0).shape());
      return takesBias(inputs, geometry)
          ? new MatrixKernel(
              geometry,
              gemm.transA(),
              gemm.transB(),
              gemm.alpha(),
              gemm.beta(),
              gemm.activation(),
              inputs,
              outputs)
          : null;
    }
    return null;
  }

  /**
   * Whether there is no bias, or one of one element, or of one for each of B's columns. The
   * columns, not the result's last axis: where B has rank 1 that axis holds the rows of A.
   */
  private static boolean takesBias(List<TensorType> inputs, MatMul.Geometry geometry) {
    if (inputs.size() < 3) {
      return true;
    }
    Shape bias = inputs.get(2).shape();
    int n = geometry.n();
    return bias.elements() == 1
        || (bias.rank() > 0 && bias.elements() == n && bias.extent(-1) == n);
  }

  @Override
  public KernelChoice choice() {
    long operations = 2L * geometry.batch().elements() * geometry.m() * geometry.n() * geometry.k();
    return KernelChoice.of(
        "blocked product", ReferenceKernel.demandOf(operations, inputs, outputs));
  }

  @Override
  public Runnable bind(List<Tensor> in, List<Tensor> out, @Nullable Tensor workspace) {
    FloatBuffer a = in.get(0).floats();
    int[][] matrices = geometry.matrices();
    int m = geometry.m();
    int k = geometry.k();
    int n = geometry.n();
    Matrix b = new Matrix(in.get(1).floats(), k, n, transB);
    Results c = new Results(out.get(0).floats(), n, alpha, activation);
    if (in.size() > 2) {
      c.bias = in.get(2).floats();
      c.biasStride = in.get(2).type().elements() == 1 ? 0 : 1;
      c.beta = beta;
    }
    int rowOfA = transA ? 1 : k;
    int columnOfA = transA ? m : 1;
    return () -> {
      for (int i = 0; i < matrices[0].length; i++) {
        b.start = matrices[1][i] * k * n;
        c.start = i * m * n;
        Product.multiply(m, k, n, a, matrices[0][i] * m * k, rowOfA, columnOfA, b, c);
      }
    };
  }

  /** One matrix of B. */
  private static final class Matrix implements Product.Columns {
    private final FloatBuffer elements;
    private final int rows;
    private final int columns;
    private final boolean transposed;
    private int start;

    Matrix(FloatBuffer elements, int rows, int columns, boolean transposed) {
      this.elements = elements;
      this.rows = rows;
      this.columns = columns;
      this.transposed = transposed;
    }

    @Override
    public void fill(float[][] panel, int from, int count) {
      for (int p = 0; p < rows; p++) {
        if (transposed) {
          float[] row = panel[p];
          for (int j = 0; j < count; j++) {
            row[j] = elements.get(start + (from + j) * rows + p);
          }
        } else {
          elements.get(start + p * columns + from, panel[p], 0, count);
        }
      }
    }
  }

  /** One matrix of C: scaled, shifted by the bias, activated, written. */
  private static final class Results implements Product.Rows {
    private final FloatBuffer elements;
    private final int columns;
    private final float alpha;
    private final @Nullable Unary activation;
    private @Nullable FloatBuffer bias;
    private int biasStride;
    private float beta;
    private int start;

    Results(FloatBuffer elements, int columns, float alpha, @Nullable Unary activation) {
      this.elements = elements;
      this.columns = columns;
      this.alpha = alpha;
      this.activation = activation;
    }

    @Override
    public void take(float[][] tile, int first, int rows, int from, int count) {
      for (int i = 0; i < rows; i++) {
        float[] row = tile[i];
        if (alpha != 1) {
          Loops.affine(row, alpha, 0f, row, count);
        }
        if (bias != null) {
          for (int j = 0; j < count; j++) {
            row[j] += beta * bias.get((from + j) * biasStride);
          }
        }
        if (activation != null) {
          Loops.unary(activation, row, row, count);
        }
        elements.put(start + (first + i) * columns + from, row, 0, count);
      }
    }
  }
}
