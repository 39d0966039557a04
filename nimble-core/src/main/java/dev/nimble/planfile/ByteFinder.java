package dev.nimble.planfile;

import dev.nimble.error.InvalidArgumentException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Finds where given bytes occur in a file, in one pass: a hash of {@value #WINDOW} bytes is rolled
 * over the file, and where it equals that of some sample, all bytes are compared. A sample is taken
 * where the bytes differ among themselves, for runs of equal bytes occur everywhere; bytes without
 * such a place are not looked for.
 */
final class ByteFinder {
  static final int WINDOW = 64;
  private static final long BASE = 0x9E3779B97F4A7C15L;
  private static final int FILTER_BITS = 20;
  private static final int FEWEST_DIFFERENT = 12;
  private static final int MOST_SAMPLED = 1 << 16;

  private ByteFinder() {}

  /** Bytes that are looked for, and the place in them of the sample. */
  private record Sample(int index, ByteBuffer bytes, int start) {}

  /**
   * The offset of each of {@code wanted} in the file, the first that there is; -1 for those not
   * found.
   */
  static long[] find(List<ByteBuffer> wanted, FileChannel file) throws IOException {
    long size = file.size();
    if (size > Integer.MAX_VALUE - 8) {
      throw new InvalidArgumentException(
          "weights can be referred to only in files of at most 2 GiB; keep them within the plan");
    }
    byte[] content = new byte[(int) size];
    ByteBuffer whole = ByteBuffer.wrap(content);
    while (whole.hasRemaining() && file.read(whole, whole.position()) > 0) {
      // read on
    }
    long[] offsets = new long[wanted.size()];
    Arrays.fill(offsets, -1);
    Map<Long, List<Sample>> samples = samples(wanted);
    if (!samples.isEmpty() && size >= WINDOW) {
      scan(whole.clear(), content, samples, offsets);
    }
    return offsets;
  }

  private static Map<Long, List<Sample>> samples(List<ByteBuffer> wanted) {
    Map<Long, List<Sample>> samples = new HashMap<>();
    byte[] window = new byte[WINDOW];
    for (int i = 0; i < wanted.size(); i++) {
      ByteBuffer bytes = wanted.get(i);
      int last = Math.min(bytes.remaining() - WINDOW, MOST_SAMPLED);
      for (int start = 0; start <= last; start += WINDOW) {
        bytes.get(start, window);
        if (varied(window)) {
          samples
              .computeIfAbsent(hash(window), h -> new ArrayList<>())
              .add(new Sample(i, bytes, start));
          break;
        }
      }
    }
    return samples;
  }

  private static boolean varied(byte[] window) {
    boolean[] seen = new boolean[256];
    int different = 0;
    for (byte b : window) {
      different += seen[b & 0xff] ? 0 : 1;
      seen[b & 0xff] = true;
    }
    return different >= FEWEST_DIFFERENT;
  }

  private static long hash(byte[] window) {
    long hash = 0;
    for (byte b : window) {
      hash = hash * BASE + b;
    }
    return hash;
  }

  private static void scan(
      ByteBuffer whole, byte[] content, Map<Long, List<Sample>> samples, long[] offsets) {
    boolean[] filter = new boolean[1 << FILTER_BITS];
    samples.keySet().forEach(h -> filter[(int) (h >>> 64 - FILTER_BITS)] = true);
    long leaving = 1;
    for (int i = 0; i < WINDOW; i++) {
      leaving *= BASE;
    }
    long hash = hash(Arrays.copyOf(content, WINDOW));
    int missing = samples.values().stream().mapToInt(List::size).sum();
    for (int at = 0; missing > 0; at++) {
      if (filter[(int) (hash >>> 64 - FILTER_BITS)]) {
        for (Sample sample : samples.getOrDefault(hash, List.of())) {
          long start = (long) at - sample.start;
          if (offsets[sample.index] < 0 && equal(whole, start, sample.bytes)) {
            offsets[sample.index] = start;
            missing--;
          }
        }
      }
      if (at + WINDOW == content.length) {
        return;
      }
      hash = hash * BASE + content[at + WINDOW] - leaving * content[at];
    }
  }

  private static boolean equal(ByteBuffer whole, long start, ByteBuffer bytes) {
    int length = bytes.remaining();
    return start >= 0
        && start <= whole.limit() - (long) length
        && whole.slice((int) start, length).equals(bytes);
  }
}
