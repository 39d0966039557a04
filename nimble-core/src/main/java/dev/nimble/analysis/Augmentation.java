package dev.nimble.analysis;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Grows a matching along augmenting paths until there is none, over one of three sets of edges:
 * those of a DAG, those of its transitive closure, or those of the closure that are tight for a
 * vertex cover of the DAG's edges (see {@link PathCover}).
 *
 * <p>No closure is built. A search that leaves y_v for any ancestor of v passes through nodes t_p,
 * one for each node p: from y_v to t_p for each predecessor p of v, from t_u to t_p for each
 * predecessor p of u, and from t_u to x_u. A search enters each t_u once, however many descendants
 * u has, and any number of paths may pass it. So memory is O(V), and a round of searches takes O(V
 * + E) steps plus the lengths of the paths that it finds. Nothing recurs.
 *
 * <p>First come sweeps: rounds of depth-first searches from the free right nodes, in which each
 * left node is tried once (Pothen and Fan). They need few rounds, with no good bound on how few; so
 * what remains after {@link #MOST_SWEEPS} is left to Hopcroft and Karp, whose rounds find shortest
 * paths only, layer by layer, and are O(sqrt(V)).
 */
final class Augmentation {
  private static final int MOST_SWEEPS = 64;

  private static final int UNREACHED = -1;

  /** Used in this round, or known to lead nowhere. */
  private static final int SPENT = -2;

  private final int[] flat;
  private final int[] start;
  private final int nodes;
  private final BipartiteMatching matching;
  private final int mostSweeps;

  /** Which edges there are: direct ones (those of the DAG) and passages (through the t). */
  private boolean direct;

  private boolean passages;
  private @Nullable VertexCover tight;

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

  Augmentation(Dag dag, BipartiteMatching matching) {
    this(dag, matching, MOST_SWEEPS);
  }

  /** With another number of sweeps, for tests of the rounds that follow. */
  Augmentation(Dag dag, BipartiteMatching matching, int mostSweeps) {
    this.flat = dag.flatPredecessors();
    this.start = dag.starts();
    this.nodes = dag.nodes();
    this.matching = matching;
    this.mostSweeps = mostSweeps;
    this.xLayer = new int[nodes];
    this.yLayer = new int[nodes];
    this.tLayer = new int[nodes];
    this.yLeft = new int[nodes];
    this.tLeft = new int[nodes];
    this.beyond = new int[nodes];
    this.queue = new int[nodes];
    this.stack = new int[2 * nodes];
  }

  /** Makes the matching a maximum one of the DAG's edges. It must hold only such edges so far. */
  void growInEdges() {
    direct = true;
    passages = false;
    grow();
  }

  /**
   * Makes the matching a maximum one of the tight edges: the DAG's with exactly one end in {@code
   * cover}, and the closure's with none. What was matched on either side stays matched.
   */
  void growInTightEdges(VertexCover cover) {
    direct = true;
    passages = true;
    tight = cover;
    grow();
    tight = null;
  }

  /** Makes the matching a maximum one of the closure. */
  void growInClosure() {
    direct = false;
    passages = true;
    grow();
  }

  /**
   * A minimum vertex cover of the edges in which the matching has just been grown, by König's
   * theorem: what alternating paths from free right nodes reach on the left and do not on the
   * right.
   */
  VertexCover minimumVertexCover() {
    boolean[] left = new boolean[nodes];
    boolean[] right = new boolean[nodes];
    for (int u = 0; u < nodes; u++) {
      left[u] = layered ? xLayer[u] != UNREACHED : xLayer[u] == SPENT;
    }
    for (int v = 0; v < nodes; v++) {
      right[v] = matching.leader[v] >= 0 && !left[matching.leader[v]];
    }
    return new VertexCover(left, right);
  }

  private void grow() {
    layered = false;
    for (int sweep = 0; sweep < mostSweeps; sweep++) {
      Arrays.fill(xLayer, 0);
      Arrays.fill(tLayer, 0);
      if (!augment()) {
        return;
      }
    }
    layered = true;
    while (findLayers()) {
      augment();
    }
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
    boolean enters = enters(v);
    for (int i = start[v]; i < start[v + 1]; i++) {
      int p = flat[i];
      if (xLayer[p] == UNREACHED && isDirect(p, v)) {
        tail = reachLeft(p, layer, tail);
      }
      if (enters && tLayer[p] == UNREACHED) {
        tLayer[p] = layer;
        stack[depth++] = p;
      }
    }
    while (depth > 0) {
      int u = stack[--depth];
      if (xLayer[u] == UNREACHED && leaves(u)) {
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

  private boolean isDirect(int p, int v) {
    return tight == null ? direct : tight.left()[p] != tight.right()[v];
  }

  /** Whether y_v has edges to the t of its predecessors. */
  private boolean enters(int v) {
    return passages && (tight == null || !tight.right()[v]);
  }

  /** Whether t_u has an edge to x_u. */
  private boolean leaves(int u) {
    return tight == null || !tight.left()[u];
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
    boolean enters = enters(v);
    for (int left = yLeft[v]; left > 0; left--) {
      int p = flat[start[v] + left - 1];
      if (xLayer[p] == layer && isDirect(p, v)) {
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
    if (xLayer[u] == layer && leaves(u)) {
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
    while (tLeft[to] == 1 && !(xLayer[to] == layer && leaves(to))) {
      to = beyond[to];
      if (tLayer[to] != layer) {
        return -1;
      }
    }
    for (int u = p; u != to; ) {
      int next = beyond[u];
      beyond[u] = to;
      u = next;
    }
    return to;
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
