package dev.nimble.graph;

/**
 * What an operator is applied to: a {@link Value} while a graph is built, a tensor on a device
 * while model code runs eagerly. Model code sees only this.
 */
public interface Operand {
  /** Element type and static shape. */
  TensorType type();
}
