package dev.nimble.cuda.op;

import dev.nimble.cuda.driver.DeviceAddress;
import dev.nimble.cuda.driver.LaunchDimensions;
import dev.nimble.cuda.kernel.KernelArguments;
import dev.nimble.cuda.library.Dnn;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.TensorType;
import dev.nimble.op.ArgReduce;
import dev.nimble.op.BatchNormalization;
import dev.nimble.op.GlobalPool;
import dev.nimble.op.KernelChoice;
import dev.nimble.op.LayerNormalization;
import dev.nimble.op.Pool;
import dev.nimble.op.Reduce;
import dev.nimble.op.Softmax;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Operators that combine the elements of rows: reduce.cu and row.cu, and cuDNN for softmax along
 * the last axis and batch normalisation in f32 and f64.
 */
final class RowKernels {
  private static final String REDUCE = "reduce.cu";
  private static final String ROW = "row.cu";
  private static final int BLOCK_THREADS = 256; // THREADS of reduce.cu
  private static final int ROW_THREADS = 128; // THREADS of row.cu
  private static final int SERIAL_MOST = 64; // elements that one thread combines without a block

  private final Toolbox toolbox;
  private final List<TensorType> inputs;
  private final TensorType output;

  private RowKernels(Toolbox toolbox, List<TensorType> inputs, TensorType output) {
    this.toolbox = toolbox;
    this.inputs = inputs;
    this.output = output;
  }

  /** The kernel, or null if the operator is of another family. */
  static @Nullable CudaKernel of(
      Toolbox toolbox, Operator operator, List<TensorType> inputs, List<TensorType> outputs) {
    if (outputs.isEmpty()) {
      return null;
    }
    return new RowKernels(toolbox, inputs, outputs.get(0)).of(operator);
  }

  private @Nullable CudaKernel of(Operator operator) {
    if (operator instanceof Reduce) {
      Reduce reduce = (Reduce) operator;
      boolean[] gone = new boolean[inputs.get(0).shape().rank()];
      reduce.axes().forEach(axis -> gone[axis] = true);
      return reduce(reduce.function(), gone);
    }
    if (operator instanceof GlobalPool) {
      boolean max = ((GlobalPool) operator).function() == Pool.Function.MAX;
      boolean[] gone = new boolean[inputs.get(0).shape().rank()];
      Arrays.fill(gone, 2, gone.length, true);
      return reduce(max ? Reduce.Function.MAX : Reduce.Function.MEAN, gone);
    }
    if (operator instanceof ArgReduce) {
      return argReduce((ArgReduce) operator);
    }
    if (operator instanceof Softmax) {
      return softmax((Softmax) operator);
    }
    if (operator instanceof LayerNormalization) {
      return layerNormalization((LayerNormalization) operator);
    }
    if (operator instanceof BatchNormalization) {
      return batchNormalization((BatchNormalization) operator);
    }
    return null;
  }

  private CudaKernel kernel(String name, int perElement, Function<Operands, Launch> binding) {
    long operations = (long) perElement * inputs.get(0).elements();
    return new PlainKernel(
        KernelChoice.of(name, Demands.of(operations, inputs, List.of(output))),
        o -> output.elements() == 0 ? List.of() : List.of(binding.apply(o)));
  }

  private CudaKernel reduce(Reduce.Function function, boolean[] gone) {
    Shape shape = inputs.get(0).shape();
    int[] strides = shape.strides();
    int[] kept = shape.toArray();
    int[] reduced = shape.toArray();
    long count = 1;
    for (int axis = 0; axis < gone.length; axis++) {
      if (gone[axis]) {
        kept[axis] = 1;
        count *= shape.extent(axis);
      } else {
        reduced[axis] = 1;
      }
    }
    Walk outer = Walk.of(kept, strides);
    Walk inner = Walk.of(reduced, strides);
    long elements = count;
    DataType type = inputs.get(0).dataType();
    boolean blocks = type.isFloating() && count > SERIAL_MOST;
    return kernel(
        blocks ? "block reduction" : "serial reduction",
        1,
        o -> {
          KernelArguments arguments = new KernelArguments();
          if (!blocks) {
            arguments.longInteger(output.elements());
          }
          outer.addStrides(outer.addExtents(arguments), 0);
          arguments.longInteger(elements);
          inner.addStrides(inner.addExtents(arguments), 0);
          arguments.integer(function.ordinal());
          if (!blocks) {
            arguments.longInteger(least(type)).longInteger(greatest(type));
          }
          arguments.address(o.in(0)).address(o.out());
          String name = (blocks ? "block_reduce_" : "reduce_") + CType.suffix(type);
          return Launches.kernel(
              toolbox.function(REDUCE, name),
              blocks
                  ? LaunchDimensions.of(output.elements(), BLOCK_THREADS)
                  : LaunchDimensions.forElements(output.elements()),
              arguments);
        });
  }

  private static long least(DataType type) {
    switch (type) {
      case I64:
        return Long.MIN_VALUE;
      case I32:
        return Integer.MIN_VALUE;
      case I16:
        return Short.MIN_VALUE;
      case I8:
        return Byte.MIN_VALUE;
      default:
        return 0;
    }
  }

  private static long greatest(DataType type) {
    return type.isUnsigned() ? (1L << 8 * type.sizeBytes()) - 1 : -(least(type) + 1);
  }

  private CudaKernel argReduce(ArgReduce operator) {
    Shape shape = inputs.get(0).shape();
    int axis = operator.axis() < 0 ? operator.axis() + shape.rank() : operator.axis();
    return kernel(
        "argument reduction",
        1,
        o ->
            Launches.kernel(
                toolbox.function(REDUCE, "arg_reduce_" + CType.suffix(inputs.get(0).dataType())),
                LaunchDimensions.forElements(output.elements()),
                new KernelArguments()
                    .longInteger(output.elements())
                    .integer(shape.extent(axis))
                    .longInteger(shape.strides()[axis])
                    .integer(operator.max() ? 1 : 0)
                    .integer(operator.selectLast() ? 1 : 0)
                    .address(o.in(0))
                    .address(o.out())));
  }

  private CudaKernel softmax(Softmax operator) {
    Shape shape = inputs.get(0).shape();
    DataType type = inputs.get(0).dataType();
    int axis = operator.axis() < 0 ? operator.axis() + shape.rank() : operator.axis();
    int extent = shape.extent(axis);
    int inner = shape.strides()[axis];
    int rows = extent == 0 ? 0 : shape.elements() / extent;
    if (inner == 1 && toolbox.dnnTakes(type)) {
      return kernel(
          "cudnn softmax",
          5,
          o ->
              Launches.dnn(
                  Dnn.softmax(
                      toolbox.context(), type, rows, extent, 1, operator.log(), o.in(0), o.out())));
    }
    return kernel(
        "row softmax",
        5,
        o ->
            Launches.kernel(
                toolbox.function(ROW, "softmax_" + CType.suffix(type)),
                LaunchDimensions.of(rows, ROW_THREADS),
                new KernelArguments()
                    .integer(extent)
                    .longInteger(inner)
                    .integer(operator.log() ? 1 : 0)
                    .address(o.in(0))
                    .address(o.out())));
  }

  private CudaKernel layerNormalization(LayerNormalization operator) {
    Shape shape = inputs.get(0).shape();
    int first = operator.axis() < 0 ? operator.axis() + shape.rank() : operator.axis();
    Shape row = Shape.of(Arrays.copyOfRange(shape.toArray(), first, shape.rank()));
    boolean biased = inputs.size() > 2;
    Walk walk =
        Walk.of(
            row.toArray(),
            inputs.get(1).shape().broadcastStrides(row),
            inputs.get(biased ? 2 : 1).shape().broadcastStrides(row));
    return kernel(
        "row layer normalisation",
        8,
        o -> {
          KernelArguments arguments =
              walk.addExtents(new KernelArguments().integer(row.elements()));
          walk.addStrides(walk.addStrides(arguments, 0), 1);
          arguments.number(operator.epsilon());
          arguments.address(o.in(0)).address(o.in(1)).address(biased ? o.in(2) : null);
          arguments.address(o.out());
          return Launches.kernel(
              toolbox.function(ROW, "layer_norm_" + CType.suffix(output.dataType())),
              LaunchDimensions.of(output.elements() / row.elements(), ROW_THREADS),
              arguments);
        });
  }

  private CudaKernel batchNormalization(BatchNormalization operator) {
    TensorType x = inputs.get(0);
    int images = x.shape().extent(0);
    int channels = x.shape().extent(1);
    int area = x.elements() == 0 ? 0 : x.elements() / images / channels;
    DataType type = x.dataType();
    if (toolbox.dnnTakes(type) && x.elements() > 0) {
      return kernel(
          "cudnn batch normalisation",
          4,
          o ->
              Launches.dnn(
                  Dnn.batchNormalization(
                      toolbox.context(),
                      type,
                      images,
                      channels,
                      area,
                      operator.epsilon(),
                      o.inputs().toArray(new DeviceAddress[0]),
                      o.out())));
    }
    return kernel(
        "batch normalisation",
        4,
        o -> {
          KernelArguments arguments =
              new KernelArguments()
                  .longInteger(x.elements())
                  .integer(channels)
                  .longInteger(area)
                  .number(operator.epsilon());
          o.inputs().forEach(arguments::address);
          return Launches.kernel(
              toolbox.function(ROW, "batch_norm_" + CType.suffix(type)),
              LaunchDimensions.forElements(x.elements()),
              arguments.address(o.out()));
        });
  }
}
