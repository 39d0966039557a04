package dev.nimble.graph;

/** bfloat16 conversions, round to nearest even: the upper 16 bits of a single. */
public final class BrainFloat {
  private BrainFloat() {}

  /** The exact single-precision value of a bfloat16 bit pattern. */
  public static float toFloat(short bits) {
    return Float.intBitsToFloat(bits << 16);
  }

  /** The nearest bfloat16 bit pattern, ties to even; overflow gives infinity. */
  public static short fromFloat(float value) {
    int bits = Float.floatToRawIntBits(value);
    if (Float.isNaN(value)) {
      return (short) (bits >>> 16 | 0x40); // quiet, so that no payload is lost to infinity
    }
    return (short) ((bits + 0x7fff + (bits >>> 16 & 1)) >>> 16);
  }
}
