package dev.nimble.analysis;

import java.util.Arrays;

/**
 * Grows a matching in rounds of depth-first searches from the free right nodes, in which each left
 * node is tried once. A round takes O(V + E) steps, give or take the lengths of the paths that it
 * finds. Rounds that take any path (Pothen and Fan) find most of what there is at once; rounds that
 * find shortest paths only, layer by layer (Hopcroft and Karp), are O(sqrt(V)) at the most, from
 * whatever matching they start. Nothing recurs.
 */
final class RoundSearch {
  private static final int UNREACHED = -1;

  /** Used in this round, or known to lead nowhere. */
  private static final int SPENT = -2;

  private final MatchingEdges edges;
  private final int[] flat;
  private final int[] start;
  private final int nodes;
  private final BipartiteMatching matching;

  /** Whether this round keeps to layers; else all is in layer 0. */
  private boolean layered;

  /** The round's layer of each x_u, y_v, t_u. */
  private final int[] xLayer;

  private final int[] yLayer;
  private final int[] tLayer;
  private int lastLayer;

  /** How many predecessors y_v, t_u has yet to try in this round, the later ones first. */
  private final int[] yLeft;

  private final int[] tLeft;

  /** See {@link #passage}. */
  private final int[] beyond;

  /** Nodes in order of discovery; and the nodes of a depth-first search: v for y_v, ~u for t_u. */
  private final int[] queue;

  private final int[] stack;

  RoundSearch(MatchingEdges edges, BipartiteMatching matching) {
    this.edges = edges;
    this.flat = edges.dag().flatPredecessors();
    this.start = edges.dag().starts();
    this.nodes = edges.dag().nodes();
    this.matching = matching;
    this.xLayer = new int[nodes];
    this.yLayer = new int[nodes];
    this.tLayer = new int[nodes];
    this.yLeft = new int[nodes];
    this.tLeft = new int[nodes];
    this.beyond = new int[nodes];
    this.queue = new int[nodes];
    this.stack = new int[2 * nodes];
  }

  /** One round that takes any path; false if there is none and the matching is a maximum one. */
  boolean sweep() {
    layered = false;
    Arrays.fill(xLayer, 0);
    Arrays.fill(tLayer, 0);
    return augment();
  }

  /** As many rounds of shortest paths as make the matching a maximum one. */
  void finishInLayers() {
    layered = true;
    while (findLayers()) {
      augment();
    }
  }

  /**
   * The nodes u whose x_u an alternating path from a free y reaches, once the matching is maximum.
   */
  boolean[] reached() {
    boolean[] reached = new boolean[nodes];
    for (int u = 0; u < nodes; u++) {
      reached[u] = layered ? xLayer[u] != UNREACHED : xLayer[u] == SPENT;
    }
    return reached;
  }

  /** Layers by breadth-first search, up to the first free left node; false if none is reached. */
  private boolean findLayers() {
    Arrays.fill(xLayer, UNREACHED);
    Arrays.fill(tLayer, UNREACHED);
    int tail = 0;
    for (int v = 0; v < nodes; v++) {
      if (matching.leader[v] < 0) {
        yLayer[v] = 0;
        queue[tail++] = v;
      }
    }
    lastLayer = Integer.MAX_VALUE;
    for (int head = 0; head < tail && yLayer[queue[head]] <= lastLayer; head++) {
      tail = reachFrom(queue[head], tail);
    }
    return lastLayer < Integer.MAX_VALUE;
  }

  private int reachFrom(int v, int queued) {
    int layer = yLayer[v];
    int tail = queued;
    int depth = 0;
    boolean enters = edges.enters(v);
    for (int i = start[v]; i < start[v + 1]; i++) {
      int p = flat[i];
      if (xLayer[p] == UNREACHED && edges.joins(p, v)) {
        tail = reachLeft(p, layer, tail);
      }
      if (enters && tLayer[p] == UNREACHED) {
        tLayer[p] = layer;
        stack[depth++] = p;
      }
    }
    while (depth > 0) {
      int u = stack[--depth];
      if (xLayer[u] == UNREACHED && edges.leaves(u)) {
        tail = reachLeft(u, layer, tail);
      }
      for (int i = start[u]; i < start[u + 1]; i++) {
        if (tLayer[flat[i]] == UNREACHED) {
          tLayer[flat[i]] = layer;
          stack[depth++] = flat[i];
        }
      }
    }
    return tail;
  }

  private int reachLeft(int u, int layer, int tail) {
    xLayer[u] = layer;
    int w = matching.follower[u];
    if (w < 0) {
      lastLayer = layer;
      return tail;
    }
    yLayer[w] = layer + 1;
    queue[tail] = w;
    return tail + 1;
  }

  /** One search from each free right node; whether any of them found an augmenting path. */
  private boolean augment() {
    for (int v = 0; v < nodes; v++) {
      yLeft[v] = start[v + 1] - start[v];
      tLeft[v] = yLeft[v];
      beyond[v] = yLeft[v] > 0 ? flat[start[v]] : -1;
    }
    boolean grown = false;
    for (int v = 0; v < nodes; v++) {
      if (matching.leader[v] < 0 && yLeft[v] > 0) {
        grown |= augmentFrom(v);
      }
    }
    return grown;
  }

  /** Looks depth first, down the layers, for an augmenting path from the free y_root. */
  private boolean augmentFrom(int root) {
    int step = layered ? 1 : 0;
    int layer = 0;
    int depth = 0;
    stack[0] = root;
    while (depth >= 0) {
      int top = stack[depth];
      int to = top >= 0 ? stepFromRight(top, layer) : stepFromPassage(~top, layer);
      if (to >= nodes) {
        tLayer[to - nodes] = SPENT; // until a path is found that passes it
        stack[++depth] = ~(to - nodes);
      } else if (to >= 0) {
        xLayer[to] = SPENT;
        int w = matching.follower[to];
        if (w < 0) {
          flip(to, layer, depth);
          return true;
        }
        stack[++depth] = w;
        layer += step;
      } else {
        layer -= top >= 0 ? step : 0;
        depth--;
      }
    }
    return false;
  }

  /** Where to go from y_v: u for x_u, V + u for t_u, or -1 for nowhere. */
  private int stepFromRight(int v, int layer) {
    boolean enters = edges.enters(v);
    for (int left = yLeft[v]; left > 0; left--) {
      int p = flat[start[v] + left - 1];
      if (xLayer[p] == layer && edges.joins(p, v)) {
        yLeft[v] = left;
        return p;
      }
      if (enters && tLayer[p] == layer) {
        int passage = passage(p, layer);
        if (passage >= 0) {
          yLeft[v] = left;
          return nodes + passage;
        }
      }
    }
    yLeft[v] = 0;
    return -1;
  }

  /** The same from t_u. */
  private int stepFromPassage(int u, int layer) {
    if (xLayer[u] == layer && edges.leaves(u)) {
      return u;
    }
    for (int left = tLeft[u]; left > 0; left--) {
      int p = flat[start[u] + left - 1];
      if (tLayer[p] == layer) {
        int passage = passage(p, layer);
        if (passage >= 0) {
          tLeft[u] = left;
          return nodes + passage;
        }
      }
    }
    tLeft[u] = 0;
    return -1;
  }

  /**
   * The first node at which a search that enters t_p has a choice: p, unless all it has left to try
   * there is one predecessor. Such nodes are skipped, and from then on at once, or long passages
   * would be walked again and again. -1 if the search has been at that first node.
   */
  private int passage(int p, int layer) {
    int to = p;
    while (tLayer[to] == layer && tLeft[to] == 1 && !(xLayer[to] == layer && edges.leaves(to))) {
      to = beyond[to];
    }
    for (int u = p; u != to; ) {
      int next = beyond[u];
      beyond[u] = to;
      u = next;
    }
    return tLayer[to] == layer ? to : -1;
  }

  /** Augments along the path on the stack, which ends in the free x_last, and lets passages be. */
  private void flip(int last, int lastLayerOnPath, int depth) {
    int u = last;
    int layer = lastLayerOnPath;
    for (int d = depth; d >= 0; d--) {
      int v = stack[d];
      if (v >= 0) {
        int before = matching.leader[v];
        matching.match(u, v);
        u = before;
        layer -= layered ? 1 : 0;
      } else {
        tLayer[~v] = layer;
      }
    }
    matching.grow();
  }
}
