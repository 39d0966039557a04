package dev.nimble.analysis;

/** Which nodes reach which: the transitive closure, in one of two compressed forms. */
interface Ancestors {
  /** Whether there is a path of at least one edge from {@code u} to {@code v}. */
  boolean reaches(int u, int v);

  /**
   * A set from which ancestors are taken one by one, each at most once until {@link Untaken#reset}.
   *
   * @param member which nodes are in the set at first
   */
  Untaken untaken(boolean[] member);

  /** See {@link #untaken}. */
  interface Untaken {
    /** All members are back. O(V). */
    void reset();

    /**
     * Takes an ancestor of {@code v} out of the set.
     *
     * @param cursor {@code cursor[frame]} must be 0 at the first call for {@code v} since it was pushed as
     *     {@code frame}, and is advanced so that what was looked at is not looked at again
     * @return the ancestor, or -1 if none is left
     */
    int take(int v, int[] cursor, int frame);
  }
}
