package dev.nimble.benchmarks.schedule;

import dev.nimble.analysis.Dag;
import java.util.HashSet;
import java.util.Set;
import org.jgrapht.alg.TransitiveReduction;
import org.jgrapht.alg.matching.HopcroftKarpMaximumCardinalityBipartiteMatching;
import org.jgrapht.graph.DefaultEdge;
import org.jgrapht.graph.SimpleDirectedGraph;
import org.jgrapht.graph.SimpleGraph;

/**
 * Steps 1 to 3 of Nimble's algorithm with JGraphT: reduction, bipartite graph, maximum matching.
 */
public final class JgraphtAssignment {
  private final SimpleDirectedGraph<Integer, DefaultEdge> graph;

  /** Copies a DAG into JGraphT's form. */
  public JgraphtAssignment(Dag dag) {
    graph = new SimpleDirectedGraph<>(DefaultEdge.class);
    for (int v = 0; v < dag.nodes(); v++) {
      graph.addVertex(v);
      for (int i = 0; i < dag.inDegree(v); i++) {
        graph.addEdge(dag.predecessor(v, i), v);
      }
    }
  }

  /** The number of syncs, |E'| - |M|. Reduces the graph in place: later calls find it reduced. */
  public int syncs() {
    TransitiveReduction.INSTANCE.reduce(graph);
    int n = graph.vertexSet().size();
    SimpleGraph<Integer, DefaultEdge> bipartite = new SimpleGraph<>(DefaultEdge.class);
    Set<Integer> right = new HashSet<>();
    for (int v : graph.vertexSet()) {
      bipartite.addVertex(v);
      bipartite.addVertex(n + v);
      right.add(n + v);
    }
    for (DefaultEdge edge : graph.edgeSet()) {
      bipartite.addEdge(graph.getEdgeSource(edge), n + graph.getEdgeTarget(edge));
    }
    int matching =
        new HopcroftKarpMaximumCardinalityBipartiteMatching<>(bipartite, graph.vertexSet(), right)
            .getMatching()
            .getEdges()
            .size();
    return graph.edgeSet().size() - matching;
  }
}
