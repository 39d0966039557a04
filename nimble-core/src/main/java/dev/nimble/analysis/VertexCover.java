package dev.nimble.analysis;

/**
 * Left and right nodes that meet every edge of a bipartite graph; see {@link BipartiteMatching}.
 *
 * @param left for each node u whether x_u belongs to it
 * @param right for each node v whether y_v belongs to it
 */
record VertexCover(boolean[] left, boolean[] right) {}
