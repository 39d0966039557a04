package dev.nimble.graph;

/**
 * What is known of a tensor before it exists: element type and shape.
 *
 * @param dataType the element type
 * @param shape the static shape
 */
public record TensorType(DataType dataType, Shape shape) {
  /** Shorthand for {@code new TensorType(dataType, Shape.of(extents))}. */
  public static TensorType of(DataType dataType, int... extents) {
    return new TensorType(dataType, Shape.of(extents));
  }

  /** Shorthand for a single-precision type. */
  public static TensorType f32(int... extents) {
    return of(DataType.F32, extents);
  }

  /** Bytes of a dense tensor of this type. */
  public long sizeBytes() {
    return (long) shape.elements() * dataType.sizeBytes();
  }

  /** The number of elements. */
  public int elements() {
    return shape.elements();
  }

  /** For example {@code f32[1,3,224,224]}. */
  @Override
  public String toString() {
    return dataType + shape.toString();
  }
}
