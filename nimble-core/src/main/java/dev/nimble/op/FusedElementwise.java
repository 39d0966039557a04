package dev.nimble.op;

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Several elementwise operators as one: a small DAG whose last step is the only output. Every step
 * rounds as it would alone, so the result equals that of the separate operators bit for bit.
 *
 * @param steps in order; operands of a step are inputs or earlier steps
 * @param inputs how many operands the fused operator takes
 */
public record FusedElementwise(ImmutableList<Step> steps, int inputs) implements Operator {
  /**
   * One operator of the fused DAG.
   *
   * @param operator what is computed
   * @param operands for each operand k: if k is less than {@code inputs}, that input; else the
   *     result of step k - {@code inputs}
   */
  public record Step(Elementwise operator, ImmutableIntArray operands) {
    @Override
    public String toString() {
      return operator + operands.toString();
    }
  }

  /** Checks that operands refer to inputs and earlier steps. */
  public FusedElementwise {
    Checks.that(!steps.isEmpty(), "a fused operator needs a step");
    for (int i = 0; i < steps.size(); i++) {
      for (int operand : steps.get(i).operands().asList()) {
        Checks.that(
            operand >= 0 && operand < inputs + i, "step " + i + " refers to operand " + operand);
      }
    }
  }

  @Override
  public String name() {
    return "FusedElementwise";
  }

  @Override
  public List<TensorType> infer(List<TensorType> types) {
    List<TensorType> all = operandTypes(types);
    return List.of(all.get(all.size() - 1));
  }

  /** The types of the inputs followed by those of each step's result. */
  public List<TensorType> operandTypes(List<TensorType> types) {
    Checks.count(types, inputs, inputs);
    List<TensorType> all = new ArrayList<>(types);
    for (Step step : steps) {
      all.addAll(step.operator().infer(step.operands().asList().stream().map(all::get).toList()));
    }
    return all;
  }

  @Override
  public Runnable bind(List<Tensor> given, List<Tensor> outputs) {
    List<TensorType> types = operandTypes(given.stream().map(Tensor::type).toList());
    List<Tensor> tensors = new ArrayList<>(given);
    Runnable[] runs = new Runnable[steps.size()];
    for (int i = 0; i < runs.length; i++) {
      Step step = steps.get(i);
      Tensor result = i == runs.length - 1 ? outputs.get(0) : Tensor.zeros(types.get(inputs + i));
      List<Tensor> operands = step.operands().asList().stream().map(tensors::get).toList();
      runs[i] = step.operator().bind(operands, List.of(result));
      tensors.add(result);
    }
    return () -> {
      for (Runnable run : runs) {
        run.run();
      }
    };
  }

  @Override
  public String toString() {
    return steps.stream()
        .map(step -> step.operator().toString())
        .collect(Collectors.joining("+", "Fused(", ")"));
  }
}
