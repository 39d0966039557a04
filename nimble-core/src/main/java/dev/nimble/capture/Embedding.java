package dev.nimble.capture;

import dev.nimble.graph.Operand;
import dev.nimble.graph.TensorType;

/**
 * A row of a learned table for each index (I64 or I32): {@code [...]} to {@code [..., features]}.
 */
public final class Embedding extends Layer {
  private final Parameter weight;

  /** A table of {@code rows}, normal around 0. */
  public Embedding(int rows, int features) {
    weight = parameter("weight", TensorType.f32(rows, features), Initialiser.normal(1));
  }

  /** The table {@code [rows, features]}, which an output projection may share. */
  public Parameter weight() {
    return weight;
  }

  @Override
  protected Operand forward(Ops f, Operand indices) {
    return f.gather(weight, indices, 0);
  }
}
