package dev.nimble.capture;

import dev.nimble.graph.Operand;
import java.util.List;

/** Code that can be captured: a {@link Module}, or a lambda where there are no parameters. */
@FunctionalInterface
public interface Model {
  /** Computes the outputs from the inputs, in the order in which {@link Capture} names them. */
  List<Operand> run(Ops f, List<Operand> inputs);
}
