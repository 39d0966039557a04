package dev.nimble.memory;

import java.util.Arrays;
import java.util.Comparator;
import java.util.SplittableRandom;
import java.util.function.IntToLongFunction;
import java.util.stream.IntStream;

/**
 * Gives each arena storage its offset: dynamic storage allocation, which is NP-hard, by best fit in
 * several orders and then a short local search that moves what sticks out at the top to an earlier
 * turn. Deterministic, also in its effort, which is counted in clashes looked at and not in time;
 * ends early at the lower bound.
 */
final class ArenaPacker {
  /** Clashes that may be looked at before the best packing so far is taken. */
  private static final long MOST_WORK = 4_000_000;

  /** The local search ends after this many turns in a row without gain. */
  private static final int MOST_IDLE_TURNS = 500;

  private final LiveRanges ranges;
  private final long bound;
  private final long[] starts;
  private final long[] ends;
  private final long[] offsets;
  private long work;

  private long[] best;
  private long bestHeight = Long.MAX_VALUE;

  private ArenaPacker(LiveRanges ranges, long bound) {
    this.ranges = ranges;
    this.bound = bound;
    this.starts = new long[ranges.count()];
    this.ends = new long[ranges.count()];
    this.offsets = new long[ranges.count()];
    this.best = new long[ranges.count()];
  }

  /**
   * Returns the offset of each storage, in blocks.
   *
   * @param bound the sequential peak; no packing is lower
   */
  static long[] pack(LiveRanges ranges, long bound) {
    ArenaPacker packer = new ArenaPacker(ranges, bound);
    packer.keep(packer.allocateInLaunchOrder());
    if (ranges.hasNeighbours()) {
      packer.search();
    }
    return packer.best;
  }

  private void keep(long height) {
    if (height < bestHeight) {
      bestHeight = height;
      best = offsets.clone();
    }
  }

  private boolean done() {
    return bestHeight <= bound || work >= MOST_WORK;
  }

  /** What an allocator would do at run time: best fit with coalescing; {@code O(n log n)}. */
  private long allocateInLaunchOrder() {
    FreeList free = new FreeList();
    int[] byEnd = byDecreasing(a -> -ranges.busyUntil(a));
    int ended = 0;
    for (int a = 0; a < ranges.count(); a++) {
      while (ranges.busyUntil(byEnd[ended]) < ranges.defined(a)) {
        free.give(offsets[byEnd[ended]], ranges.blocks(byEnd[ended]));
        ended++;
      }
      offsets[a] = free.take(ranges.blocks(a));
    }
    return free.height();
  }

  private void search() {
    int[][] orders = {
      byDecreasing(ranges::blocks),
      byDecreasing(a -> saturatedProduct(ranges.blocks(a), span(a))),
      byDecreasing(this::span),
      byDecreasing(this::crowd),
      byDecreasing(a -> -ranges.defined(a)),
      byDecreasing(ranges::lastUse),
    };
    int[] order = orders[0];
    boolean tightest = true;
    for (int[] candidate : orders) {
      for (int fit = 0; fit < 2 && !done(); fit++) {
        long height = place(candidate, fit == 0, bestHeight - 1);
        if (height < bestHeight || bestHeight == Long.MAX_VALUE) {
          order = candidate;
          tightest = fit == 0;
        }
        keep(height);
      }
    }
    climb(order, tightest);
  }

  /** Launches during which the storage may be in use. */
  private long span(int storage) {
    return ranges.busyUntil(storage) - ranges.defined(storage) + 1L;
  }

  /** The blocks of a storage and of all that clash with it: those in a crowd have least choice. */
  private long crowd(int storage) {
    long sum = ranges.blocks(storage);
    for (int i = ranges.firstNeighbour(storage); i < ranges.firstNeighbour(storage + 1); i++) {
      sum += ranges.blocks(ranges.neighbour(i));
    }
    return sum;
  }

  private static long saturatedProduct(long a, long b) {
    return Math.multiplyHigh(a, b) == 0 && a * b >= 0 ? a * b : Long.MAX_VALUE;
  }

  /** The storages by falling key, those of equal key in launch order. */
  private int[] byDecreasing(IntToLongFunction key) {
    return IntStream.range(0, ranges.count())
        .boxed()
        .sorted(
            Comparator.comparingLong((Integer a) -> key.applyAsLong(a))
                .reversed()
                .thenComparing(Comparator.naturalOrder()))
        .mapToInt(Integer::intValue)
        .toArray();
  }

  /**
   * Places the storages in turn, each into the tightest (or the lowest) gap that its clashes leave,
   * or on top of them. Returns the height, or the longest {@code long} as soon as it would exceed
   * {@code limit}.
   */
  private long place(int[] order, boolean tightest, long limit) {
    Arrays.fill(offsets, -1);
    long height = 0;
    for (int a : order) {
      int count = 0;
      for (int i = ranges.firstNeighbour(a); i < ranges.firstNeighbour(a + 1); i++) {
        int b = ranges.neighbour(i);
        if (offsets[b] >= 0) {
          starts[count] = offsets[b];
          ends[count++] = offsets[b] + ranges.blocks(b);
        }
      }
      work += 1 + ranges.firstNeighbour(a + 1) - ranges.firstNeighbour(a);
      offsets[a] = gap(count, ranges.blocks(a), tightest);
      height = Math.max(height, offsets[a] + ranges.blocks(a));
      if (height > limit) {
        return Long.MAX_VALUE;
      }
    }
    return height;
  }

  /**
   * Where {@code size} blocks fit among the first {@code count} intervals. With starts and ends
   * sorted apart, bytes below the i-th start are free from the end before it exactly if i intervals
   * have ended by then.
   */
  private long gap(int count, long size, boolean tightest) {
    Arrays.sort(starts, 0, count);
    Arrays.sort(ends, 0, count);
    long chosen = -1;
    long width = Long.MAX_VALUE;
    for (int i = 0; i < count; i++) {
      long bottom = i == 0 ? 0 : ends[i - 1];
      long gap = starts[i] - bottom;
      if (gap >= size && gap < width) {
        chosen = bottom;
        width = gap;
        if (!tightest || gap == size) {
          break;
        }
      }
    }
    return chosen >= 0 ? chosen : count == 0 ? 0 : ends[count - 1];
  }

  /**
   * Moves a storage that reaches the top to an earlier turn, and keeps the order if nothing is
   * lost.
   */
  private void climb(int[] firstOrder, boolean tightest) {
    SplittableRandom random = new SplittableRandom(ranges.count());
    int[] order = firstOrder;
    long[] placed = best;
    long height = bestHeight;
    int idle = 0;
    while (!done() && idle < MOST_IDLE_TURNS) {
      int[] changed = order.clone();
      int turn = turnOfTop(order, placed, height, random);
      int earlier = turn == 0 ? 0 : random.nextInt(turn);
      System.arraycopy(order, earlier, changed, earlier + 1, turn - earlier);
      changed[earlier] = order[turn];
      long reached = place(changed, tightest, height);
      idle = reached < height ? 0 : idle + 1;
      if (reached <= height) {
        order = changed;
        height = reached;
        placed = offsets.clone();
        keep(reached);
      }
    }
  }

  /** The turn, in {@code order}, of one of the storages whose end is the arena's. */
  private int turnOfTop(int[] order, long[] placed, long height, SplittableRandom random) {
    int chosen = -1;
    int seen = 0;
    for (int turn = 1; turn < order.length; turn++) {
      if (placed[order[turn]] + ranges.blocks(order[turn]) == height
          && random.nextInt(++seen) == 0) {
        chosen = turn;
      }
    }
    return chosen >= 0 ? chosen : random.nextInt(order.length);
  }
}
