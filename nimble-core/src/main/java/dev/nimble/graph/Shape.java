package dev.nimble.graph;

import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.error.InvalidModelException;
import java.util.Arrays;
import java.util.stream.Collectors;

/**
 * A static shape: the extents of a tensor, outermost first; row-major. Rank 0 is a scalar; an
 * extent may be 0. The number of elements fits an {@code int} (an element type's bytes may still
 * exceed 2 GiB; see {@link TensorType#sizeBytes()}).
 */
public final class Shape {
  private static final Shape SCALAR = new Shape(ImmutableIntArray.of(), 1);

  private final ImmutableIntArray extents;
  private final int elements;

  private Shape(ImmutableIntArray extents, int elements) {
    this.extents = extents;
    this.elements = elements;
  }

  /**
   * Returns the shape with these extents.
   *
   * @throws InvalidModelException if an extent is negative or there are more than 2^31 - 1 elements
   */
  public static Shape of(int... extents) {
    long elements = 1;
    boolean empty = false;
    for (int extent : extents) {
      if (extent < 0) {
        throw new InvalidModelException("negative extent in shape " + Arrays.toString(extents));
      }
      empty |= extent == 0;
    }
    for (int extent : extents) {
      elements = empty ? 0 : elements * extent;
      if (elements > Integer.MAX_VALUE) {
        throw new InvalidModelException(
            "shape " + Arrays.toString(extents) + " has more than 2^31 - 1 elements");
      }
    }
    return extents.length == 0
        ? SCALAR
        : new Shape(ImmutableIntArray.copyOf(extents), (int) elements);
  }

  /** As {@link #of(int...)}, for extents as ONNX writes them. */
  public static Shape ofLongs(long... extents) {
    int[] narrow = new int[extents.length];
    for (int i = 0; i < extents.length; i++) {
      if (extents[i] < 0 || extents[i] > Integer.MAX_VALUE) {
        throw new InvalidModelException(
            "extent outside 0 to 2^31 - 1 in shape " + Arrays.toString(extents));
      }
      narrow[i] = (int) extents[i];
    }
    return of(narrow);
  }

  /** The shape of rank 0. */
  public static Shape scalar() {
    return SCALAR;
  }

  /** The number of axes. */
  public int rank() {
    return extents.length();
  }

  /** The extent of {@code axis}, in {@code [-rank, rank)}; a negative axis counts from the end. */
  public int extent(int axis) {
    return extents.get(axis < 0 ? axis + rank() : axis);
  }

  /** The number of elements; 1 for a scalar. */
  public int elements() {
    return elements;
  }

  /** A fresh array of the extents. */
  public int[] toArray() {
    return extents.toArray();
  }

  /** Elements between neighbours along each axis, row-major. */
  public int[] strides() {
    int[] strides = new int[rank()];
    int stride = 1;
    for (int axis = rank() - 1; axis >= 0; axis--) {
      strides[axis] = stride;
      stride *= Math.max(1, extents.get(axis));
    }
    return strides;
  }

  /**
   * Elements between neighbours of a tensor of this shape along each axis of {@code result}, to
   * which it broadcasts: 0 where it is repeated.
   */
  public int[] broadcastStrides(Shape result) {
    int[] own = strides();
    int shift = result.rank() - rank();
    int[] strides = new int[result.rank()];
    for (int axis = 0; axis < rank(); axis++) {
      strides[axis + shift] = extent(axis) == 1 ? 0 : own[axis];
    }
    return strides;
  }

  /**
   * The shape to which both broadcast (ONNX multidirectional broadcasting: aligned at the last
   * axis, equal extents or 1).
   *
   * @throws InvalidModelException if they do not
   */
  public static Shape broadcast(Shape a, Shape b) {
    int rank = Math.max(a.rank(), b.rank());
    int[] extents = new int[rank];
    for (int axis = 1; axis <= rank; axis++) {
      int p = axis <= a.rank() ? a.extent(-axis) : 1;
      int q = axis <= b.rank() ? b.extent(-axis) : 1;
      if (p != q && p != 1 && q != 1) {
        throw new InvalidModelException("shapes " + a + " and " + b + " do not broadcast");
      }
      extents[rank - axis] = p == 1 ? q : p;
    }
    return of(extents);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Shape && extents.equals(((Shape) other).extents);
  }

  @Override
  public int hashCode() {
    return extents.hashCode();
  }

  /** The extents in brackets: {@code [1,3,224,224]}. */
  @Override
  public String toString() {
    return extents.stream().mapToObj(Integer::toString).collect(Collectors.joining(",", "[", "]"));
  }
}
