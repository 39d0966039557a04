package dev.nimble.graph;

import java.util.Locale;

/** The element types that a tensor may have. */
public enum DataType {
  /** IEEE 754 single precision. */
  F32(4, true),
  /** IEEE 754 double precision. */
  F64(8, true),
  /** IEEE 754 half precision: a storage type, computed in single precision. */
  F16(2, true),
  /** Signed 64-bit integer. */
  I64(8, false),
  /** Signed 32-bit integer. */
  I32(4, false),
  /** Signed 8-bit integer. */
  I8(1, false),
  /** Unsigned 8-bit integer. */
  U8(1, false),
  /** One byte, 0 or 1. */
  BOOL(1, false),
  /** The upper half of an IEEE 754 single: a storage type, computed in single precision. */
  BF16(2, true),
  /** Signed 16-bit integer. */
  I16(2, false),
  /** Unsigned 16-bit integer. */
  U16(2, false),
  /** Unsigned 32-bit integer. */
  U32(4, false),
  /** Unsigned 64-bit integer; as a Java long, the same bits. */
  U64(8, false);

  private final int sizeBytes;
  private final boolean floating;

  DataType(int sizeBytes, boolean floating) {
    this.sizeBytes = sizeBytes;
    this.floating = floating;
  }

  /** Bytes an element. */
  public int sizeBytes() {
    return sizeBytes;
  }

  /** Whether this is F16, BF16, F32 or F64. */
  public boolean isFloating() {
    return floating;
  }

  /** Whether this is a signed or unsigned integer; BOOL is not. */
  public boolean isInteger() {
    return !floating && this != BOOL;
  }

  /** Whether this is an unsigned integer. */
  public boolean isUnsigned() {
    return this == U8 || this == U16 || this == U32 || this == U64;
  }

  /** The name in lower case, as printed in types: {@code f32}. */
  @Override
  public String toString() {
    return name().toLowerCase(Locale.ROOT);
  }
}
