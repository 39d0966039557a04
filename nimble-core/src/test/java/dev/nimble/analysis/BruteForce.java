package dev.nimble.analysis;

/** The definitions, tried out on every possibility. Only for a handful of nodes. */
final class BruteForce {
  final int nodes;
  final boolean[][] edge;
  final boolean[][] reaches;
  final boolean[][] meg;
  int fewestSyncs = Integer.MAX_VALUE;
  int fewestChainsAtFewestSyncs = Integer.MAX_VALUE;

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
    for (int u = 0; u < nodes; u++) {
      for (int v = 0; v < nodes; v++) {
        meg[u][v] = edge[u][v];
        for (int k = 0; k < nodes; k++) {
          meg[u][v] &= !(reaches[u][k] && reaches[k][v]);
        }
      }
    }
    assign(0, new int[nodes], 0);
  }

  /** Tries every assignment in which no two independent nodes share a stream. */
  private void assign(int v, int[] stream, int streams) {
    if (v == nodes) {
      int syncs = 0;
      for (int a = 0; a < nodes; a++) {
        for (int b = 0; b < nodes; b++) {
          syncs += meg[a][b] && stream[a] != stream[b] ? 1 : 0;
        }
      }
      if (syncs < fewestSyncs) {
        fewestSyncs = syncs;
        fewestChainsAtFewestSyncs = streams;
      } else if (syncs == fewestSyncs) {
        fewestChainsAtFewestSyncs = Math.min(fewestChainsAtFewestSyncs, streams);
      }
      return;
    }
    for (int s = 0; s <= streams; s++) {
      boolean fits = true;
      for (int u = 0; u < v && fits; u++) {
        fits = stream[u] != s || reaches[u][v];
      }
      if (fits) {
        stream[v] = s;
        assign(v + 1, stream, Math.max(streams, s + 1));
      }
    }
  }

  /** The largest set of nodes of which none reaches another. */
  int width() {
    int largest = 0;
    for (int set = 0; set < 1 << nodes; set++) {
      boolean independent = Integer.bitCount(set) > largest;
      for (int u = 0; u < nodes && independent; u++) {
        for (int v = 0; v < nodes && independent; v++) {
          independent = (set >> u & 1) == 0 || (set >> v & 1) == 0 || !reaches[u][v];
        }
      }
      largest = independent ? Integer.bitCount(set) : largest;
    }
    return largest;
  }
}
