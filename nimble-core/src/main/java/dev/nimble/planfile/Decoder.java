package dev.nimble.planfile;

import dev.nimble.error.InvalidPlanException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Reads what {@link Encoder} has written, and trusts none of it: every method throws {@link
 * InvalidPlanException} where the bytes end or mean nothing, and no count is believed that the
 * bytes left could not hold.
 */
final class Decoder {
  private final List<String> texts = new ArrayList<>();
  private final byte[] bytes;
  private int position;

  Decoder(byte[] bytes) {
    this.bytes = bytes;
  }

  int remaining() {
    return bytes.length - position;
  }

  /** An error at this place. */
  InvalidPlanException damaged(String what) {
    return new InvalidPlanException(
        "is damaged: " + what + " (structure byte " + position + " of " + bytes.length + ")");
  }

  int bits() {
    if (position == bytes.length) {
      throw damaged("it ends too early");
    }
    return bytes[position++] & 0xff;
  }

  /** A number in {@code [0, most]}. */
  long number(String what, long most) {
    long value = unsigned(what);
    if (value < 0 || value > most) {
      throw damaged(what + " is " + Long.toUnsignedString(value) + ", beyond " + most);
    }
    return value;
  }

  /** A number in {@code [0, most]}. */
  int small(String what, int most) {
    return (int) number(what, most);
  }

  /** A position in {@code [0, count)}. */
  int index(String what, int count) {
    long value = unsigned(what);
    if (value < 0 || value >= count) {
      throw damaged(what + " is " + Long.toUnsignedString(value) + " of " + count);
    }
    return (int) value;
  }

  /** How many of something follow, each of at least one byte; at most {@code most}. */
  int count(String what, int most) {
    long value = unsigned("the number of " + what);
    if (value < 0 || value > most) {
      throw damaged("it has " + Long.toUnsignedString(value) + " " + what + ", more than " + most);
    }
    if (value > remaining()) {
      throw damaged("it ends before its " + value + " " + what);
    }
    return (int) value;
  }

  private long unsigned(String what) {
    long value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      int next = bits();
      if (shift == 63 && next > 1) {
        break;
      }
      value |= (long) (next & 0x7f) << shift;
      if (next < 0x80) {
        return value;
      }
    }
    throw damaged(what + " is no number");
  }

  long signed(String what) {
    long value = unsigned(what);
    return value >>> 1 ^ -(value & 1);
  }

  boolean flag(String what) {
    int value = bits();
    if (value > 1) {
      throw damaged(what + " is neither yes nor no");
    }
    return value == 1;
  }

  long fixed(int count) {
    long value = 0;
    for (int i = 0; i < count; i++) {
      value |= (long) bits() << 8 * i;
    }
    return value;
  }

  String text(String what) {
    int known = small(what, texts.size());
    if (known > 0) {
      return texts.get(known - 1);
    }
    int length = count("bytes of " + what, Integer.MAX_VALUE);
    try {
      String text =
          StandardCharsets.UTF_8
              .newDecoder()
              .decode(ByteBuffer.wrap(bytes, position, length))
              .toString();
      position += length;
      texts.add(text);
      return text;
    } catch (CharacterCodingException e) {
      throw damaged(what + " is not UTF-8");
    }
  }

  void end() {
    if (remaining() > 0) {
      throw damaged(remaining() + " bytes are left over");
    }
  }
}
