package dev.nimble.analysis;

import static org.assertj.core.api.Assertions.assertThat;

import dev.nimble.testkit.Dags;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * No DAG of fewer than ten nodes needs more streams than its width at the fewest syncs; see
 * docs/stream-assignment.md. All partial orders are tried, each set of nodes being the bits of an
 * int, so that millions take a second; the algorithm is the documented one and the code another.
 */
class SmallestGapTest {
  private static final int MOST_NODES = 10;

  private final int[] predecessors = new int[MOST_NODES];
  private final int[] ancestors = new int[MOST_NODES];
  private final int[] tight = new int[MOST_NODES];
  private final int[] follower = new int[MOST_NODES];
  private final int[] leader = new int[MOST_NODES];
  private int nodes;
  private int tried;
  private long orders;
  private long gaps;

  /** Tries every order of {@code nodes} nodes of which the first {@code v} are set. */
  private void extend(int v) {
    if (v == nodes) {
      orders++;
      gaps += fewestAtFewestSyncs() > width() ? 1 : 0;
      return;
    }
    for (int set = 0; set < 1 << v; set++) {
      int above = 0;
      for (int left = set; left != 0; left &= left - 1) {
        above |= ancestors[Integer.numberOfTrailingZeros(left)];
      }
      if ((above & set) == 0) {
        predecessors[v] = set;
        ancestors[v] = above | set;
        extend(v + 1);
      }
    }
  }

  /** How many chains a largest matching of tight edges makes; it is left in the fields. */
  private int fewestAtFewestSyncs() {
    for (int v = 0; v < nodes; v++) {
      follower[v] = -1;
      leader[v] = -1;
    }
    grow(predecessors);
    int reachedLeft = 0;
    int reachedRight = 0;
    for (int v = 0; v < nodes; v++) {
      reachedRight |= leader[v] < 0 ? 1 << v : 0;
    }
    for (int left = reachedRight; left != 0; ) {
      int v = Integer.numberOfTrailingZeros(left);
      left &= left - 1;
      for (int more = predecessors[v] & ~reachedLeft; more != 0; more &= more - 1) {
        int w = follower[Integer.numberOfTrailingZeros(more)];
        left |= (reachedRight >> w & 1) == 0 ? 1 << w : 0;
        reachedRight |= 1 << w;
      }
      reachedLeft |= predecessors[v];
    }
    for (int v = 0; v < nodes; v++) {
      tight[v] =
          (reachedRight >> v & 1) == 0
              ? predecessors[v] & ~reachedLeft
              : (predecessors[v] & reachedLeft) | (ancestors[v] & ~reachedLeft);
    }
    return grow(tight);
  }

  private int width() {
    return grow(ancestors);
  }

  /** Augments by the given edges while that is possible; returns the number of chains. */
  private int grow(int[] edges) {
    boolean grown = true;
    while (grown) {
      grown = false;
      for (int v = 0; v < nodes; v++) {
        tried = 0;
        grown |= leader[v] < 0 && augment(v, edges);
      }
    }
    int chains = 0;
    for (int v = 0; v < nodes; v++) {
      chains += leader[v] < 0 ? 1 : 0;
    }
    return chains;
  }

  private boolean augment(int v, int[] edges) {
    for (int left = edges[v] & ~tried; left != 0; left = edges[v] & ~tried) {
      int u = Integer.numberOfTrailingZeros(left);
      tried |= 1 << u;
      if (follower[u] < 0 || augment(follower[u], edges)) {
        follower[u] = v;
        leader[v] = u;
        return true;
      }
    }
    return false;
  }

  private void set(Dag dag) {
    nodes = dag.nodes();
    for (int v = 0; v < nodes; v++) {
      predecessors[v] = 0;
      ancestors[v] = 0;
      for (int i = 0; i < dag.inDegree(v); i++) {
        predecessors[v] |= 1 << dag.predecessor(v, i);
        ancestors[v] |= 1 << dag.predecessor(v, i) | ancestors[dag.predecessor(v, i)];
      }
    }
  }

  private void tryAll(int size, long expected) {
    nodes = size;
    orders = 0;
    gaps = 0;
    extend(0);
    assertThat(orders).as("partial orders of %d nodes, OEIS A006455", size).isEqualTo(expected);
    assertThat(gaps).isZero();
  }

  @Test
  void noneOfUpToEightNodes() {
    long[] expected = {1, 1, 2, 7, 40, 357, 4824, 96_428, 2_800_472};
    for (int size = 0; size < expected.length; size++) {
      tryAll(size, expected[size]);
    }
  }

  @Tag("slow")
  @Test
  void noneOfNineNodes() {
    tryAll(9, 116_473_461);
  }

  @Test
  void oneOfTenNodes() {
    set(Dags.dag("a>d b>d c>f e>f d>g d>h e>h f>i f>j"));
    assertThat(fewestAtFewestSyncs()).isEqualTo(5);
    assertThat(width()).isEqualTo(4);
  }

  /** The search above would find a gap wherever the library finds one. */
  @Test
  void agreesWithTheLibrary() {
    for (int size = 0; size <= 6; size++) {
      Dags.forEachReduced(
          size,
          dag -> {
            set(dag);
            PathCover cover = PathCover.of(TransitiveReduction.of(dag));
            assertThat(fewestAtFewestSyncs()).isEqualTo(cover.chains());
            assertThat(width()).isEqualTo(cover.width());
          });
    }
  }
}
