package dev.nimble.graph;

import dev.nimble.error.InvalidArgumentException;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.LongBuffer;
import java.util.Arrays;

/**
 * A dense, row-major tensor in host memory: a direct buffer in the machine's byte order, of at most
 * 2 GiB.
 *
 * <p>The memory may be shared: a tensor made by {@link #wrap} shows the buffer's own bytes, and
 * {@link #reshaped} shows the same bytes under another shape. Contents are mutable and not
 * synchronised.
 */
public final class Tensor {
  private final TensorType type;
  private final ByteBuffer bytes;
  private final Buffer typed;

  private Tensor(TensorType type, ByteBuffer bytes) {
    this.type = type;
    this.bytes = bytes;
    switch (type.dataType()) {
      case F32:
        typed = bytes.asFloatBuffer();
        break;
      case F64:
        typed = bytes.asDoubleBuffer();
        break;
      case I64:
      case U64:
        typed = bytes.asLongBuffer();
        break;
      case I32:
      case U32:
        typed = bytes.asIntBuffer();
        break;
      case F16:
      case BF16:
      case I16:
      case U16:
        typed = bytes.asShortBuffer();
        break;
      default:
        typed = bytes;
        break;
    }
  }

  /** A new tensor of zeros. */
  public static Tensor zeros(TensorType type) {
    return new Tensor(
        type, ByteBuffer.allocateDirect(intBytes(type)).order(ByteOrder.nativeOrder()));
  }

  /**
   * Shows the first {@code type.sizeBytes()} bytes of {@code memory}, from its position, without
   * copying.
   *
   * @throws InvalidArgumentException if {@code memory} is not direct or is too small
   */
  public static Tensor wrap(TensorType type, ByteBuffer memory) {
    int size = intBytes(type);
    if (!memory.isDirect() || memory.remaining() < size) {
      throw new InvalidArgumentException(
          "a tensor of "
              + type
              + " needs a direct buffer of "
              + size
              + " bytes, not "
              + (memory.isDirect() ? "a direct" : "a heap")
              + " one of "
              + memory.remaining());
    }
    ByteBuffer window = memory.slice();
    window.limit(size);
    return new Tensor(type, window.slice().order(ByteOrder.nativeOrder()));
  }

  /** A single-precision tensor with a copy of {@code elements}. */
  public static Tensor of(Shape shape, float... elements) {
    Tensor tensor = zeros(new TensorType(DataType.F32, shape));
    checkLength(tensor, elements.length);
    tensor.floats().put(0, elements);
    return tensor;
  }

  /** A 64-bit integer tensor with a copy of {@code elements}. */
  public static Tensor ofLongs(Shape shape, long... elements) {
    Tensor tensor = zeros(new TensorType(DataType.I64, shape));
    checkLength(tensor, elements.length);
    tensor.longs().put(0, elements);
    return tensor;
  }

  private static void checkLength(Tensor tensor, int length) {
    if (tensor.type.elements() != length) {
      throw new InvalidArgumentException(
          "a tensor of "
              + tensor.type
              + " has "
              + tensor.type.elements()
              + " elements, not "
              + length);
    }
  }

  private static int intBytes(TensorType type) {
    long size = type.sizeBytes();
    if (size > Integer.MAX_VALUE) {
      throw new InvalidArgumentException("a host tensor of " + type + " exceeds 2 GiB");
    }
    return (int) size;
  }

  /** Element type and shape. */
  public TensorType type() {
    return type;
  }

  /** The memory itself, position 0, in native order. Do not move its position or limit. */
  public ByteBuffer bytes() {
    return bytes;
  }

  /** The memory as floats; only for F32. */
  public FloatBuffer floats() {
    return (FloatBuffer) typed;
  }

  /** The memory as longs; only for I64 and U64. */
  public LongBuffer longs() {
    return (LongBuffer) typed;
  }

  /** The memory as doubles; only for F64. */
  public java.nio.DoubleBuffer doubles() {
    return (java.nio.DoubleBuffer) typed;
  }

  /** The memory as ints; only for I32 and U32. */
  public java.nio.IntBuffer ints() {
    return (java.nio.IntBuffer) typed;
  }

  /** The bit patterns; only for F16, BF16, I16 and U16. */
  public java.nio.ShortBuffer halves() {
    return (java.nio.ShortBuffer) typed;
  }

  /** Element {@code index}, widened to double; for any type. */
  public double getDouble(int index) {
    switch (type.dataType()) {
      case F32:
        return floats().get(index);
      case F64:
        return doubles().get(index);
      case F16:
        return HalfFloat.toFloat(halves().get(index));
      case BF16:
        return BrainFloat.toFloat(halves().get(index));
      case U64:
        long bits = longs().get(index);
        // half of it, the lost bit kept for rounding, is a positive long
        return bits >= 0 ? bits : 2.0 * (bits >>> 1 | bits & 1);
      default:
        return getLong(index);
    }
  }

  /** Element {@code index} as a long; floating elements are truncated toward zero. */
  public long getLong(int index) {
    switch (type.dataType()) {
      case I64:
      case U64:
        return longs().get(index);
      case I32:
        return ints().get(index);
      case U32:
        return ints().get(index) & 0xffffffffL;
      case I16:
        return halves().get(index);
      case U16:
        return halves().get(index) & 0xffff;
      case I8:
        return bytes.get(index);
      case U8:
      case BOOL:
        return bytes.get(index) & 0xff;
      default:
        return (long) getDouble(index);
    }
  }

  /** Sets element {@code index}, rounded to the nearest value of a floating type or truncated. */
  public void setDouble(int index, double value) {
    switch (type.dataType()) {
      case F32:
        floats().put(index, (float) value);
        break;
      case F64:
        doubles().put(index, value);
        break;
      case F16:
        halves().put(index, HalfFloat.fromFloat((float) value));
        break;
      case BF16:
        halves().put(index, BrainFloat.fromFloat((float) value));
        break;
      case U64:
        longs()
            .put(index, value < 0x1p63 ? (long) value : (long) (value - 0x1p63) ^ Long.MIN_VALUE);
        break;
      case BOOL:
        bytes.put(index, (byte) (value != 0 ? 1 : 0));
        break;
      default:
        setLong(index, (long) value);
        break;
    }
  }

  /** Sets element {@code index}; integer types keep the low bits, as a cast does. */
  public void setLong(int index, long value) {
    switch (type.dataType()) {
      case I64:
      case U64:
        longs().put(index, value);
        break;
      case I32:
      case U32:
        ints().put(index, (int) value);
        break;
      case I16:
      case U16:
        halves().put(index, (short) value);
        break;
      case I8:
      case U8:
        bytes.put(index, (byte) value);
        break;
      case BOOL:
        bytes.put(index, (byte) (value != 0 ? 1 : 0));
        break;
      default:
        setDouble(index, (double) value);
        break;
    }
  }

  /** A fresh array of the elements; only for F32. */
  public float[] toFloatArray() {
    float[] copy = new float[type.elements()];
    floats().get(0, copy);
    return copy;
  }

  /** A fresh array of the elements as longs; for any type. */
  public long[] toLongArray() {
    long[] copy = new long[type.elements()];
    for (int i = 0; i < copy.length; i++) {
      copy[i] = getLong(i);
    }
    return copy;
  }

  /** The same bytes under another shape of as many elements. */
  public Tensor reshaped(Shape shape) {
    return wrap(new TensorType(type.dataType(), shape), bytes);
  }

  /** Copies the elements of {@code source}, which must have the same type; allocates nothing. */
  public void copyFrom(Tensor source) {
    if (!source.type.equals(type)) {
      throw new InvalidArgumentException("cannot copy " + source.type + " to " + type);
    }
    bytes.put(0, source.bytes, 0, bytes.capacity());
  }

  /** A new tensor with the same elements. */
  public Tensor copy() {
    Tensor copy = zeros(type);
    copy.copyFrom(this);
    return copy;
  }

  /** Whether types and bytes are equal (so NaNs of one pattern are equal, and 0.0 is not -0.0). */
  public boolean bitwiseEquals(Tensor other) {
    return type.equals(other.type)
        && bytes.duplicate().rewind().equals(other.bytes.duplicate().rewind());
  }

  /** The type and the first few elements. */
  @Override
  public String toString() {
    double[] head = new double[Math.min(8, type.elements())];
    Arrays.setAll(head, this::getDouble);
    return type + Arrays.toString(head) + (head.length < type.elements() ? "..." : "");
  }
}
