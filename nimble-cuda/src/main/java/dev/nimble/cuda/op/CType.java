package dev.nimble.cuda.op;

import dev.nimble.graph.DataType;

/** Element types in CUDA C; a constant for each {@link DataType}. */
enum CType {
  F32("float", "float"),
  F64("double", "double"),
  F16("half16", "float"),
  BF16("bfloat16", "float"),
  I64("long long", "long long"),
  I32("int", "long long"),
  I16("short", "long long"),
  I8("signed char", "long long"),
  U64("unsigned long long", "unsigned long long"),
  U32("unsigned int", "long long"),
  U16("unsigned short", "long long"),
  U8("unsigned char", "long long"),
  BOOL("unsigned char", "long long");

  private final String stored;
  private final String computed;

  CType(String stored, String computed) {
    this.stored = stored;
    this.computed = computed;
  }

  static CType of(DataType type) {
    return valueOf(type.name());
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
