package dev.nimble.analysis;

import java.util.HashSet;
import java.util.Set;
import org.jgrapht.Graph;
import org.jgrapht.alg.TransitiveClosure;
import org.jgrapht.alg.TransitiveReduction;
import org.jgrapht.alg.matching.HopcroftKarpMaximumCardinalityBipartiteMatching;
import org.jgrapht.graph.DefaultEdge;
import org.jgrapht.graph.DirectedAcyclicGraph;
import org.jgrapht.graph.SimpleDirectedGraph;
import org.jgrapht.graph.SimpleGraph;

/** The same quantities by another library, for graphs too large for {@link BruteForce}. */
final class Jgrapht {
  final int megEdges;
  final int megMatching;
  final int closureMatching;

  Jgrapht(Dag dag) {
    Graph<Integer, DefaultEdge> meg = copy(dag, new SimpleDirectedGraph<>(DefaultEdge.class));
    TransitiveReduction.INSTANCE.reduce(meg);
    DirectedAcyclicGraph<Integer, DefaultEdge> closure =
        copy(dag, new DirectedAcyclicGraph<>(DefaultEdge.class));
    TransitiveClosure.INSTANCE.closeDirectedAcyclicGraph(closure);
    megEdges = meg.edgeSet().size();
    megMatching = maximumMatching(meg);
    closureMatching = maximumMatching(closure);
  }

  private static <G extends Graph<Integer, DefaultEdge>> G copy(Dag dag, G graph) {
    for (int v = 0; v < dag.nodes(); v++) {
      graph.addVertex(v);
      for (int i = 0; i < dag.inDegree(v); i++) {
        graph.addEdge(dag.predecessor(v, i), v);
      }
    }
    return graph;
  }

  private static int maximumMatching(Graph<Integer, DefaultEdge> graph) {
    Graph<Integer, DefaultEdge> bipartite = new SimpleGraph<>(DefaultEdge.class);
    int n = graph.vertexSet().size();
    Set<Integer> right = new HashSet<>();
    for (int v : graph.vertexSet()) {
      bipartite.addVertex(v);
      bipartite.addVertex(n + v);
      right.add(n + v);
    }
    graph
        .edgeSet()
        .forEach(e -> bipartite.addEdge(graph.getEdgeSource(e), n + graph.getEdgeTarget(e)));
    return new HopcroftKarpMaximumCardinalityBipartiteMatching<>(
            bipartite, graph.vertexSet(), right)
        .getMatching()
        .getEdges()
        .size();
  }
}
