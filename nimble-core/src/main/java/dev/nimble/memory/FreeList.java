package dev.nimble.memory;

import java.util.Comparator;
import java.util.TreeMap;
import java.util.TreeSet;

/** The free gaps of a growing arena: best fit, lowest first; neighbouring gaps are one. */
final class FreeList {
  private record Gap(long offset, long size) {}

  private final TreeMap<Long, Gap> byOffset = new TreeMap<>();
  private final TreeSet<Gap> bySize =
      new TreeSet<>(Comparator.comparingLong(Gap::size).thenComparingLong(Gap::offset));
  private long height;

  /** The most that was ever in use, from 0 up. */
  long height() {
    return height;
  }

  /** Takes the tightest gap, or grows the arena, at its topmost gap if that is at the end. */
  long take(long size) {
    Gap gap = bySize.ceiling(new Gap(0, size));
    if (gap == null) {
      gap = grow(size);
    }
    remove(gap);
    if (gap.size > size) {
      add(new Gap(gap.offset + size, gap.size - size));
    }
    return gap.offset;
  }

  private Gap grow(long size) {
    long offset = height;
    if (!byOffset.isEmpty()) {
      Gap last = byOffset.lastEntry().getValue();
      if (last.offset + last.size == height) {
        offset = last.offset;
        remove(last);
      }
    }
    height = Math.addExact(offset, size);
    Gap grown = new Gap(offset, size);
    add(grown);
    return grown;
  }

  /** Gives back what was taken. */
  void give(long offset, long size) {
    long from = offset;
    long to = offset + size;
    var below = byOffset.lowerEntry(offset);
    if (below != null && below.getValue().offset + below.getValue().size == from) {
      from = below.getKey();
      remove(below.getValue());
    }
    Gap above = byOffset.get(to);
    if (above != null) {
      to += above.size;
      remove(above);
    }
    add(new Gap(from, to - from));
  }

  private void add(Gap gap) {
    byOffset.put(gap.offset, gap);
    bySize.add(gap);
  }

  private void remove(Gap gap) {
    byOffset.remove(gap.offset);
    bySize.remove(gap);
  }
}
