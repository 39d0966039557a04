package dev.nimble.capture;

import dev.nimble.graph.Operand;
import java.util.ArrayList;
import java.util.List;

/** Layers one after the other, named {@code 0, 1, ...}. */
public final class Sequential extends Layer {
  private final List<Layer> layers = new ArrayList<>();

  /** These layers, in order; none leaves the operand as it is. */
  public Sequential(Layer... layers) {
    for (Layer layer : layers) {
      then(layer);
    }
  }

  /** Adds a layer at the end. */
  public Sequential then(Layer layer) {
    layers.add(child(Integer.toString(layers.size()), layer));
    return this;
  }

  @Override
  protected Operand forward(Ops f, Operand x) {
    Operand y = x;
    for (Layer layer : layers) {
      y = layer.apply(f, y);
    }
    return y;
  }
}
