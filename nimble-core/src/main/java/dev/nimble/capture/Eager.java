package dev.nimble.capture;

import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.Operand;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.op.OperatorExecutor;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A model that runs operator by operator, as its code calls them. Parameters are brought to the
 * device at their first use and stay; variables keep their contents from step to step. Not
 * thread-safe.
 */
public final class Eager implements AutoCloseable {
  private final Capture capture;
  private final Model model;
  private final EagerOps ops;
  private final OperatorExecutor executor;

  Eager(Capture capture, Model model, EagerOps ops, OperatorExecutor executor) {
    this.capture = capture;
    this.model = model;
    this.ops = ops;
    this.executor = executor;
  }

  /**
   * Runs one step; every input must be given.
   *
   * @return the outputs by name, in order; fresh tensors
   * @throws InvalidArgumentException if an input is missing, unknown, or of another type
   * @throws dev.nimble.error.InvalidModelException if operands do not fit; names the module's path,
   *     the operator and the types
   */
  public Map<String, Tensor> run(Map<String, Tensor> inputs) {
    List<Tensor> tensors = inOrder(inputs);
    ops.begin();
    try {
      List<Operand> given = new ArrayList<>();
      tensors.forEach(tensor -> given.add(ops.input(tensor)));
      List<Operand> results = model.run(ops, given);
      List<String> names = capture.outputNames(results.size());
      Map<String, Tensor> outputs = new LinkedHashMap<>();
      for (int i = 0; i < results.size(); i++) {
        outputs.put(names.get(i), ops.download(names.get(i), results.get(i)));
      }
      return outputs;
    } finally {
      ops.end();
    }
  }

  private List<Tensor> inOrder(Map<String, Tensor> inputs) {
    List<Tensor> tensors = new ArrayList<>();
    for (Map.Entry<String, TensorType> input : capture.inputs().entrySet()) {
      Tensor tensor = inputs.get(input.getKey());
      if (tensor == null || !tensor.type().equals(input.getValue())) {
        throw new InvalidArgumentException(
            "input '"
                + input.getKey()
                + "' must be "
                + input.getValue()
                + (tensor == null ? " and is missing" : ", not " + tensor.type()));
      }
      tensors.add(tensor);
    }
    for (String name : inputs.keySet()) {
      if (!capture.inputs().containsKey(name)) {
        throw new InvalidArgumentException(
            "there is no input '" + name + "'; there are " + capture.inputs().keySet());
      }
    }
    return tensors;
  }

  /** What a parameter holds now: for a variable, after the steps so far. */
  public Tensor contents(Parameter parameter) {
    return ops.download("contents", parameter);
  }

  /** Frees everything on the device. Idempotent. */
  @Override
  public void close() {
    executor.close();
  }
}
