package dev.nimble.onnx;

import com.google.common.collect.ImmutableList;
import dev.nimble.graph.DataType;

/**
 * An input that a model declares.
 *
 * @param name its name
 * @param dataType its element type
 * @param dimensions its axes, outermost first
 */
public record ModelInput(String name, DataType dataType, ImmutableList<Dimension> dimensions) {
  /**
   * One axis.
   *
   * @param extent the fixed extent, or -1 if it must be bound
   * @param symbol the model's name for it; empty if it has none
   */
  public record Dimension(int extent, String symbol) {
    /** Whether the model fixes the extent. */
    public boolean isFixed() {
      return extent >= 0;
    }

    @Override
    public String toString() {
      return isFixed() ? Integer.toString(extent) : symbol.isEmpty() ? "?" : symbol;
    }
  }

  @Override
  public String toString() {
    return name + ": " + dataType + dimensions;
  }
}
