package dev.nimble.planfile;

import dev.nimble.error.InvalidArgumentException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/** Writes the primitives of the structure into memory; {@link Decoder} reads them. */
final class Encoder {
  private final Map<String, Integer> texts = new HashMap<>();
  private byte[] bytes = new byte[1 << 14];
  private int size;

  /** The bytes written so far. */
  byte[] toByteArray() {
    return Arrays.copyOf(bytes, size);
  }

  void bits(int value) {
    if (size == bytes.length) {
      bytes = Arrays.copyOf(bytes, 2 * size);
    }
    bytes[size++] = (byte) value;
  }

  /** A number that is not negative: 7 bits a byte, the least first; the top bit says "more". */
  void number(long value) {
    if (value < 0) {
      throw new IllegalArgumentException("negative: " + value);
    }
    unsigned(value);
  }

  private void unsigned(long value) {
    long rest = value;
    while ((rest & ~0x7fL) != 0) {
      bits((int) (rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    bits((int) rest);
  }

  /** A number of any sign: 0, -1, 1, -2, ... are written as 0, 1, 2, 3, ... */
  void signed(long value) {
    unsigned(value << 1 ^ value >> 63);
  }

  void flag(boolean value) {
    bits(value ? 1 : 0);
  }

  /** {@code count} bytes, the least first. */
  void fixed(long value, int count) {
    for (int i = 0; i < count; i++) {
      bits((int) (value >>> 8 * i));
    }
  }

  /** A text: 0, length and UTF-8 bytes the first time; later its number, from 1. */
  void text(String value) {
    Integer known = texts.get(value);
    if (known != null) {
      number(known);
      return;
    }
    byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
    if (!new String(utf8, StandardCharsets.UTF_8).equals(value)) {
      throw new InvalidArgumentException(
          "the name '" + value + "' is not valid Unicode and cannot be saved; rename it");
    }
    texts.put(value, texts.size() + 1);
    number(0);
    number(utf8.length);
    for (byte b : utf8) {
      bits(b);
    }
  }
}
