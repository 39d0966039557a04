package dev.nimble.analysis;

/** A bit for every pair of nodes: V^2 / 8 bytes. The choice for small and for wide graphs. */
final class BitAncestors implements Ancestors {
  private final int nodes;
  private final int words;
  private final long[] bits;

  BitAncestors(int nodes) {
    this.nodes = nodes;
    this.words = (nodes + 63) >>> 6;
    this.bits = new long[Math.multiplyExact(nodes, words)];
  }

  static long sizeBytes(long nodes) {
    return nodes * ((nodes + 63) >>> 6) * 8;
  }

  @Override
  public boolean reaches(int u, int v) {
    return (bits[v * words + (u >>> 6)] & 1L << u) != 0;
  }

  /** Adds {@code p} and all its ancestors to the ancestors of {@code v}, which is greater. */
  void addPredecessor(int v, int p) {
    int to = v * words;
    int from = p * words;
    for (int w = 0, end = (p >>> 6) + 1; w < end; w++) {
      bits[to + w] |= bits[from + w];
    }
    bits[to + (p >>> 6)] |= 1L << p;
  }

  @Override
  public Untaken untaken(boolean[] member) {
    return new Remaining(member);
  }

  private final class Remaining implements Untaken {
    private final long[] members = new long[words];
    private final long[] left = new long[words];

    Remaining(boolean[] member) {
      for (int v = 0; v < nodes; v++) {
        if (member[v]) {
          members[v >>> 6] |= 1L << v;
        }
      }
      reset();
    }

    @Override
    public void reset() {
      System.arraycopy(members, 0, left, 0, words);
    }

    @Override
    public int take(int v, int[] cursor, int frame) {
      int row = v * words;
      int end = (v >>> 6) + 1;
      for (int w = cursor[frame]; w < end; w++) {
        long candidates = bits[row + w] & left[w];
        if (candidates != 0) {
          int u = (w << 6) + Long.numberOfTrailingZeros(candidates);
          left[w] &= ~(1L << u);
          cursor[frame] = w;
          return u;
        }
      }
      cursor[frame] = end;
      return -1;
    }
  }
}
