package dev.nimble.capture;

import dev.nimble.graph.Operand;
import dev.nimble.graph.TensorType;
import org.jspecify.annotations.Nullable;

/** x W + b over the last axis: {@code [..., inputs]} to {@code [..., outputs]}. */
public final class Linear extends Layer {
  private final Parameter weight;
  private final @Nullable Parameter bias;

  /** With bias. */
  public Linear(int inputs, int outputs) {
    this(inputs, outputs, true);
  }

  /** With or without bias; weights are uniform within 1 / sqrt(inputs). */
  public Linear(int inputs, int outputs, boolean biased) {
    Initialiser uniform = Initialiser.uniform(1 / Math.sqrt(inputs));
    weight = parameter("weight", TensorType.f32(inputs, outputs), uniform);
    bias = biased ? parameter("bias", TensorType.f32(outputs), uniform) : null;
  }

  /** The matrix {@code [inputs, outputs]}. */
  public Parameter weight() {
    return weight;
  }

  @Override
  protected Operand forward(Ops f, Operand x) {
    Operand product = f.matmul(x, weight);
    return bias == null ? product : f.add(product, bias);
  }
}
