package dev.nimble.view;

import com.google.common.primitives.ImmutableDoubleArray;
import com.google.common.primitives.ImmutableIntArray;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Places a DAG's nodes in layers, top to bottom: every edge leads down [Sugiyama, Tagawa, Toda
 * 1981]. Layers by longest path; order within a layer by barycentres, the sweep with the fewest
 * crossings kept; positions by least squares, which within one layer is an isotonic regression.
 *
 * <p>An edge that passes layers bends at most once in each. All edges that leave one node share
 * their bends: the edge to a node {@code d} layers below runs through the first {@code d - 1} bends
 * of its tail. Where there would be too many bends, the longest edges have none.
 *
 * @param layer the layer of each node, from 0
 * @param x the middle of each node, from {@link #NODE_WIDTH} / 2
 * @param bends for each node the places where its outgoing edges pass the layers below it
 * @param width of the whole picture
 * @param layers how many there are
 * @param crossings of edges between neighbouring layers
 */
record LayeredLayout(
    ImmutableIntArray layer,
    ImmutableDoubleArray x,
    List<ImmutableDoubleArray> bends,
    double width,
    int layers,
    long crossings) {
  static final double NODE_WIDTH = 136;
  static final double NODE_HEIGHT = 34;
  static final double LAYER_HEIGHT = 62;

  private static final double NODE_GAP = 18;
  private static final double BEND_WIDTH = 10;
  private static final int MOST_BENDS = 20_000;
  private static final int SWEEPS = 32;
  private static final int USELESS_SWEEPS = 6;
  private static final int RELAXATIONS = 41;

  /**
   * Lays a DAG out.
   *
   * @param predecessors of each node; all lower than the node itself
   * @param group edges within a group are kept straight rather than others
   */
  static LayeredLayout of(int[][] predecessors, int[] group) {
    return new Work(predecessors, group).layout();
  }

  /** The state of one layout: places are the nodes, and then the bends. */
  private static final class Work {
    private final int nodes;
    private final int[][] predecessors;
    private final int[] group;
    private final int[] layerOf;
    private final int[] firstBend;
    private final int[] bendsOf;
    private final int places;

    /** The places of each layer, from left to right. */
    private final int[][] order;

    private final int[] position;
    private final Links above;
    private final Links below;
    private double[] x = {};

    Work(int[][] predecessors, int[] group) {
      this.nodes = predecessors.length;
      this.predecessors = predecessors;
      this.group = group;
      int[][] successors = reversed(predecessors);
      this.layerOf = layers(predecessors, successors);
      this.bendsOf = bendCounts(successors);
      this.firstBend = new int[nodes];
      int next = nodes;
      for (int v = 0; v < nodes; v++) {
        firstBend[v] = next;
        next += bendsOf[v];
      }
      this.places = next;
      this.position = new int[places];
      this.order = initialOrder();
      List<int[]> links = links();
      this.above = new Links(places, links, 1, 0);
      this.below = new Links(places, links, 0, 1);
    }

    private static int[][] reversed(int[][] lists) {
      int[] counts = new int[lists.length];
      for (int[] list : lists) {
        for (int v : list) {
          counts[v]++;
        }
      }
      int[][] reversed = new int[lists.length][];
      Arrays.setAll(reversed, v -> new int[counts[v]]);
      for (int v = lists.length - 1; v >= 0; v--) {
        for (int p : lists[v]) {
          reversed[p][--counts[p]] = v;
        }
      }
      return reversed;
    }

    /** By longest path; then nodes with more readers than operands move down to their readers. */
    private static int[] layers(int[][] predecessors, int[][] successors) {
      int n = predecessors.length;
      int[] layer = new int[n];
      for (int v = 0; v < n; v++) {
        for (int p : predecessors[v]) {
          layer[v] = Math.max(layer[v], layer[p] + 1);
        }
      }
      for (int v = n - 1; v >= 0; v--) {
        if (successors[v].length > predecessors[v].length) {
          int latest = Integer.MAX_VALUE;
          for (int s : successors[v]) {
            latest = Math.min(latest, layer[s] - 1);
          }
          layer[v] = latest;
        }
      }
      return layer;
    }

    /** How many bends the outgoing edges of each node need; none for the longest if too many. */
    private int[] bendCounts(int[][] successors) {
      int[] counts = new int[nodes];
      for (int v = 0; v < nodes; v++) {
        for (int s : successors[v]) {
          counts[v] = Math.max(counts[v], layerOf[s] - layerOf[v] - 1);
        }
      }
      int[] sorted = counts.clone();
      Arrays.sort(sorted);
      int most = 0;
      long sum = 0;
      for (int count : sorted) {
        sum += count;
        if (sum <= MOST_BENDS) {
          most = count;
        }
      }
      for (int v = 0; v < nodes && sum > MOST_BENDS; v++) {
        counts[v] = counts[v] < most ? counts[v] : 0;
      }
      return counts;
    }

    private int[][] initialOrder() {
      int layers = 0;
      for (int layer : layerOf) {
        layers = Math.max(layers, layer + 1);
      }
      List<List<Integer>> lists = new ArrayList<>();
      for (int i = 0; i < layers; i++) {
        lists.add(new ArrayList<>());
      }
      for (int v = 0; v < nodes; v++) {
        lists.get(layerOf[v]).add(v);
        for (int b = 0; b < bendsOf[v]; b++) {
          lists.get(layerOf[v] + 1 + b).add(firstBend[v] + b);
        }
      }
      int[][] arrays = new int[layers][];
      for (int i = 0; i < layers; i++) {
        arrays[i] = lists.get(i).stream().mapToInt(Integer::intValue).toArray();
        number(arrays[i]);
      }
      return arrays;
    }

    private void number(int[] layer) {
      for (int i = 0; i < layer.length; i++) {
        position[layer[i]] = i;
      }
    }

    /** Pairs of places in neighbouring layers, the upper first, and the weight of the link. */
    private List<int[]> links() {
      List<int[]> links = new ArrayList<>();
      for (int v = 0; v < nodes; v++) {
        for (int b = 0; b < bendsOf[v]; b++) {
          links.add(
              new int[] {b == 0 ? v : firstBend[v] + b - 1, firstBend[v] + b, b == 0 ? 2 : 32});
        }
        for (int p : predecessors[v]) {
          int between = layerOf[v] - layerOf[p] - 1;
          if (between <= bendsOf[p]) {
            int from = between == 0 ? p : firstBend[p] + between - 1;
            links.add(new int[] {from, v, between == 0 && group[v] == group[p] ? 16 : 1});
          }
        }
      }
      return links;
    }

    LayeredLayout layout() {
      long crossings = arrange();
      x = new double[places];
      for (int[] layer : order) {
        double at = 0;
        for (int i = 0; i < layer.length; i++) {
          at += i == 0 ? 0 : gap(layer[i - 1], layer[i]);
          x[layer[i]] = at;
        }
        for (int place : layer) {
          x[place] -= at / 2;
        }
      }
      for (int round = 0; round < RELAXATIONS; round++) {
        boolean down = round % 2 == 0;
        for (int i = 0; i < order.length; i++) {
          relax(order[down ? i : order.length - 1 - i], down, !down);
        }
      }
      return result(crossings);
    }

    /** Sweeps down and up; returns the crossings of the best order found, and takes it. */
    private long arrange() {
      int[][] best = copy();
      long fewest = crossings();
      int useless = 0;
      for (int sweep = 0; sweep < SWEEPS && fewest > 0 && useless < USELESS_SWEEPS; sweep++) {
        boolean down = sweep % 2 == 0;
        for (int i = 1; i < order.length; i++) {
          sort(order[down ? i : order.length - 1 - i], down ? above : below);
        }
        long now = crossings();
        useless = now < fewest ? 0 : useless + 1;
        if (now < fewest) {
          fewest = now;
          best = copy();
        }
      }
      for (int i = 0; i < order.length; i++) {
        order[i] = best[i];
        number(order[i]);
      }
      return fewest;
    }

    private int[][] copy() {
      int[][] copy = new int[order.length][];
      Arrays.setAll(copy, i -> order[i].clone());
      return copy;
    }

    /** Sorts a layer by the mean position of the neighbours; those without keep theirs. */
    private void sort(int[] layer, Links links) {
      double[] keys = new double[layer.length];
      Integer[] indices = new Integer[layer.length];
      for (int i = 0; i < layer.length; i++) {
        indices[i] = i;
        double sum = 0;
        int from = links.start[layer[i]];
        int to = links.start[layer[i] + 1];
        for (int k = from; k < to; k++) {
          sum += position[links.other[k]];
        }
        keys[i] = from == to ? i : sum / (to - from);
      }
      Arrays.sort(indices, (a, b) -> Double.compare(keys[a], keys[b])); // stable
      int[] sorted = new int[layer.length];
      for (int i = 0; i < layer.length; i++) {
        sorted[i] = layer[indices[i]];
      }
      System.arraycopy(sorted, 0, layer, 0, sorted.length);
      number(layer);
    }

    /** Inversions between neighbouring layers, counted with a Fenwick tree. */
    private long crossings() {
      long crossings = 0;
      for (int i = 1; i < order.length; i++) {
        int[] tree = new int[order[i].length + 1];
        int seen = 0;
        for (int upper : order[i - 1]) {
          for (int k = below.start[upper]; k < below.start[upper + 1]; k++) {
            int notGreater = 0;
            for (int t = position[below.other[k]] + 1; t > 0; t -= t & -t) {
              notGreater += tree[t];
            }
            crossings += seen - notGreater;
          }
          for (int k = below.start[upper]; k < below.start[upper + 1]; k++) {
            seen++;
            for (int t = position[below.other[k]] + 1; t < tree.length; t += t & -t) {
              tree[t]++;
            }
          }
        }
      }
      return crossings;
    }

    private double widthOf(int place) {
      return place < nodes ? NODE_WIDTH + NODE_GAP : BEND_WIDTH;
    }

    private double gap(int left, int right) {
      return (widthOf(left) + widthOf(right)) / 2;
    }

    /**
     * Moves a layer to where the squared distance from its neighbours is least, in order and with
     * the gaps kept: pools of places that push each other move as one.
     */
    private void relax(int[] layer, boolean byAbove, boolean byBelow) {
      int n = layer.length;
      double[] offset = new double[n];
      double[] mean = new double[n];
      double[] weight = new double[n];
      int[] size = new int[n];
      int pools = 0;
      for (int i = 0; i < n; i++) {
        offset[i] = i == 0 ? 0 : offset[i - 1] + gap(layer[i - 1], layer[i]);
        double w = 0.01;
        double sum = w * x[layer[i]];
        for (Links links : List.of(above, below)) {
          if (links == above ? byAbove : byBelow) {
            for (int k = links.start[layer[i]]; k < links.start[layer[i] + 1]; k++) {
              w += links.weight[k];
              sum += links.weight[k] * x[links.other[k]];
            }
          }
        }
        mean[pools] = sum / w - offset[i];
        weight[pools] = w;
        size[pools++] = 1;
        while (pools > 1 && mean[pools - 2] > mean[pools - 1]) {
          int a = pools - 2;
          int b = pools - 1;
          mean[a] = (mean[a] * weight[a] + mean[b] * weight[b]) / (weight[a] + weight[b]);
          weight[a] += weight[b];
          size[a] += size[b];
          pools--;
        }
      }
      int i = 0;
      for (int pool = 0; pool < pools; pool++) {
        for (int k = 0; k < size[pool]; k++, i++) {
          x[layer[i]] = mean[pool] + offset[i];
        }
      }
    }

    private LayeredLayout result(long crossings) {
      double left = Double.MAX_VALUE;
      double right = -Double.MAX_VALUE;
      for (int place = 0; place < places; place++) {
        left = Math.min(left, x[place] - NODE_WIDTH / 2);
        right = Math.max(right, x[place] + NODE_WIDTH / 2);
      }
      double shift = left;
      List<ImmutableDoubleArray> bends = new ArrayList<>();
      for (int v = 0; v < nodes; v++) {
        ImmutableDoubleArray.Builder own = ImmutableDoubleArray.builder(bendsOf[v]);
        for (int b = 0; b < bendsOf[v]; b++) {
          own.add(x[firstBend[v] + b] - shift);
        }
        bends.add(own.build());
      }
      return new LayeredLayout(
          ImmutableIntArray.copyOf(layerOf),
          ImmutableDoubleArray.copyOf(Arrays.stream(x, 0, nodes).map(at -> at - shift)),
          List.copyOf(bends),
          Math.max(0, right - left),
          order.length,
          crossings);
    }
  }

  /** For each place those that it is linked to in one direction. */
  private static final class Links {
    private final int[] start;
    private final int[] other;
    private final int[] weight;

    Links(int places, List<int[]> links, int own, int others) {
      start = new int[places + 1];
      other = new int[links.size()];
      weight = new int[links.size()];
      for (int[] link : links) {
        start[link[own] + 1]++;
      }
      for (int place = 0; place < places; place++) {
        start[place + 1] += start[place];
      }
      int[] next = start.clone();
      for (int[] link : links) {
        int k = next[link[own]]++;
        other[k] = link[others];
        weight[k] = link[2];
      }
    }
  }
}
