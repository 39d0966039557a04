package dev.nimble.memory;

import java.util.Arrays;
import java.util.List;

/**
 * When arena storages are live, and so which may not share bytes. Storages are numbered in launch
 * order of their first writers; sizes are in blocks of the alignment.
 *
 * <p>Two storages may share bytes only if every use of one happens before the first write of the
 * other. Clocks rise along a stream, so the storages that are defined after storage a and clash
 * with it are, on each stream, a run that a binary search ends: clashes are enumerated without
 * looking at any other pair.
 */
final class LiveRanges {
  /**
   * Beyond this many clashing pairs, {@link #neighbours} are not held: 64 MB, and as much again to
   * make.
   */
  static final int MOST_PAIRS = 8_000_000;

  private final long[] blocks;
  private final int[] defined;
  private final int[] lastUse;
  private final int[] busyUntil;
  private final int launches;

  /**
   * The neighbours of storage a are at {@code firstNeighbour[a]} to {@code firstNeighbour[a + 1]}.
   */
  private int[] firstNeighbour = {};

  private int[] neighbours = {};
  private boolean hasNeighbours;

  private LiveRanges(long[] blocks, int[] defined, int[] lastUse, int[] busyUntil, int launches) {
    this.blocks = blocks;
    this.defined = defined;
    this.lastUse = lastUse;
    this.busyUntil = busyUntil;
    this.launches = launches;
  }

  /** The live ranges of {@code storages}, which are in launch order of their definitions. */
  static LiveRanges of(List<Storage> storages, HappensBefore order) {
    return of(storages, order, MOST_PAIRS);
  }

  /** As {@link #of(List, HappensBefore)}, with another bound on the clashes that are held. */
  static LiveRanges of(List<Storage> storages, HappensBefore order, int mostPairs) {
    int count = storages.size();
    LiveRanges ranges =
        new LiveRanges(
            new long[count], new int[count], new int[count], new int[count], order.launches());
    int[][] onStream = byStream(storages, order);
    int[] next = new int[onStream.length];
    int[] pairs = new int[Math.max(16, 8 * count)];
    int[] firstPair = new int[count + 1];
    int found = 0;
    boolean fits = true;
    for (int a = 0; a < count; a++) {
      Storage storage = storages.get(a);
      ranges.blocks[a] = storage.blocks();
      ranges.defined[a] = order.launchIndex(storage.definition);
      ranges.lastUse[a] = storage.lastUse(order);
      ranges.busyUntil[a] = ranges.defined[a];
      next[order.streamOf(storage.definition)]++;
      for (int s = 0; s < onStream.length; s++) {
        int end = firstAfter(storage, storages, onStream[s], next[s], order);
        if (end > next[s]) {
          int last = order.launchIndex(storages.get(onStream[s][end - 1]).definition);
          ranges.busyUntil[a] = Math.max(ranges.busyUntil[a], last);
        }
        fits &= found + (end - next[s]) <= mostPairs;
        if (fits) {
          if (pairs.length < found + (end - next[s])) {
            pairs = Arrays.copyOf(pairs, 2 * (found + (end - next[s])));
          }
          System.arraycopy(onStream[s], next[s], pairs, found, end - next[s]);
          found += end - next[s];
        }
      }
      firstPair[a + 1] = found;
    }
    if (fits) {
      ranges.link(firstPair, pairs);
    }
    return ranges;
  }

  /** The storages defined on each stream, rising. */
  private static int[][] byStream(List<Storage> storages, HappensBefore order) {
    int[] counts = new int[order.streams()];
    for (Storage storage : storages) {
      counts[order.streamOf(storage.definition)]++;
    }
    int[][] onStream = new int[counts.length][];
    Arrays.setAll(onStream, s -> new int[counts[s]]);
    Arrays.fill(counts, 0);
    for (int i = 0; i < storages.size(); i++) {
      int stream = order.streamOf(storages.get(i).definition);
      onStream[stream][counts[stream]++] = i;
    }
    return onStream;
  }

  /** The first place in {@code candidates}, from {@code low} on, that starts after all uses. */
  private static int firstAfter(
      Storage storage, List<Storage> storages, int[] candidates, int low, HappensBefore order) {
    int from = low;
    int to = candidates.length;
    while (from < to) {
      int middle = (from + to) >>> 1;
      if (storage.usedBefore(storages.get(candidates[middle]).definition, order)) {
        to = middle;
      } else {
        from = middle + 1;
      }
    }
    return from;
  }

  /** Makes the relation symmetric: {@code pairs} holds each clash once, at its earlier storage. */
  private void link(int[] firstPair, int[] pairs) {
    int count = blocks.length;
    int[] first = new int[count + 1];
    for (int a = 0; a < count; a++) {
      first[a + 1] += firstPair[a + 1] - firstPair[a];
      for (int i = firstPair[a]; i < firstPair[a + 1]; i++) {
        first[pairs[i] + 1]++;
      }
    }
    for (int a = 0; a < count; a++) {
      first[a + 1] += first[a];
    }
    int[] fill = Arrays.copyOf(first, count);
    int[] linked = new int[first[count]];
    for (int a = 0; a < count; a++) {
      for (int i = firstPair[a]; i < firstPair[a + 1]; i++) {
        linked[fill[a]++] = pairs[i];
        linked[fill[pairs[i]]++] = a;
      }
    }
    firstNeighbour = first;
    neighbours = linked;
    hasNeighbours = true;
  }

  /** The number of storages. */
  int count() {
    return blocks.length;
  }

  long blocks(int storage) {
    return blocks[storage];
  }

  /** The launch index of the first write. */
  int defined(int storage) {
    return defined[storage];
  }

  /** The launch index of the last use. */
  int lastUse(int storage) {
    return lastUse[storage];
  }

  /**
   * The launch index of the last definition that may not have these bytes: any storage defined
   * later may. On one stream, that is exact; else some that are defined earlier may have them as
   * well.
   */
  int busyUntil(int storage) {
    return busyUntil[storage];
  }

  /** Whether the clashes are held; if not, only {@link #busyUntil} tells. */
  boolean hasNeighbours() {
    return hasNeighbours;
  }

  /** The number of clashes, each counted from both sides. */
  int neighbourCount() {
    return neighbours.length;
  }

  int firstNeighbour(int storage) {
    return firstNeighbour[storage];
  }

  int neighbour(int index) {
    return neighbours[index];
  }

  /**
   * The most blocks live at once when nodes run one after the other in launch order.
   *
   * @throws ArithmeticException if that exceeds a {@code long}
   */
  long peakBlocks() {
    long[] change = new long[launches + 1];
    for (int a = 0; a < blocks.length; a++) {
      change[defined[a]] = Math.addExact(change[defined[a]], blocks[a]);
      change[lastUse[a] + 1] = Math.subtractExact(change[lastUse[a] + 1], blocks[a]);
    }
    long live = 0;
    long peak = 0;
    for (long delta : change) {
      live = Math.addExact(live, delta);
      peak = Math.max(peak, live);
    }
    return peak;
  }
}
