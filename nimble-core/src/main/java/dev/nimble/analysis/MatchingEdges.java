package dev.nimble.analysis;

import org.jspecify.annotations.Nullable;

/**
 * A set of edges (x_u, y_v) in which a matching may grow: those of a DAG, those of its transitive
 * closure, or those of the closure that are tight for a vertex cover (see {@link PathCover}).
 *
 * <p>No closure is built. A search that leaves y_v for any ancestor of v passes through nodes t_p,
 * one for each node p: from y_v to t_p for each predecessor p of v, from t_u to t_p for each
 * predecessor p of u, and from t_u to x_u. A search need enter each t_u only once, however many
 * descendants u has, and any number of paths may pass it. So a search takes O(V + E) steps.
 *
 * @param dag the DAG
 * @param direct whether y_v is joined to x_p for each predecessor p of v
 * @param passages whether there are passages t
 * @param tight if not null, only the tight edges: direct ones with exactly one end in the cover,
 *     and those through passages with none
 */
record MatchingEdges(Dag dag, boolean direct, boolean passages, @Nullable VertexCover tight) {
  static MatchingEdges of(Dag dag) {
    return new MatchingEdges(dag, true, false, null);
  }

  static MatchingEdges ofClosure(Dag dag) {
    return new MatchingEdges(dag, false, true, null);
  }

  static MatchingEdges tight(Dag dag, VertexCover cover) {
    return new MatchingEdges(dag, true, true, cover);
  }

  /** Whether y_v is joined to x_p, p being a predecessor of v. */
  boolean joins(int p, int v) {
    return tight == null ? direct : tight.left()[p] != tight.right()[v];
  }

  /** Whether y_v is joined to the t of its predecessors. */
  boolean enters(int v) {
    return passages && (tight == null || !tight.right()[v]);
  }

  /** Whether t_u is joined to x_u. */
  boolean leaves(int u) {
    return tight == null || !tight.left()[u];
  }
}
