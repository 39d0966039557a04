package dev.nimble.device.cpu;

import java.nio.FloatBuffer;

/**
 * C = A * B in single precision. Columns are taken {@link Scratch#PANEL} at a time: B's part is
 * copied into arrays, one a row, and for four rows of A at a time the products are summed in a tile
 * of four arrays, two rows of B at each pass.
 */
final class Product {
  private Product() {}

  /** Where B comes from. */
  interface Columns {
    /**
     * Writes columns {@code from} to {@code from + count} of each row k of B to {@code panel[k]}.
     */
    void fill(float[][] panel, int from, int count);
  }

  /** Where C goes. */
  interface Rows {
    /**
     * Takes rows {@code first} to {@code first + rows} of C, columns {@code from} to {@code from +
     * count}, from {@code tile[0]} on; may overwrite the tile.
     */
    void take(float[][] tile, int first, int rows, int from, int count);
  }

  /**
   * Multiplies.
   *
   * @param m rows of A and C
   * @param k columns of A and rows of B
   * @param n columns of B and C
   * @param a A's elements: A[i, p] at {@code aStart + i * aRow + p * aColumn}
   */
  static void multiply(
      int m, int k, int n, FloatBuffer a, int aStart, int aRow, int aColumn, Columns b, Rows c) {
    Scratch scratch = Scratch.get();
    float[][] panel = scratch.panel(k + 1);
    float[][] tile = scratch.tile;
    for (int from = 0; from < n; from += Scratch.PANEL) {
      int count = Math.min(Scratch.PANEL, n - from);
      b.fill(panel, from, count);
      if ((k & 1) != 0) {
        java.util.Arrays.fill(panel[k], 0, count, 0f); // rows are taken in pairs
      }
      for (int i = 0; i < m; i += 4) {
        int rows = Math.min(4, m - i);
        for (float[] row : tile) {
          java.util.Arrays.fill(row, 0, count, 0f);
        }
        int a0 = aStart + i * aRow;
        int a1 = rows > 1 ? a0 + aRow : a0; // rows beyond the last repeat it; nobody takes them
        int a2 = rows > 2 ? a1 + aRow : a0;
        int a3 = rows > 3 ? a2 + aRow : a0;
        int even = k & ~1;
        for (int p = 0; p < even; p += 2) {
          int at = p * aColumn;
          int next = at + aColumn;
          add(
              tile[0],
              tile[1],
              tile[2],
              tile[3],
              panel[p],
              panel[p + 1],
              count,
              a.get(a0 + at),
              a.get(a0 + next),
              a.get(a1 + at),
              a.get(a1 + next),
              a.get(a2 + at),
              a.get(a2 + next),
              a.get(a3 + at),
              a.get(a3 + next));
        }
        if (even < k) {
          int at = even * aColumn;
          add(
              tile[0],
              tile[1],
              tile[2],
              tile[3],
              panel[even],
              panel[k],
              count,
              a.get(a0 + at),
              0f,
              a.get(a1 + at),
              0f,
              a.get(a2 + at),
              0f,
              a.get(a3 + at),
              0f);
        }
        c.take(tile, i, rows, from, count);
      }
    }
  }

  /** The inner loop. Its size and shape are such that C2 vectorises it; larger ones it does not. */
  private static void add(
      float[] c0,
      float[] c1,
      float[] c2,
      float[] c3,
      float[] b0,
      float[] b1,
      int n,
      float a00,
      float a01,
      float a10,
      float a11,
      float a20,
      float a21,
      float a30,
      float a31) {
    for (int i = 0; i < n; i++) {
      float x = b0[i];
      float y = b1[i];
      c0[i] = Math.fma(a01, y, Math.fma(a00, x, c0[i]));
      c1[i] = Math.fma(a11, y, Math.fma(a10, x, c1[i]));
      c2[i] = Math.fma(a21, y, Math.fma(a20, x, c2[i]));
      c3[i] = Math.fma(a31, y, Math.fma(a30, x, c3[i]));
    }
  }
}
