package dev.nimble.benchmarks.baseline;

import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import java.nio.FloatBuffer;

/**
 * The arithmetic of {@link dev.nimble.benchmarks.models.TinyChain} in a plain loop over the same
 * kind of memory: no operators, no dispatch. The floor for every way of running the chain.
 */
public final class BareChain {
  private static final int FLOATS = 16;

  private final int operators;
  private final FloatBuffer[] values = new FloatBuffer[2];
  private final FloatBuffer constant = Tensor.of(Shape.of(FLOATS), new float[FLOATS]).floats();

  /** A chain of {@code operators}. */
  public BareChain(int operators) {
    this.operators = operators;
    for (int i = 0; i < values.length; i++) {
      values[i] = Tensor.of(Shape.of(FLOATS), new float[FLOATS]).floats();
    }
  }

  /** One step. */
  public void run() {
    for (int i = 0; i < operators; i++) {
      FloatBuffer from = values[i & 1];
      FloatBuffer to = values[1 - (i & 1)];
      if (i % 2 == 0) {
        add(from, constant, to);
      } else {
        relu(from, to);
      }
    }
  }

  private static void add(FloatBuffer x, FloatBuffer y, FloatBuffer z) {
    for (int i = 0; i < FLOATS; i++) {
      z.put(i, x.get(i) + y.get(i));
    }
  }

  private static void relu(FloatBuffer x, FloatBuffer z) {
    for (int i = 0; i < FLOATS; i++) {
      float value = x.get(i);
      z.put(i, value <= 0f ? 0f : value);
    }
  }
}
