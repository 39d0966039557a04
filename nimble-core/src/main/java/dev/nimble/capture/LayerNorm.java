package dev.nimble.capture;

import dev.nimble.graph.Operand;
import dev.nimble.graph.TensorType;

/** Layer normalisation over the last axis, with learned scale and bias. */
public final class LayerNorm extends Layer {
  private final float epsilon;
  private final Parameter scale;
  private final Parameter bias;

  /** With epsilon 1e-5. */
  public LayerNorm(int features) {
    this(features, 1e-5f);
  }

  /** Over {@code features} elements; epsilon is added to the variance. */
  public LayerNorm(int features, float epsilon) {
    this.epsilon = epsilon;
    scale = parameter("scale", TensorType.f32(features), Initialiser.ones());
    bias = parameter("bias", TensorType.f32(features), Initialiser.zeros());
  }

  @Override
  protected Operand forward(Ops f, Operand x) {
    return f.layerNorm(x, scale, bias, -1, epsilon);
  }
}
