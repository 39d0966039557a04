package dev.nimble.cuda.op;

import com.google.common.collect.ImmutableList;
import dev.nimble.cuda.driver.DeviceAddress;
import dev.nimble.cuda.driver.LaunchDimensions;
import dev.nimble.cuda.kernel.KernelArguments;
import dev.nimble.cuda.library.Blas;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.TensorType;
import dev.nimble.op.Gemm;
import dev.nimble.op.KernelChoice;
import dev.nimble.op.MatMul;
import dev.nimble.op.Unary;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Matrix products: cuBLAS in f32 and f64, product.cu for other types; a bias and an activation
 * follow in one generated kernel.
 */
final class ProductKernels {
  private static final int TILE = 16; // TILE of product.cu
  private static final int MOST_GRID = 65535;

  private final Toolbox toolbox;
  private final List<TensorType> inputs;
  private final TensorType output;

  private ProductKernels(Toolbox toolbox, List<TensorType> inputs, TensorType output) {
    this.toolbox = toolbox;
    this.inputs = inputs;
    this.output = output;
  }

  /** The kernel, or null if the operator is of another family. */
  static @Nullable CudaKernel of(
      Toolbox toolbox, Operator operator, List<TensorType> inputs, List<TensorType> outputs) {
    if (operator instanceof MatMul) {
      return new ProductKernels(toolbox, inputs, outputs.get(0)).matMul((MatMul) operator);
    }
    if (operator instanceof Gemm) {
      return new ProductKernels(toolbox, inputs, outputs.get(0)).gemm((Gemm) operator);
    }
    return null;
  }

  /** One product, or many of a batch. */
  private record Form(
      boolean transA,
      boolean transB,
      int m,
      int n,
      int k,
      float alpha,
      Shape batch,
      Shape batchA,
      Shape batchB) {}

  private CudaKernel matMul(MatMul operator) {
    MatMul.Geometry g = MatMul.Geometry.of(inputs.get(0).shape(), inputs.get(1).shape());
    Form form = new Form(false, false, g.m(), g.n(), g.k(), 1, g.batch(), g.batchA(), g.batchB());
    TensorType bias = inputs.size() > 2 ? inputs.get(2) : null;
    return kernel(form, bias, 1, operator.activation());
  }

  private CudaKernel gemm(Gemm operator) {
    Shape a = inputs.get(0).shape();
    Form form =
        new Form(
            operator.transA(),
            operator.transB(),
            output.shape().extent(0),
            output.shape().extent(1),
            a.extent(operator.transA() ? 0 : 1),
            operator.alpha(),
            Shape.scalar(),
            Shape.scalar(),
            Shape.scalar());
    boolean added = inputs.size() > 2 && operator.beta() != 0;
    return kernel(form, added ? inputs.get(2) : null, operator.beta(), operator.activation());
  }

  private CudaKernel kernel(
      Form form, @Nullable TensorType bias, float beta, @Nullable Unary activation) {
    DataType type = output.dataType();
    boolean library = toolbox.blasTakes(type) && form.k > 0 && output.elements() > 0;
    ElementwiseKernel epilogue =
        bias == null && activation == null
            ? null
            : ElementwiseKernel.epilogue(toolbox, output, bias, beta, activation);
    long operations = 2L * output.elements() * form.k;
    return new PlainKernel(
        KernelChoice.of(
            library ? "cublas product" : "tiled product",
            Demands.of(operations, inputs, List.of(output))),
        epilogue == null ? ImmutableList.of() : epilogue.generated(),
        o -> {
          if (output.elements() == 0) {
            return List.of();
          }
          List<Launch> launches = new ArrayList<>(library ? library(form, o) : tiled(form, o));
          if (epilogue != null) {
            List<DeviceAddress> from = bias == null ? List.of(o.out()) : List.of(o.out(), o.in(2));
            launches.addAll(epilogue.bind(from, o.out()));
          }
          return launches;
        });
  }

  /**
   * One call for the longest run of products whose operands step evenly; as many calls as there are
   * positions of the axes before it.
   */
  private List<Launch> library(Form form, Operands operands) {
    DataType type = output.dataType();
    int size = type.sizeBytes();
    long sizeA = (long) form.m * form.k;
    long sizeB = (long) form.k * form.n;
    long sizeC = (long) form.m * form.n;
    Walk walk =
        Walk.of(
            form.batch.toArray(),
            form.batchA.broadcastStrides(form.batch),
            form.batchB.broadcastStrides(form.batch));
    int inner = walk.rank() == 0 ? 1 : walk.extents()[walk.rank() - 1];
    long stepA = walk.rank() == 0 ? 0 : walk.strides()[0][walk.rank() - 1] * sizeA;
    long stepB = walk.rank() == 0 ? 0 : walk.strides()[1][walk.rank() - 1] * sizeB;
    int[][] matrices = matrices(form);
    List<Launch> launches = new ArrayList<>();
    for (int first = 0; first < form.batch.elements(); first += inner) {
      Blas.Product product =
          new Blas.Product(
              type == DataType.F64,
              toolbox.tensorFloat(),
              form.transA,
              form.transB,
              form.m,
              form.n,
              form.k,
              form.alpha,
              stepA,
              stepB,
              inner);
      launches.add(
          Launches.blas(
              product.bind(
                  operands.in(0).plus(matrices[0][first] * sizeA * size),
                  operands.in(1).plus(matrices[1][first] * sizeB * size),
                  operands.out().plus(first * sizeC * size))));
    }
    return launches;
  }

  private static int[][] matrices(Form form) {
    return new MatMul.Geometry(
            form.m, form.k, form.n, form.batch, form.batchA, form.batchB, form.batch)
        .matrices();
  }

  private List<Launch> tiled(Form form, Operands operands) {
    Walk walk =
        Walk.of(
            form.batch.toArray(),
            form.batchA.broadcastStrides(form.batch),
            form.batchB.broadcastStrides(form.batch));
    List<Launch> launches = new ArrayList<>();
    int batch = form.batch.elements();
    if (batch > MOST_GRID) {
      return oneByOne(form, operands);
    }
    launches.add(tile(form, walk, operands.in(0), operands.in(1), operands.out(), batch));
    return launches;
  }

  private List<Launch> oneByOne(Form form, Operands operands) {
    int[][] matrices = matrices(form);
    int size = output.dataType().sizeBytes();
    Walk single = new Walk(new int[0], new int[2][0]);
    List<Launch> launches = new ArrayList<>();
    for (int i = 0; i < form.batch.elements(); i++) {
      launches.add(
          tile(
              form,
              single,
              operands.in(0).plus((long) matrices[0][i] * form.m * form.k * size),
              operands.in(1).plus((long) matrices[1][i] * form.k * form.n * size),
              operands.out().plus((long) i * form.m * form.n * size),
              1));
    }
    return launches;
  }

  private Launch tile(
      Form form, Walk walk, DeviceAddress a, DeviceAddress b, DeviceAddress c, int batch) {
    KernelArguments arguments =
        new KernelArguments()
            .integer(form.m)
            .integer(form.k)
            .integer(form.n)
            .integer(form.transA ? 1 : 0)
            .integer(form.transB ? 1 : 0);
    walk.addExtents(arguments);
    walk.addStrides(walk.addStrides(arguments, 0), 1);
    arguments.number(form.alpha).address(a).address(b).address(c);
    int columns = (form.n + TILE - 1) / TILE;
    int rows = Math.min(MOST_GRID, (form.m + TILE - 1) / TILE);
    return Launches.kernel(
        toolbox.function("product.cu", "product_" + CType.suffix(output.dataType())),
        new LaunchDimensions(columns, rows, batch, TILE, TILE, 0),
        arguments);
  }
}
