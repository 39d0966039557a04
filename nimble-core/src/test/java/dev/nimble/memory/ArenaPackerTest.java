package dev.nimble.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.nimble.buffer.Slice;
import dev.nimble.buffer.Slice.Region;
import dev.nimble.graph.Graph;
import dev.nimble.schedule.Schedule;
import dev.nimble.testkit.RandomPlans;
import dev.nimble.testkit.Seeds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class ArenaPackerTest {
  /** Storages defined and used by random nodes of a random schedule. */
  private static List<Storage> storages(Graph graph, HappensBefore order, Random random, int most) {
    List<Storage> storages = new ArrayList<>();
    int nodes = graph.nodes().size();
    int[] byLaunch = new int[nodes];
    graph.nodes().forEach(n -> byLaunch[order.launchIndex(n.id())] = n.id());
    for (int launch = 0; launch < nodes && storages.size() < most; launch++) {
      int definition = byLaunch[launch];
      for (int i = random.nextInt(3); i > 0 && storages.size() < most; i--) {
        Storage storage =
            new Storage(Region.ARENA, Slice.ALIGNMENT * (1 + random.nextInt(5)), definition);
        storage.use(order.streamOf(definition), order.position(definition));
        for (int later = launch + 1; later < nodes; later++) {
          int user = byLaunch[later];
          if (random.nextInt(4) == 0 && order.before(definition, user)) {
            storage.use(order.streamOf(user), order.position(user));
          }
        }
        storages.add(storage);
      }
    }
    return storages;
  }

  private static boolean clash(Storage a, Storage b, HappensBefore order) {
    return !a.usedBefore(b.definition, order) && !b.usedBefore(a.definition, order);
  }

  @Test
  void liveRangesClashByDefinitionAndPackingsRespectThem() {
    Seeds.forEach(
        300,
        (random, seed) -> {
          Graph graph = RandomPlans.graph(random, 1 + random.nextInt(30));
          Schedule schedule = RandomPlans.schedule(graph, random, 1 + random.nextInt(4));
          HappensBefore order = new HappensBefore(schedule);
          List<Storage> storages = storages(graph, order, random, 40);
          LiveRanges ranges = LiveRanges.of(storages, order);
          LiveRanges sparse = LiveRanges.of(storages, order, 0);
          assertThat(ranges.hasNeighbours()).isTrue();
          boolean[][] clashes = clashes(storages, order);
          for (int a = 0; a < storages.size(); a++) {
            boolean[] found = new boolean[storages.size()];
            for (int i = ranges.firstNeighbour(a); i < ranges.firstNeighbour(a + 1); i++) {
              found[ranges.neighbour(i)] = true;
            }
            assertThat(found).as("storage %s", a).isEqualTo(clashes[a]);
          }
          assertRespects(clashes, ranges, ArenaPacker.pack(ranges, ranges.peakBlocks()));
          if (Arrays.stream(clashes).anyMatch(c -> !Arrays.equals(c, new boolean[c.length]))) {
            assertThat(sparse.hasNeighbours()).isFalse();
          }
          assertRespects(clashes, sparse, ArenaPacker.pack(sparse, sparse.peakBlocks()));
        });
  }

  private static boolean[][] clashes(List<Storage> storages, HappensBefore order) {
    boolean[][] clashes = new boolean[storages.size()][storages.size()];
    for (int a = 0; a < clashes.length; a++) {
      for (int b = 0; b < clashes.length; b++) {
        clashes[a][b] = a != b && clash(storages.get(a), storages.get(b), order);
      }
    }
    return clashes;
  }

  private static void assertRespects(boolean[][] clashes, LiveRanges ranges, long[] offsets) {
    for (int a = 0; a < clashes.length; a++) {
      assertThat(offsets[a]).isNotNegative();
      for (int b = 0; b < a; b++) {
        boolean apart =
            offsets[a] + ranges.blocks(a) <= offsets[b]
                || offsets[b] + ranges.blocks(b) <= offsets[a];
        assertThat(apart || !clashes[a][b]).as("%s, %s", a, b).isTrue();
      }
    }
  }

  @Test
  void smallPackingsAreOptimal() {
    int[] above = {0};
    Seeds.forEach(
        300,
        (random, seed) -> {
          Graph graph = RandomPlans.graph(random, 1 + random.nextInt(12));
          Schedule schedule = RandomPlans.schedule(graph, random, 1 + random.nextInt(3));
          HappensBefore order = new HappensBefore(schedule);
          List<Storage> storages = storages(graph, order, random, 7);
          LiveRanges ranges = LiveRanges.of(storages, order);
          boolean[][] clashes = clashes(storages, order);
          long[] offsets = ArenaPacker.pack(ranges, ranges.peakBlocks());
          long best = optimum(clashes, ranges);
          assertThat(best).isGreaterThanOrEqualTo(ranges.peakBlocks());
          above[0] += height(ranges, offsets) > best ? 1 : 0;
        });
    assertThat(above[0]).as("packings above the optimum").isZero();
  }

  private static long height(LiveRanges ranges, long[] offsets) {
    long height = 0;
    for (int a = 0; a < offsets.length; a++) {
      height = Math.max(height, offsets[a] + ranges.blocks(a));
    }
    return height;
  }

  /** Each order in turn, each storage as low as it goes: some order gives the optimum. */
  private static long optimum(boolean[][] clashes, LiveRanges ranges) {
    return lowest(clashes, ranges, new long[clashes.length], new boolean[clashes.length], 0, 0);
  }

  private static long lowest(
      boolean[][] clashes,
      LiveRanges ranges,
      long[] offsets,
      boolean[] placed,
      int count,
      long height) {
    if (count == placed.length) {
      return height;
    }
    long best = Long.MAX_VALUE;
    for (int a = 0; a < placed.length; a++) {
      if (!placed[a]) {
        long offset = 0;
        for (int again = 0; again <= count; again++) {
          for (int b = 0; b < placed.length; b++) {
            if (placed[b]
                && clashes[a][b]
                && offset < offsets[b] + ranges.blocks(b)
                && offsets[b] < offset + ranges.blocks(a)) {
              offset = offsets[b] + ranges.blocks(b);
            }
          }
        }
        offsets[a] = offset;
        placed[a] = true;
        long reached = Math.max(height, offset + ranges.blocks(a));
        best = Math.min(best, lowest(clashes, ranges, offsets, placed, count + 1, reached));
        placed[a] = false;
      }
    }
    return best;
  }
}
