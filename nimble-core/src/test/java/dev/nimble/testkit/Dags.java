package dev.nimble.testkit;

import dev.nimble.analysis.Dag;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;

/** Integer DAGs: drawn in a line of text, or random. */
public final class Dags {
  private Dags() {}

  /**
   * A DAG in a line of text, its nodes the letters from a: {@code dag("a>b a>c b>d c>d")} is a
   * diamond. A letter alone adds a node with no edge.
   */
  public static Dag dag(String edges) {
    int nodes = edges.chars().filter(Character::isLetter).map(c -> c - 'a' + 1).max().orElse(0);
    List<List<Integer>> lists = lists(nodes);
    for (String edge : edges.split(" ")) {
      if (edge.length() == 3) {
        lists.get(edge.charAt(2) - 'a').add(edge.charAt(0) - 'a');
      }
    }
    return of(lists);
  }

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

  /**
   * About {@code edges} predecessors a node, evenly chosen; for graphs too large for {@link
   * #random}.
   */
  public static Dag sparse(int nodes, double edges, Random random) {
    List<List<Integer>> lists = lists(nodes);
    for (int v = 1; v < nodes; v++) {
      int degree = (int) edges + (random.nextDouble() < edges - (int) edges ? 1 : 0);
      for (int k = 0; k < degree; k++) {
        lists.get(v).add(random.nextInt(v));
      }
    }
    return of(lists);
  }

  /** Predecessors among the last {@code reach} nodes only: wide, yet with no long edges. */
  public static Dag local(int nodes, int reach, double edges, Random random) {
    List<List<Integer>> lists = lists(nodes);
    for (int v = 1; v < nodes; v++) {
      int degree = (int) edges + (random.nextDouble() < edges - (int) edges ? 1 : 0);
      for (int k = 0; k < degree; k++) {
        lists.get(v).add(Math.max(0, v - 1 - random.nextInt(reach)));
      }
    }
    return of(lists);
  }

  /** Every node but the first has one predecessor. */
  public static Dag outTree(int nodes, Random random) {
    return sparse(nodes, 1, random);
  }

  /** Every node but the last has one successor. */
  public static Dag inTree(int nodes, Random random) {
    List<List<Integer>> lists = lists(nodes);
    for (int v = 0; v < nodes - 1; v++) {
      lists.get(v + 1 + random.nextInt(nodes - 1 - v)).add(v);
    }
    return of(lists);
  }

  /** Every node after the one before. */
  public static Dag chain(int nodes) {
    List<List<Integer>> lists = lists(nodes);
    for (int v = 1; v < nodes; v++) {
      lists.get(v).add(v - 1);
    }
    return of(lists);
  }

  /** Every one of the last {@code sinks} nodes after every one of the first {@code sources}. */
  public static Dag bipartite(int sources, int sinks) {
    int[][] predecessors = new int[sources + sinks][];
    for (int v = 0; v < predecessors.length; v++) {
      predecessors[v] = new int[v < sources ? 0 : sources];
      for (int u = 0; u < predecessors[v].length; u++) {
        predecessors[v][u] = u;
      }
    }
    return Dag.of(predecessors);
  }

  /** Every DAG of so many nodes whose edges go from lower to higher numbers: 2^(n(n-1)/2). */
  public static void forEach(int nodes, Consumer<Dag> action) {
    int pairs = nodes * (nodes - 1) / 2;
    for (int set = 0; set < 1 << pairs; set++) {
      List<List<Integer>> lists = lists(nodes);
      int bit = 0;
      for (int v = 0; v < nodes; v++) {
        for (int u = 0; u < v; u++) {
          if ((set >> bit++ & 1) == 1) {
            lists.get(v).add(u);
          }
        }
      }
      action.accept(of(lists));
    }
  }

  /**
   * Every transitively reduced DAG of so many nodes whose edges go from lower to higher numbers,
   * that is, every partial order that those numbers extend, once.
   */
  public static void forEachReduced(int nodes, Consumer<Dag> action) {
    addReduced(new int[nodes][], new int[nodes], 0, action);
  }

  /**
   * The predecessors of {@code v} can be any set of earlier nodes of which none reaches another.
   */
  private static void addReduced(
      int[][] predecessors, int[] ancestors, int v, Consumer<Dag> action) {
    if (v == predecessors.length) {
      action.accept(Dag.of(predecessors));
      return;
    }
    for (int set = 0; set < 1 << v; set++) {
      int above = 0;
      int[] list = new int[Integer.bitCount(set)];
      int count = 0;
      for (int u = 0; u < v; u++) {
        if ((set >> u & 1) == 1) {
          above |= ancestors[u];
          list[count++] = u;
        }
      }
      if ((above & set) == 0) {
        predecessors[v] = list;
        ancestors[v] = above | set;
        addReduced(predecessors, ancestors, v + 1, action);
      }
    }
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
