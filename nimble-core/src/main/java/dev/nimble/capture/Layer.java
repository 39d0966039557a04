package dev.nimble.capture;

import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.Operand;
import java.util.List;
import java.util.function.BiFunction;

/** A module of one operand and one result. */
public abstract class Layer extends Module {
  /** Computes the result. */
  protected abstract Operand forward(Ops f, Operand x);

  /** A layer without parameters: {@code Layer.of(Ops::relu)}. */
  public static Layer of(BiFunction<Ops, Operand, Operand> function) {
    return new Layer() {
      @Override
      protected Operand forward(Ops f, Operand x) {
        return function.apply(f, x);
      }
    };
  }

  @Override
  protected final List<Operand> forward(Ops f, List<Operand> inputs) {
    if (inputs.size() != 1) {
      throw new InvalidModelException("a layer takes 1 operand, not " + inputs.size());
    }
    return List.of(forward(f, inputs.get(0)));
  }
}
