package dev.nimble.op;

import dev.nimble.graph.Operator;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * Updates a variable in place; operands are the variable and a value of the same type. No output:
 * readers name the variable, and program order decides what they see.
 *
 * @param accumulate whether the value is added to the contents (AssignAdd) or replaces them
 *     (Assign)
 */
public record Assign(boolean accumulate) implements Operator {
  @Override
  public String name() {
    return accumulate ? "AssignAdd" : "Assign";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 2, 2);
    Checks.that(
        inputs.get(0).equals(inputs.get(1)),
        "the variable and its value differ in type: " + inputs.get(0) + " and " + inputs.get(1));
    if (accumulate) {
      Checks.numeric(inputs.get(0));
    }
    return List.of();
  }

  @Override
  public List<Integer> mutatedInputs() {
    return List.of(0);
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor variable = inputs.get(0);
    Tensor value = inputs.get(1);
    if (accumulate) {
      return new Binary(BinaryFunction.ADD).bind(List.of(variable, value), List.of(variable));
    }
    return () -> variable.copyFrom(value);
  }

  @Override
  public String toString() {
    return name();
  }
}
