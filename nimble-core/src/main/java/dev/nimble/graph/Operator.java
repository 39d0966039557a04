package dev.nimble.graph;

import java.util.List;

/**
 * A kind of computation with its attributes: immutable, compared by value (so two nodes with equal
 * operators and equal inputs compute the same). One record in {@code dev.nimble.op} per operator.
 *
 * <p>Operands that decide an output's shape are attributes, never inputs: shapes are static.
 */
public interface Operator {
  /** The standard name, ONNX's where ONNX has the operator. */
  String name();

  /**
   * The shape rule: the types of the outputs for inputs of these types.
   *
   * @throws dev.nimble.error.InvalidModelException if there is none; says why, with no place: the
   *     caller adds the node's name, operator and operand types
   */
  List<TensorType> infer(List<TensorType> inputs);

  /**
   * The reference kernel, bound to its operands: each {@link Runnable#run()} reads {@code inputs}
   * and writes all of {@code outputs}. It defines the operator's meaning and is the oracle of every
   * device; it favours plainness over speed. Types have passed {@link #infer}. Buffers do not
   * overlap. Running allocates nothing, and the kernel keeps no state between runs.
   */
  Runnable bind(List<Tensor> inputs, List<Tensor> outputs);

  /**
   * The input positions that are variables updated in place, in rising order; empty for a pure
   * operator. Such an operator reads the old contents and leaves the new.
   */
  default List<Integer> mutatedInputs() {
    return List.of();
  }
}
