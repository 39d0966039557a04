package dev.nimble.analysis;

import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Finds implied edges with a row of numbers for each node: for each chain of a cover, the last node
 * of the chain that reaches it or is it; all earlier ones then reach it as well. For narrow graphs,
 * however long.
 *
 * <p>The chains are found on the way, greedily: a node joins a chain whose last node reaches it. On
 * the graphs of networks their number is the width or little more. A row lives until the last
 * successor has read it, and that one may take it over.
 */
final class ChainReduction {
  /** The most numbers that may be held at once: 256 MiB. */
  private static final long MOST_HELD = 64L << 20;

  private final Dag dag;
  private final int[] flat;

  /** The chain of each node, and its place there, from 0. */
  private final int[] chainOf;

  private final int[] placeIn;

  /** For each chain its last node. */
  private int[] last = new int[16];

  private int chains;

  /** How many successors have yet to read the row of each node. */
  private final int[] readers;

  /** For each node that has readers: by chain, the last place; -1, or beyond the end, for none. */
  private final int[][] rows;

  /** How many numbers have been combined or copied, and how many are held. */
  private long steps;

  private long held;

  private ChainReduction(Dag dag) {
    this.dag = dag;
    this.flat = dag.flatPredecessors();
    this.chainOf = new int[dag.nodes()];
    this.placeIn = new int[dag.nodes()];
    this.readers = new int[dag.nodes()];
    this.rows = new int[dag.nodes()][];
    for (int p : flat) {
      readers[p]++;
    }
  }

  /**
   * Which edges are implied, in the order of {@link Dag#flatPredecessors}; or null once that takes
   * more than {@code mostSteps} numbers combined.
   */
  static boolean @Nullable [] impliedEdges(Dag dag, long mostSteps) {
    return new ChainReduction(dag).run(mostSteps);
  }

  private boolean @Nullable [] run(long mostSteps) {
    int[] none = {};
    boolean[] implied = new boolean[flat.length];
    for (int v = 0; v < dag.nodes(); v++) {
      int from = dag.start(v);
      int to = dag.start(v + 1);
      int[] row = from < to ? take(flat[to - 1]) : none;
      for (int i = to - 2; i >= from; i--) { // only later predecessors imply earlier ones
        int p = flat[i];
        int chain = chainOf[p];
        implied[i] = chain < row.length && row[chain] >= placeIn[p];
        if (implied[i]) {
          release(p);
        } else if (rows[p].length > row.length) {
          int[] shorter = row;
          row = take(p);
          combine(row, shorter);
        } else {
          combine(row, rows[p]);
          release(p);
        }
      }
      join(v, row);
      if (readers[v] > 0) {
        row = withLength(row, chainOf[v] + 1);
        row[chainOf[v]] = placeIn[v];
        rows[v] = row;
        held += row.length;
      }
      if (steps > mostSteps || held > MOST_HELD) {
        return null;
      }
    }
    return implied;
  }

  /** The row of {@code p} for its reader to write on: its own if that is the last reader. */
  private int[] take(int p) {
    int[] row = rows[p];
    if (readers[p] > 1) {
      steps += row.length;
      row = row.clone();
    }
    release(p);
    return row;
  }

  private void release(int p) {
    if (--readers[p] == 0) {
      held -= rows[p].length;
      rows[p] = new int[0];
    }
  }

  private void combine(int[] row, int[] other) {
    steps += other.length;
    for (int c = 0; c < other.length; c++) {
      row[c] = Math.max(row[c], other[c]);
    }
  }

  private static int[] withLength(int[] row, int length) {
    if (row.length >= length) {
      return row;
    }
    int[] longer = Arrays.copyOf(row, length + length / 4);
    Arrays.fill(longer, row.length, longer.length, -1);
    return longer;
  }

  /**
   * Puts {@code v} at the end of a chain whose last node reaches it, best a predecessor; or a new
   * one.
   */
  private void join(int v, int[] row) {
    int chain = -1;
    for (int i = dag.start(v + 1) - 1; i >= dag.start(v) && chain < 0; i--) {
      int p = flat[i];
      chain = last[chainOf[p]] == p ? chainOf[p] : -1;
    }
    for (int c = 0; c < row.length && chain < 0; c++) {
      chain = row[c] >= 0 && row[c] == placeIn[last[c]] ? c : -1;
    }
    if (chain < 0) {
      chain = chains++;
      if (chain == last.length) {
        last = Arrays.copyOf(last, 2 * chain);
      }
    } else {
      placeIn[v] = placeIn[last[chain]] + 1;
    }
    chainOf[v] = chain;
    last[chain] = v;
  }
}
