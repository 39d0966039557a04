package dev.nimble.capture;

import dev.nimble.graph.Tensor;
import java.util.Random;
import java.util.function.ToDoubleFunction;

/** Fills a new parameter. */
@FunctionalInterface
public interface Initialiser {
  /** Fills {@code tensor}, which holds zeros, by draws from {@code random} alone. */
  void fill(Tensor tensor, Random random);

  /** Zeros. */
  static Initialiser zeros() {
    return (tensor, random) -> {};
  }

  /** Ones. */
  static Initialiser ones() {
    return each(random -> 1);
  }

  /** Uniform in [-bound, bound). */
  static Initialiser uniform(double bound) {
    return each(random -> bound * (2 * random.nextDouble() - 1));
  }

  /** Normal around 0. */
  static Initialiser normal(double standardDeviation) {
    return each(random -> standardDeviation * random.nextGaussian());
  }

  /** A copy of {@code contents}, whose type must be the parameter's. */
  static Initialiser copyOf(Tensor contents) {
    return (tensor, random) -> tensor.copyFrom(contents);
  }

  private static Initialiser each(ToDoubleFunction<Random> draw) {
    return (tensor, random) -> {
      for (int i = 0; i < tensor.type().elements(); i++) {
        tensor.setDouble(i, draw.applyAsDouble(random));
      }
    };
  }
}
