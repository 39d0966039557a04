package dev.nimble.cuda.kernel;

import dev.nimble.cuda.driver.DeviceAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import jcuda.Pointer;
import org.jspecify.annotations.Nullable;

/**
 * The arguments of a kernel, in the order and with the sizes of its signature. Built once a launch,
 * at prepare time.
 */
public final class KernelArguments {
  private static final int MOST_BYTES = 4096; // CUDA C programming guide: __global__ parameters

  private final ByteBuffer bytes = ByteBuffer.allocate(MOST_BYTES).order(ByteOrder.nativeOrder());
  private final List<Integer> offsets = new ArrayList<>();

  private void next(int alignment) {
    bytes.position((bytes.position() + alignment - 1) / alignment * alignment);
    offsets.add(bytes.position());
  }

  /** A {@code T*}; null for a null pointer. */
  public KernelArguments address(@Nullable DeviceAddress address) {
    next(Long.BYTES);
    bytes.putLong(address == null ? 0 : address.value());
    return this;
  }

  /** An {@code int}. */
  public KernelArguments integer(int value) {
    next(Integer.BYTES);
    bytes.putInt(value);
    return this;
  }

  /** A {@code long long}. */
  public KernelArguments longInteger(long value) {
    next(Long.BYTES);
    bytes.putLong(value);
    return this;
  }

  /** A {@code float}. */
  public KernelArguments number(float value) {
    next(Float.BYTES);
    bytes.putFloat(value);
    return this;
  }

  /** A {@code double}. */
  public KernelArguments doubleNumber(double value) {
    next(Double.BYTES);
    bytes.putDouble(value);
    return this;
  }

  /** A structure of one {@code int} array, filled up with zeros to {@code length} entries. */
  public KernelArguments integers(int[] values, int length) {
    next(Integer.BYTES);
    for (int i = 0; i < length; i++) {
      bytes.putInt(i < values.length ? values[i] : 0);
    }
    return this;
  }

  /** A structure of one {@code double} array, filled up with zeros to {@code length} entries. */
  public KernelArguments doubles(double[] values, int length) {
    next(Double.BYTES);
    for (int i = 0; i < length; i++) {
      bytes.putDouble(i < values.length ? values[i] : 0);
    }
    return this;
  }

  /** What a launch takes: pointers to the arguments, in memory that lives as long as they do. */
  public Pointer asParameters() {
    ByteBuffer own = ByteBuffer.allocateDirect(bytes.position());
    own.put(bytes.array(), 0, bytes.position());
    Pointer[] pointers = new Pointer[offsets.size()];
    Arrays.setAll(
        pointers, i -> Pointer.to(own.duplicate().clear()).withByteOffset(offsets.get(i)));
    return Pointer.to(pointers);
  }
}
