package dev.nimble.testkit;

import dev.nimble.analysis.Dag;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Integer DAGs: drawn in a line of text, or random. */
public final class Dags {
  private Dags() {}

  /** For example {@code dag(4, "0>1 0>2 1>3 2>3")}, a diamond. */
  public static Dag dag(int nodes, String edges) {
    List<List<Integer>> lists = lists(nodes);
    for (String edge : edges.split(" ")) {
      if (!edge.isEmpty()) {
        String[] ends = edge.split(">");
        lists.get(Integer.parseInt(ends[1])).add(Integer.parseInt(ends[0]));
      }
    }
    return of(lists);
  }

  /** Each of the n(n-1)/2 possible edges with probability {@code p}. */
  public static Dag random(int nodes, double p, Random random) {
    List<List<Integer>> lists = lists(nodes);
    for (int v = 0; v < nodes; v++) {
      for (int u = 0; u < v; u++) {
        if (random.nextDouble() < p) {
          lists.get(v).add(u);
        }
      }
    }
    return of(lists);
  }

  /**
   * Layers of up to {@code width} nodes; each node has about {@code edges} predecessors, most of
   * them in the layer before, and a successor unless it is in the last layer; so the width stays
   * near {@code width}.
   */
  public static Dag layered(int nodes, int width, double edges, Random random) {
    List<List<Integer>> lists = lists(nodes);
    boolean[] followed = new boolean[nodes];
    int layerStart = 0;
    int previousStart = 0;
    for (int v = 0; v < nodes; v++) {
      if (v - layerStart == width) {
        for (int u = previousStart; u < layerStart; u++) {
          if (!followed[u]) {
            lists.get(layerStart + random.nextInt(width)).add(u);
          }
        }
        previousStart = layerStart;
        layerStart = v;
      }
      int degree = (int) edges + (random.nextDouble() < edges - (int) edges ? 1 : 0);
      for (int k = 0; k < degree && layerStart > 0; k++) {
        boolean skip = random.nextInt(8) == 0;
        int u =
            skip
                ? random.nextInt(layerStart)
                : previousStart + random.nextInt(layerStart - previousStart);
        lists.get(v).add(u);
        followed[u] = true;
      }
    }
    return of(lists);
  }

  /** Series and parallel compositions, as networks of cells and branches have. */
  public static Dag seriesParallel(int nodes, Random random) {
    List<List<Integer>> lists = lists(nodes);
    List<Integer> open = new ArrayList<>();
    for (int v = 0; v < nodes; v++) {
      if (open.isEmpty() || random.nextInt(4) == 0) {
        if (!open.isEmpty() && random.nextBoolean()) { // join everything that is open
          lists.get(v).addAll(open);
          open.clear();
        } else if (v > 0) { // branch off
          lists.get(v).add(random.nextInt(v));
        }
      } else { // continue one branch
        lists.get(v).add(open.remove(random.nextInt(open.size())));
      }
      open.add(v);
    }
    return of(lists);
  }

  /** The DAG whose node v has the predecessors of {@code lists.get(v)}. */
  public static Dag of(List<List<Integer>> lists) {
    return Dag.of(
        lists.stream()
            .map(list -> list.stream().mapToInt(Integer::intValue).toArray())
            .toArray(int[][]::new));
  }

  private static List<List<Integer>> lists(int nodes) {
    List<List<Integer>> lists = new ArrayList<>();
    for (int v = 0; v < nodes; v++) {
      lists.add(new ArrayList<>());
    }
    return lists;
  }
}
