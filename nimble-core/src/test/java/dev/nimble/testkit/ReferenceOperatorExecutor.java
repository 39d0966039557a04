package dev.nimble.testkit;

import dev.nimble.graph.Operand;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.op.OperatorExecutor;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Eager execution by the reference kernels; refuses what is released, and counts what is not. */
public final class ReferenceOperatorExecutor implements OperatorExecutor {
  private final Set<Operand> live = new HashSet<>();
  private boolean closed;

  private static final class Held implements Operand {
    private final Tensor tensor;

    Held(Tensor tensor) {
      this.tensor = tensor;
    }

    @Override
    public TensorType type() {
      return tensor.type();
    }
  }

  @Override
  public Operand upload(Tensor contents) {
    return hold(contents.copy());
  }

  @Override
  public Operand variable(Tensor initial) {
    return hold(initial.copy());
  }

  private Operand hold(Tensor tensor) {
    if (closed) {
      throw new IllegalStateException("closed");
    }
    Held held = new Held(tensor);
    live.add(held);
    return held;
  }

  private Tensor tensor(Operand operand) {
    if (!live.contains(operand)) {
      throw new IllegalStateException("an operand was released, or is another executor's");
    }
    return ((Held) operand).tensor;
  }

  @Override
  public List<Operand> execute(Operator operator, List<Operand> operands) {
    List<Tensor> inputs = operands.stream().map(this::tensor).toList();
    List<Tensor> outputs = new ArrayList<>();
    for (TensorType type : operator.infer(inputs.stream().map(Tensor::type).toList())) {
      outputs.add(Tensor.zeros(type));
    }
    operator.bind(inputs, outputs).run();
    return outputs.stream().map(this::hold).toList();
  }

  @Override
  public Tensor download(Operand operand) {
    return tensor(operand).copy();
  }

  @Override
  public void release(Operand operand) {
    live.remove(operand);
  }

  /** How many operands have been made and not released. */
  public int live() {
    return live.size();
  }

  @Override
  public void close() {
    closed = true;
    live.clear();
  }
}
