package dev.nimble.analysis;

/** The definitions, tried out on every possibility. Only for a handful of nodes. */
final class BruteForce {
  final int nodes;
  final boolean[][] edge;
  final boolean[][] reaches;
  final boolean[][] meg;
  final int megEdges;
  int fewestSyncs = Integer.MAX_VALUE;
  int fewestChainsAtFewestSyncs = Integer.MAX_VALUE;
  int fewestChains = Integer.MAX_VALUE;

  BruteForce(Dag dag) {
    nodes = dag.nodes();
    edge = new boolean[nodes][nodes];
    reaches = new boolean[nodes][nodes];
    meg = new boolean[nodes][nodes];
    for (int v = 0; v < nodes; v++) {
      for (int i = 0; i < dag.inDegree(v); i++) {
        edge[dag.predecessor(v, i)][v] = true;
        reaches[dag.predecessor(v, i)][v] = true;
      }
    }
    for (int k = 0; k < nodes; k++) {
      for (int u = 0; u < nodes; u++) {
        for (int v = 0; v < nodes; v++) {
          reaches[u][v] |= reaches[u][k] && reaches[k][v];
        }
      }
    }
    int count = 0;
    for (int u = 0; u < nodes; u++) {
      for (int v = 0; v < nodes; v++) {
        meg[u][v] = edge[u][v];
        for (int k = 0; k < nodes; k++) {
          meg[u][v] &= !(reaches[u][k] && reaches[k][v]);
        }
        count += meg[u][v] ? 1 : 0;
      }
    }
    megEdges = count;
    assign(0, new int[nodes], 0, 0);
  }

  /** Tries every assignment in which no two independent nodes share a stream. */
  private void assign(int v, int[] stream, int streams, int syncs) {
    if (v == nodes) {
      if (syncs < fewestSyncs) {
        fewestSyncs = syncs;
        fewestChainsAtFewestSyncs = streams;
      } else if (syncs == fewestSyncs) {
        fewestChainsAtFewestSyncs = Math.min(fewestChainsAtFewestSyncs, streams);
      }
      fewestChains = Math.min(fewestChains, streams);
      return;
    }
    for (int s = 0; s <= streams; s++) {
      boolean fits = true;
      int more = 0; // MEG edges into v from other streams
      for (int u = 0; u < v && fits; u++) {
        fits = stream[u] != s || reaches[u][v];
        more += meg[u][v] && stream[u] != s ? 1 : 0;
      }
      if (fits) {
        stream[v] = s;
        assign(v + 1, stream, Math.max(streams, s + 1), syncs + more);
      }
    }
  }

  /** The most MEG edges of which no two begin at the same node and no two end at the same. */
  int largestMatching() {
    return largestMatching(0, 0);
  }

  private int largestMatching(int u, int taken) {
    if (u == nodes) {
      return 0;
    }
    int largest = largestMatching(u + 1, taken);
    for (int v = 0; v < nodes; v++) {
      if (meg[u][v] && (taken >> v & 1) == 0) {
        largest = Math.max(largest, 1 + largestMatching(u + 1, taken | 1 << v));
      }
    }
    return largest;
  }

  /** The largest set of nodes of which none reaches another. */
  int width() {
    int[] related = new int[nodes];
    for (int u = 0; u < nodes; u++) {
      for (int v = 0; v < nodes; v++) {
        related[u] |= reaches[u][v] || reaches[v][u] ? 1 << v : 0;
      }
    }
    int largest = 0;
    for (int set = 0; set < 1 << nodes; set++) {
      boolean independent = Integer.bitCount(set) > largest;
      for (int u = 0; u < nodes && independent; u++) {
        independent = (set >> u & 1) == 0 || (set & related[u]) == 0;
      }
      largest = independent ? Integer.bitCount(set) : largest;
    }
    return largest;
  }
}
