package dev.nimble.verify;

import dev.nimble.buffer.Slice;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What some bytes hold from one write to the next: a value as its kernel leaves it, a variable
 * between two updates, a workspace. Views are no contents of their own: they show another's.
 */
final class Contents {
  /** The writer of what is there before the step. */
  static final int START = -1;

  /** In words, for messages. */
  final String what;

  final Slice slice;

  /** The node that writes it, or {@link #START}. */
  final int writer;

  /** Which output of the writer it is; -1 for anything else. */
  final int outputIndex;

  /** Whether it must still be there after the step. */
  boolean kept;

  /** The last reader on each stream. */
  private final Map<Integer, Integer> lastReaders = new LinkedHashMap<>();

  Contents(String what, Slice slice, int writer, int outputIndex) {
    this.what = what;
    this.slice = slice;
    this.writer = writer;
    this.outputIndex = outputIndex;
  }

  /** Notes that {@code node} reads it. */
  void readBy(int node, CommandOrder order) {
    lastReaders.merge(
        order.streamOf(node), node, (a, b) -> order.issued(a) > order.issued(b) ? a : b);
  }

  /** Of the readers, the last on each stream: the others happen before these. */
  Iterable<Integer> lastReaders() {
    return lastReaders.values();
  }
}
