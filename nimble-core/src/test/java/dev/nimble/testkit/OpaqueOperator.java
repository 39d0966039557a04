package dev.nimble.testkit;

import com.google.common.collect.ImmutableList;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * An operator for planning tests: any operands, outputs of given sizes, no kernel.
 *
 * @param name its name
 * @param outputBytes the size of each output
 * @param mutatedInputs the operands that it updates
 */
public record OpaqueOperator(
    String name, ImmutableList<Integer> outputBytes, ImmutableList<Integer> mutatedInputs)
    implements Operator {

  /** An operator with outputs of these sizes. */
  public static OpaqueOperator of(String name, Integer... outputBytes) {
    return new OpaqueOperator(name, ImmutableList.copyOf(outputBytes), ImmutableList.of());
  }

  /** This operator, updating operand 0. */
  public OpaqueOperator updating() {
    return new OpaqueOperator(name, outputBytes, ImmutableList.of(0));
  }

  /** A type of {@code bytes} bytes. */
  public static TensorType type(int bytes) {
    return TensorType.of(DataType.U8, bytes);
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    return outputBytes.stream().map(OpaqueOperator::type).toList();
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    throw new UnsupportedOperationException(name + " is only for planning");
  }
}
