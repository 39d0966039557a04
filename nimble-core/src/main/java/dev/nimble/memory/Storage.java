package dev.nimble.memory;

import dev.nimble.buffer.Slice;
import java.util.Arrays;

/**
 * Bytes that hold one value, or a value together with its views and those that overwrite it in
 * place, or a workspace. Filled in launch order by {@link Storages}.
 */
final class Storage {
  /** Where the bytes must lie; an arena storage moves to OUTPUT when a graph output joins it. */
  Slice.Region region;

  /** The exact size; every member has it. */
  final long bytes;

  /** The node that first writes it, or -1 if it is written before the step. */
  final int definition;

  /** Whether a graph output is among its values, so that nothing may overwrite it. */
  boolean holdsOutput;

  /**
   * The latest launch index of all readers of its values, also of those not yet seen; -1 if none.
   */
  int lastReader = -1;

  /** The streams on which it has been used so far, and the last position on each. */
  private int[] useStreams = new int[1];

  private int[] usePositions = new int[1];
  private int uses;

  Storage(Slice.Region region, long bytes, int definition) {
    this.region = region;
    this.bytes = bytes;
    this.definition = definition;
  }

  /** The size in blocks of the alignment, rounded up. */
  long blocks() {
    return blocks(bytes);
  }

  /** {@code bytes} in blocks of the alignment, rounded up. */
  static long blocks(long bytes) {
    return bytes / Slice.ALIGNMENT + (bytes % Slice.ALIGNMENT == 0 ? 0 : 1);
  }

  /** Notes a use by the node at {@code position} of {@code stream}; positions of a stream rise. */
  void use(int stream, int position) {
    for (int i = 0; i < uses; i++) {
      if (useStreams[i] == stream) {
        usePositions[i] = position;
        return;
      }
    }
    if (uses == useStreams.length) {
      useStreams = Arrays.copyOf(useStreams, 2 * uses);
      usePositions = Arrays.copyOf(usePositions, 2 * uses);
    }
    useStreams[uses] = stream;
    usePositions[uses++] = position;
  }

  /** Whether all uses noted so far happen before {@code node}. */
  boolean usedBefore(int node, HappensBefore order) {
    for (int i = 0; i < uses; i++) {
      if (!order.before(useStreams[i], usePositions[i], node)) {
        return false;
      }
    }
    return true;
  }

  /** The launch index of the latest use noted so far. */
  int lastUse(HappensBefore order) {
    int last = -1;
    for (int i = 0; i < uses; i++) {
      last = Math.max(last, order.launchIndex(order.nodesOf(useStreams[i])[usePositions[i]]));
    }
    return last;
  }
}
