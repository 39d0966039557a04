package dev.nimble.cuda.emulator;

/** IEEE 754 binary16, told from its definition: an oracle, not a fast conversion. */
final class HalfPrecision {
  private HalfPrecision() {}

  /** The bits of values that half precision holds exactly. */
  static short[] halves(float... values) {
    short[] bits = new short[values.length];
    for (int i = 0; i < values.length; i++) {
      int found = -1;
      for (int candidate = 0; candidate < 0x7c00; candidate++) {
        if (value(candidate) == Math.abs(values[i])) {
          found = candidate;
        }
      }
      if (found < 0) {
        throw new IllegalArgumentException(values[i] + " has no exact half");
      }
      bits[i] = (short) (values[i] < 0 ? found | 0x8000 : found);
    }
    return bits;
  }

  /** The values of halves. */
  static float[] values(short... bits) {
    float[] values = new float[bits.length];
    for (int i = 0; i < bits.length; i++) {
      float magnitude = value(bits[i] & 0x7fff);
      values[i] = bits[i] < 0 ? -magnitude : magnitude;
    }
    return values;
  }

  private static float value(int bits) {
    int exponent = bits >> 10;
    int mantissa = bits & 0x3ff;
    return exponent == 0
        ? Math.scalb((float) mantissa, -24)
        : Math.scalb((float) (mantissa + 1024), exponent - 25);
  }
}
