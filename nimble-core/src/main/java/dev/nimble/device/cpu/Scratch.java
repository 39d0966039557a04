package dev.nimble.device.cpu;

/**
 * Arrays that kernels compute in, one set a thread: the JIT vectorises loops over separate arrays
 * indexed from 0, but not loops over direct buffers or over one array at several offsets. Grows to
 * what the largest kernel needs, then allocates nothing.
 */
final class Scratch {
  /** Columns of a panel row. */
  static final int PANEL = 256;

  /** Elements of a block. */
  static final int BLOCK = 1024;

  private static final ThreadLocal<Scratch> OF_THREAD = ThreadLocal.withInitial(Scratch::new);

  private float[][] panel = new float[0][];
  private float[][] blocks = new float[0][];
  private float[] row = new float[0];

  /** Four rows of {@link #PANEL} for the results of a matrix product. */
  final float[][] tile = new float[4][PANEL];

  private Scratch() {}

  static Scratch get() {
    return OF_THREAD.get();
  }

  /** At least {@code rows} arrays of {@link #PANEL}. */
  float[][] panel(int rows) {
    if (panel.length < rows) {
      panel = grown(panel, rows, PANEL);
    }
    return panel;
  }

  /** At least {@code rows} arrays of {@link #BLOCK}. */
  float[][] blocks(int rows) {
    if (blocks.length < rows) {
      blocks = grown(blocks, rows, BLOCK);
    }
    return blocks;
  }

  /** An array of at least {@code length}. */
  float[] row(int length) {
    if (row.length < length) {
      row = new float[length];
    }
    return row;
  }

  private static float[][] grown(float[][] old, int rows, int length) {
    float[][] grown = java.util.Arrays.copyOf(old, rows);
    for (int i = old.length; i < rows; i++) {
      grown[i] = new float[length];
    }
    return grown;
  }
}
