package dev.nimble.graph;

/** IEEE 754 binary16 conversions, round to nearest even (Java 17 has none built in). */
public final class HalfFloat {
  private HalfFloat() {}

  /** The exact single-precision value of a half-precision bit pattern. */
  public static float toFloat(short half) {
    int bits = half & 0xffff;
    int sign = (bits & 0x8000) << 16;
    int exponent = (bits >>> 10) & 0x1f;
    int mantissa = bits & 0x3ff;
    if (exponent == 0x1f) {
      return Float.intBitsToFloat(sign | 0x7f800000 | (mantissa << 13));
    }
    if (exponent == 0) {
      float magnitude = mantissa * 0x1p-24f;
      return sign == 0 ? magnitude : -magnitude;
    }
    return Float.intBitsToFloat(sign | ((exponent + 112) << 23) | (mantissa << 13));
  }

  /** The nearest half-precision bit pattern, ties to even; overflow gives infinity. */
  public static short fromFloat(float value) {
    int bits = Float.floatToRawIntBits(value);
    int sign = (bits >>> 16) & 0x8000;
    int magnitude = bits & 0x7fffffff;
    if (magnitude >= 0x7f800000) {
      int payload = magnitude > 0x7f800000 ? 0x200 | ((magnitude >>> 13) & 0x3ff) : 0;
      return (short) (sign | 0x7c00 | payload);
    }
    if (magnitude >= 0x477ff000) { // 65520: rounds to infinity
      return (short) (sign | 0x7c00);
    }
    if (magnitude < 0x38800000) { // below the least normal half, 2^-14
      float scaled = Math.abs(value) * 0x1p24f; // units of the least subnormal; exact
      return (short) (sign | (int) Math.rint(scaled));
    }
    int rounded = magnitude + 0xfff + ((magnitude >>> 13) & 1);
    return (short) (sign | ((rounded - 0x38000000) >>> 13));
  }
}
