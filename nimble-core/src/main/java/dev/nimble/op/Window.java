package dev.nimble.op;

import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.Shape;

/**
 * How a window slides over the spatial axes of a tensor {@code [N, C, spatial...]}, shared by
 * convolutions and pools. Every list has one entry a spatial axis.
 *
 * @param strides steps between windows, at least 1
 * @param dilations steps between the elements of a window, at least 1
 * @param padsBefore padding before the first element
 * @param padsAfter padding after the last element
 */
public record Window(
    ImmutableIntArray strides,
    ImmutableIntArray dilations,
    ImmutableIntArray padsBefore,
    ImmutableIntArray padsAfter) {

  /** Checks lengths and signs. */
  public Window {
    int rank = strides.length();
    Checks.that(
        dilations.length() == rank && padsBefore.length() == rank && padsAfter.length() == rank,
        "strides, dilations and pads differ in length");
    for (int i = 0; i < rank; i++) {
      Checks.that(strides.get(i) > 0, "strides must be positive, not " + strides);
      Checks.that(dilations.get(i) > 0, "dilations must be positive, not " + dilations);
      Checks.that(
          padsBefore.get(i) >= 0 && padsAfter.get(i) >= 0,
          "pads must not be negative: " + padsBefore + ", " + padsAfter);
    }
  }

  /** Unit strides and dilations, no padding. */
  public static Window unit(int spatialRank) {
    ImmutableIntArray ones =
        ImmutableIntArray.copyOf(java.util.Collections.nCopies(spatialRank, 1));
    ImmutableIntArray zeros =
        ImmutableIntArray.copyOf(java.util.Collections.nCopies(spatialRank, 0));
    return new Window(ones, ones, zeros, zeros);
  }

  /** Equal strides and padding on each of two spatial axes. */
  public static Window square(int stride, int pad) {
    ImmutableIntArray pads = ImmutableIntArray.of(pad, pad);
    return new Window(ImmutableIntArray.of(stride, stride), ImmutableIntArray.of(1, 1), pads, pads);
  }

  /** The number of spatial axes. */
  public int rank() {
    return strides.length();
  }

  /** Windows along spatial axis {@code i}, of {@code kernel} elements over {@code extent}. */
  int count(int i, int extent, int kernel, boolean ceil) {
    long reach = (long) dilations.get(i) * (kernel - 1) + 1;
    long free = (long) extent + padsBefore.get(i) + padsAfter.get(i) - reach;
    if (kernel < 1 || free < 0) {
      throw new InvalidModelException(
          "a window of "
              + reach
              + " does not fit into "
              + extent
              + " elements padded by "
              + padsBefore.get(i)
              + " and "
              + padsAfter.get(i));
    }
    long count = free / strides.get(i) + 1;
    if (ceil
        && free % strides.get(i) != 0
        && count * strides.get(i) < (long) extent + padsBefore.get(i)) {
      count++; // a partial window counts only if it starts within the data or the padding before it
    }
    return (int) count;
  }

  /**
   * A tensor {@code [N, C, spatial...]} of up to three spatial axes seen as {@code [N, C, D, H,
   * W]}: missing axes come first and have extent 1.
   */
  static int[] spatial3(Shape shape) {
    int rank = shape.rank() - 2;
    int[] extents = {1, 1, 1};
    for (int i = 0; i < rank; i++) {
      extents[3 - rank + i] = shape.extent(2 + i);
    }
    return extents;
  }

  /** A list of this window's rank, padded at the front to three entries. */
  static int[] three(ImmutableIntArray list, int filler) {
    int[] three = {filler, filler, filler};
    for (int i = 0; i < list.length(); i++) {
      three[3 - list.length() + i] = list.get(i);
    }
    return three;
  }

  @Override
  public String toString() {
    return "strides=" + strides + ", dilations=" + dilations + ", pads=" + padsBefore + padsAfter;
  }
}
