package dev.nimble.capture;

import dev.nimble.error.InvalidArgumentException;
import dev.nimble.error.InvalidModelException;
import dev.nimble.error.Location;
import dev.nimble.graph.Operand;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.op.OperatorExecutor;
import java.util.ArrayList;
import java.util.List;

/** Computes operators at once. Parameters stay on the device; all else is released step by step. */
final class EagerOps extends Ops {
  private final OperatorExecutor executor;
  private final List<Operand> temporaries = new ArrayList<>();
  private int step;

  EagerOps(OperatorExecutor executor, Paths paths, boolean training) {
    super(paths, training);
    this.executor = executor;
  }

  /** A tensor on the device; {@code step} is when it was made, or 0 if it stays. */
  private record OnDevice(Operand tensor, int step, boolean variable) implements Operand {
    @Override
    public TensorType type() {
      return tensor.type();
    }
  }

  /** Starts a step: what the one before has made is gone. */
  void begin() {
    step++;
  }

  /** Ends a step, also one that failed. */
  void end() {
    temporaries.forEach(executor::release);
    temporaries.clear();
  }

  Operand input(Tensor contents) {
    return temporary(executor.upload(contents));
  }

  private Operand temporary(Operand made) {
    temporaries.add(made);
    return new OnDevice(made, step, false);
  }

  @Override
  List<Operand> emit(String name, Operator operator, List<Operand> operands) {
    Location location = Location.ofNode(name, operator.name(), typesOf(operands));
    List<Operand> tensors = new ArrayList<>(operands.size());
    for (Operand operand : operands) {
      tensors.add(onDevice(operand, location));
    }
    List<Operand> results = new ArrayList<>();
    try {
      executor.execute(operator, tensors).forEach(made -> results.add(temporary(made)));
    } catch (InvalidModelException e) {
      throw new InvalidModelException(e.what(), location, e);
    } catch (InvalidArgumentException e) {
      throw new InvalidArgumentException(e.what(), location, e);
    }
    return results;
  }

  private Operand onDevice(Operand operand, Location location) {
    if (!(operand instanceof OnDevice)) {
      throw new InvalidModelException(
          "an operand was kept from tracing or another model: " + operand.type(), location);
    }
    OnDevice own = (OnDevice) operand;
    if (own.step != 0 && own.step != step) {
      throw new InvalidModelException(
          "an operand was kept from an earlier step: " + operand.type(), location);
    }
    return own.tensor;
  }

  @Override
  Operand constant(String name, Tensor contents, boolean kept) {
    Operand made = executor.upload(contents);
    return kept ? new OnDevice(made, 0, false) : temporary(made);
  }

  @Override
  Operand variable(String name, Tensor initial) {
    return new OnDevice(executor.variable(initial), 0, true);
  }

  @Override
  boolean isVariable(Operand operand) {
    return operand instanceof OnDevice && ((OnDevice) operand).variable;
  }

  Tensor download(String name, Operand operand) {
    return executor.download(onDevice(resolved(operand), Location.ofNode(name, "output")));
  }
}
