package dev.nimble.cuda.op;

import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.DataType;

/** Element types in CUDA C. */
enum CType {
  F32("float", "float"),
  F64("double", "double"),
  F16("half16", "float"),
  I64("long long", "long long"),
  I32("int", "long long"),
  I8("signed char", "long long"),
  U8("unsigned char", "long long"),
  BOOL("unsigned char", "long long");

  private final String stored;
  private final String computed;

  CType(String stored, String computed) {
    this.stored = stored;
    this.computed = computed;
  }

  static CType of(DataType type) {
    for (CType known : values()) {
      if (known.name().equals(type.name())) {
        return known;
      }
    }
    throw new InvalidModelException("the CUDA device has no kernels for elements of type " + type);
  }

  /** The type of an element in memory. */
  String stored() {
    return stored;
  }

  /** The type in which it is computed with. */
  String computed() {
    return computed;
  }

  /** Kernels for this type end with this. */
  static String suffix(DataType type) {
    return type == DataType.BOOL ? "u8" : type.toString();
  }
}
