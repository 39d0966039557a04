package dev.nimble.capture;

import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.Operand;
import dev.nimble.graph.Shape;
import dev.nimble.graph.TensorType;
import java.util.stream.IntStream;

/**
 * Batch normalisation of {@code [N, C, ...]} by channel. In inference it applies the running
 * statistics; in training it normalises by those of the batch, and moves the running ones toward
 * them (the running variance by the unbiased estimate).
 */
public final class BatchNorm extends Layer {
  private final float epsilon;
  private final double momentum;
  private final Parameter scale;
  private final Parameter bias;
  private final Parameter mean;
  private final Parameter variance;

  /** With epsilon 1e-5 and momentum 0.1. */
  public BatchNorm(int channels) {
    this(channels, 1e-5f, 0.1);
  }

  /**
   * A new normalisation.
   *
   * @param channels C
   * @param epsilon added to the variance
   * @param momentum the share of the batch in the running statistics
   */
  public BatchNorm(int channels, float epsilon, double momentum) {
    this.epsilon = epsilon;
    this.momentum = momentum;
    TensorType type = TensorType.f32(channels);
    scale = parameter("scale", type, Initialiser.ones());
    bias = parameter("bias", type, Initialiser.zeros());
    mean = buffer("mean", type, Initialiser.zeros());
    variance = buffer("variance", type, Initialiser.ones());
  }

  @Override
  protected Operand forward(Ops f, Operand x) {
    if (!f.training()) {
      return f.batchNorm(x, scale, bias, mean, variance, epsilon);
    }
    Shape shape = x.type().shape();
    if (shape.rank() < 2) {
      throw new InvalidModelException("needs an operand [N, C, ...], not " + x.type());
    }
    int count = shape.extent(1) == 0 ? 0 : shape.elements() / shape.extent(1);
    if (count < 2) {
      throw new InvalidModelException(
          "training needs at least 2 elements a channel, not " + count + " as in " + x.type());
    }
    int[] axes = IntStream.range(0, shape.rank()).filter(axis -> axis != 1).toArray();
    int[] perChannel = new int[shape.rank() - 1];
    java.util.Arrays.fill(perChannel, 1);
    perChannel[0] = shape.extent(1);
    Operand batchMean = f.reduceMean(x, true, axes);
    Operand centred = f.sub(x, batchMean);
    Operand batchVariance = f.reduceMean(f.mul(centred, centred), true, axes);
    Operand inverse = f.reciprocal(f.sqrt(f.add(batchVariance, epsilon)));
    Operand factor = f.mul(inverse, f.reshape(scale, perChannel));
    Operand result = f.add(f.mul(centred, factor), f.reshape(bias, perChannel));
    move(f, mean, f.reshape(batchMean, -1));
    move(f, variance, f.mul(f.reshape(batchVariance, -1), count / (count - 1.0)));
    return result;
  }

  private void move(Ops f, Parameter running, Operand batch) {
    f.assign(running, f.add(f.mul(running, 1 - momentum), f.mul(batch, momentum)));
  }
}
