package dev.nimble.view;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.nimble.testkit.Seeds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class LayeredLayoutTest {
  private static int[][] random(Random random, int nodes) {
    int[][] predecessors = new int[nodes][];
    int reach = 1 + random.nextInt(nodes);
    for (int v = 0; v < nodes; v++) {
      int least = Math.max(0, v - reach);
      predecessors[v] =
          random
              .ints(v == 0 ? 0 : random.nextInt(4), least, Math.max(least + 1, v))
              .sorted()
              .distinct()
              .toArray();
    }
    return predecessors;
  }

  private static LayeredLayout layout(int[][] predecessors) {
    return LayeredLayout.of(predecessors, new int[predecessors.length]);
  }

  /** Every place of a layer: its middle, and half the room that it needs. */
  private static void assertSound(LayeredLayout layout, int[][] predecessors) {
    List<List<double[]>> rows = new ArrayList<>();
    for (int i = 0; i < layout.layers(); i++) {
      rows.add(new ArrayList<>());
    }
    for (int v = 0; v < predecessors.length; v++) {
      int layer = layout.layer().get(v);
      for (int p : predecessors[v]) {
        assertThat(layout.layer().get(p)).as("edge %d -> %d leads down", p, v).isLessThan(layer);
      }
      rows.get(layer).add(new double[] {layout.x().get(v), LayeredLayout.NODE_WIDTH / 2});
      for (int b = 0; b < layout.bends().get(v).length(); b++) {
        rows.get(layer + 1 + b).add(new double[] {layout.bends().get(v).get(b), 1});
      }
    }
    for (List<double[]> row : rows) {
      row.sort((a, b) -> Double.compare(a[0], b[0]));
      assertThat(row).as("no layer is empty").isNotEmpty();
      for (int i = 0; i < row.size(); i++) {
        assertThat(row.get(i)[0])
            .isBetween(LayeredLayout.NODE_WIDTH / 2 - 1e-6, layout.width() + 1e-6);
        if (i > 0) {
          assertThat(row.get(i)[0] - row.get(i - 1)[0])
              .as("neither boxes nor edges run over boxes")
              .isGreaterThan(row.get(i)[1] + row.get(i - 1)[1] - 1e-6);
        }
      }
    }
  }

  @Test
  void edgesLeadDownAndNothingOverlaps() {
    Seeds.forEach(
        60,
        (random, seed) -> {
          int[][] predecessors = random(random, 1 + random.nextInt(120));
          assertSound(layout(predecessors), predecessors);
        });
  }

  @Test
  void aChainIsStraight() {
    int[][] chain = new int[300][];
    Arrays.setAll(chain, v -> v == 0 ? new int[0] : new int[] {v - 1});
    LayeredLayout layout = layout(chain);
    assertThat(layout.layers()).isEqualTo(300);
    assertThat(layout.width()).isCloseTo(LayeredLayout.NODE_WIDTH, within(1e-6));
    layout.x().asList().forEach(x -> assertThat(x).isCloseTo(layout.x().get(0), within(1e-6)));
  }

  @Test
  void aTreeGetsNoCrossing() {
    Random random = new Random(5);
    int[][] tree = new int[200][];
    Arrays.setAll(tree, v -> v == 0 ? new int[0] : new int[] {random.nextInt((v + 1) / 2)});
    assertThat(layout(tree).crossings()).isZero();
  }

  @Test
  void unavoidableCrossingsAreCounted() {
    // K(3,3) has at least nine crossings when drawn in two layers.
    int[][] complete = {{}, {}, {}, {0, 1, 2}, {0, 1, 2}, {0, 1, 2}};
    assertThat(layout(complete).crossings()).isEqualTo(9);
  }

  @Test
  void sourcesSinkToTheirReaders() {
    // 4 is read only by 5, which is deep.
    int[][] late = {{}, {0}, {1}, {2}, {}, {3, 4}};
    assertThat(layout(late).layer().get(4)).isEqualTo(3);
  }

  @Test
  void longEdgesBendOnceALayerAndShareTheirBends() {
    int[][] skips = {{}, {0}, {1}, {0, 2}, {0, 3}};
    LayeredLayout layout = layout(skips);
    assertThat(layout.bends().get(0).length()).isEqualTo(3);
    assertThat(layout.bends().get(1).length()).isZero();
  }

  @Test
  void veryLongEdgesHaveNoBends() {
    int n = 30_000;
    int[][] chain = new int[n][];
    Arrays.setAll(
        chain, v -> v == 0 ? new int[0] : v < n - 1 ? new int[] {v - 1} : new int[] {0, v - 1});
    LayeredLayout layout = layout(chain);
    assertThat(layout.bends().get(0).length()).isZero();
    assertThat(layout.layers()).isEqualTo(n);
  }

  @Test
  void nothingIsLaidOutAsNothing() {
    LayeredLayout layout = layout(new int[0][]);
    assertThat(layout.layers()).isZero();
    assertThat(layout.width()).isZero();
  }

  @Test
  void fifteenHundredNodesTakeNoTime() {
    int[][] predecessors = random(new Random(1), 1500);
    long start = System.nanoTime();
    assertSound(layout(predecessors), predecessors);
    assertThat((System.nanoTime() - start) / 1e9).as("seconds; 0.3 is usual").isLessThan(10);
  }
}
