package dev.nimble.graph;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ElementTypesTest {
  private static final long SEED = Long.getLong("nimble.seed", 20201201);

  /** The nearest by trying all neighbours: every bfloat16 and what lies between. */
  @Test
  void brainFloatsRoundToTheNearestAndTiesToEven() {
    for (int high = 0; high < 0x10000; high++) {
      float exact = BrainFloat.toFloat((short) high);
      assertThat(Float.floatToRawIntBits(exact)).isEqualTo(high << 16);
      if (Float.isNaN(exact)) {
        assertThat(BrainFloat.toFloat(BrainFloat.fromFloat(exact))).isNaN();
        continue;
      }
      assertThat(BrainFloat.fromFloat(exact)).isEqualTo((short) high);
      if (Float.isInfinite(exact)) {
        continue;
      }
      short even = (short) ((high & 1) == 0 ? high : high + 1);
      assertThat(BrainFloat.fromFloat(Float.intBitsToFloat(high << 16 | 0x8000))).isEqualTo(even);
      assertThat(BrainFloat.fromFloat(Float.intBitsToFloat(high << 16 | 0x7fff)))
          .isEqualTo((short) high);
      assertThat(BrainFloat.fromFloat(Float.intBitsToFloat(high << 16 | 0x8001)))
          .isEqualTo((short) (high + 1));
    }
    assertThat(BrainFloat.toFloat(BrainFloat.fromFloat(Float.intBitsToFloat(0x7f800001)))).isNaN();
  }

  @Test
  void integersKeepTheirLowBits() {
    Random random = new Random(SEED);
    for (DataType type : DataType.values()) {
      Tensor tensor = Tensor.zeros(TensorType.of(type, 1));
      for (int i = 0; i < 1000 && type.isInteger(); i++) {
        long value = random.nextLong();
        tensor.setLong(0, value);
        int bits = 64 - 8 * type.sizeBytes();
        long low = value << bits;
        assertThat(tensor.getLong(0))
            .as("%s (seed %d)", type, SEED)
            .isEqualTo(type.isUnsigned() ? low >>> bits : low >> bits);
      }
    }
  }

  @Test
  void unsignedLongsBecomeTheNearestDouble() {
    Random random = new Random(SEED);
    Tensor tensor = Tensor.zeros(TensorType.of(DataType.U64, 1));
    for (int i = 0; i < 10_000; i++) {
      long bits = random.nextLong() >>> random.nextInt(64);
      tensor.setLong(0, bits);
      BigInteger value = new BigInteger(Long.toUnsignedString(bits));
      assertThat(tensor.getDouble(0))
          .as("%s (seed %d)", value, SEED)
          .isEqualTo(value.doubleValue());
      tensor.setDouble(0, value.doubleValue());
      BigInteger back = new BigDecimal(value.doubleValue()).toBigInteger();
      if (back.bitLength() <= 64) {
        assertThat(Long.toUnsignedString(tensor.getLong(0))).isEqualTo(back.toString());
      }
    }
  }
}
