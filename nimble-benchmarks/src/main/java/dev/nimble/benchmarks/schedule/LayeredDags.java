package dev.nimble.benchmarks.schedule;

import dev.nimble.analysis.Dag;
import java.util.Random;

/** Random DAGs of bounded width, as the networks that Nimble is for have. */
public final class LayeredDags {
  private LayeredDags() {}

  /**
   * Layers of {@code width} nodes. Node j of a layer follows node j of the layer before, so the
   * width is at most {@code width}, and has on average {@code edges} - 1 further predecessors in
   * the two layers before.
   */
  public static Dag of(int nodes, int width, double edges, long seed) {
    Random random = new Random(seed);
    int[][] predecessors = new int[nodes][];
    for (int v = 0; v < nodes; v++) {
      int layer = v / width;
      int more = 0;
      for (double rest = edges - 1; rest > 0; rest--) {
        more += random.nextDouble() < rest ? 1 : 0;
      }
      int[] list = new int[layer == 0 ? 0 : 1 + more];
      for (int i = 0; i < list.length; i++) {
        int back = Math.min(layer, 1 + random.nextInt(2));
        list[i] = i == 0 ? v - width : (layer - back) * width + random.nextInt(width);
      }
      predecessors[v] = list;
    }
    return Dag.of(predecessors);
  }
}
