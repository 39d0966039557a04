package dev.nimble.planfile;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.zip.CRC32C;

/** A plan file taken apart as its documentation says, and put together with the right checksums. */
record PlanBytes(byte[] structure, byte[] weights) {
  private static final int HEADER = 64;

  static PlanBytes of(byte[] file) {
    int length = (int) ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN).getLong(24);
    return new PlanBytes(
        Arrays.copyOfRange(file, HEADER, HEADER + length),
        Arrays.copyOfRange(file, HEADER + length, file.length));
  }

  /** This file with another structure; weights move with its end, as alignment wants. */
  PlanBytes withStructure(byte[] other) {
    int old = Math.floorMod(-structure.length, 64);
    byte[] bare = Arrays.copyOfRange(weights, Math.min(old, weights.length), weights.length);
    byte[] moved = new byte[bare.length == 0 ? 0 : Math.floorMod(-other.length, 64) + bare.length];
    System.arraycopy(bare, 0, moved, moved.length - bare.length, bare.length);
    return new PlanBytes(other, moved);
  }

  byte[] toFile() {
    byte[] file = new byte[HEADER + structure.length + weights.length];
    ByteBuffer header = ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN);
    header.put(0, new byte[] {(byte) 0x8e, 'N', 'P', 'L', 'A', 'N', '\r', '\n'});
    header.putInt(8, 1);
    header.putLong(16, file.length);
    header.putLong(24, structure.length);
    header.putInt(32, checksum(structure, structure.length));
    header.put(HEADER, structure);
    header.put(HEADER + structure.length, weights);
    seal(file);
    return file;
  }

  /** Mends the checksum of the header. */
  static void seal(byte[] file) {
    ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN).putInt(60, checksum(file, 60));
  }

  private static int checksum(byte[] bytes, int length) {
    CRC32C crc = new CRC32C();
    crc.update(bytes, 0, length);
    return (int) crc.getValue();
  }
}
