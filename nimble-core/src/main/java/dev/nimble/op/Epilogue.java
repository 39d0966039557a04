package dev.nimble.op;

import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What follows a sum of products in place: a broadcast bias, then an activation. */
final class Epilogue implements Runnable {
  private final Runnable addBias;
  private final Runnable activate;

  Epilogue(@Nullable Tensor bias, Tensor out, @Nullable Unary activation) {
    this.addBias =
        bias == null
            ? () -> {}
            : new Binary(BinaryFunction.ADD).bind(List.of(out, bias), List.of(out));
    this.activate = activation == null ? () -> {} : activation.bind(List.of(out), List.of(out));
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
  }
}
