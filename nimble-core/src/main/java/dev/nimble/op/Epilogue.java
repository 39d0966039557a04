package dev.nimble.op;

import dev.nimble.graph.DataType;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What follows a sum of products: a broadcast bias, then an activation. Half-precision results stay
 * in single precision until both are done, and are rounded once.
 */
final class Epilogue implements Runnable {
  private final Tensor sums;
  private final Runnable addBias;
  private final Runnable activate;
  private final Runnable store;

  Epilogue(@Nullable Tensor bias, Tensor out, @Nullable Unary activation) {
    boolean alone = bias == null && activation == null;
    this.sums =
        alone || !half(out.type().dataType())
            ? out
            : Tensor.zeros(new TensorType(DataType.F32, out.type().shape()));
    this.addBias =
        bias == null
            ? () -> {}
            : new Binary(BinaryFunction.ADD).bind(List.of(sums, bias), List.of(sums));
    this.activate = activation == null ? () -> {} : activation.bind(List.of(sums), List.of(sums));
    this.store =
        sums == out ? () -> {} : new Cast(out.type().dataType()).bind(List.of(sums), List.of(out));
  }

  private static boolean half(DataType type) {
    return type == DataType.F16 || type == DataType.BF16;
  }

  /** Where the sums are to be put before {@link #run}. */
  Tensor sums() {
    return sums;
  }

  /** A bias of one element a channel, as a tensor that broadcasts to {@code [N, C, spatial...]}. */
  static @Nullable Tensor perChannel(List<Tensor> inputs, int position, int spatialRank) {
    if (inputs.size() <= position) {
      return null;
    }
    int[] extents = new int[spatialRank + 1];
    java.util.Arrays.fill(extents, 1);
    extents[0] = inputs.get(position).type().elements();
    return inputs.get(position).reshaped(Shape.of(extents));
  }

  @Override
  public void run() {
    addBias.run();
    activate.run();
    store.run();
  }
}
