package dev.nimble.op;

import dev.nimble.graph.Operand;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Tensor;
import java.util.List;

/**
 * Runs operators one at a time, as soon as they are called: eager execution. Each call infers
 * types, selects a kernel, allocates the outputs and launches, as deep-learning frameworks do at
 * every step; it is the baseline that a replay is compared with. Operands belong to the executor
 * that made them. Not thread-safe.
 */
public interface OperatorExecutor extends AutoCloseable {
  /**
   * Brings a host tensor to the device; later changes of {@code contents} may or may not be seen.
   */
  Operand upload(Tensor contents);

  /**
   * A device-resident variable with a copy of {@code initial}, which operators may update in place.
   */
  Operand variable(Tensor initial);

  /**
   * Computes {@code operator} of {@code operands} and returns its outputs.
   *
   * @throws dev.nimble.error.InvalidModelException if the operands do not fit; names operator and
   *     types
   */
  List<Operand> execute(Operator operator, List<Operand> operands);

  /** Copies an operand to the host, after all work that it depends on. */
  Tensor download(Operand operand);

  /**
   * Says that {@code operand} is not used again, so that its memory may serve another. Idempotent.
   */
  void release(Operand operand);

  /** Frees every operand. Idempotent. */
  @Override
  void close();
}
