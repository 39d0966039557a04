package dev.nimble.schedule;

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import java.util.List;

/**
 * Where and when each node runs: its stream, the launch order, and the synchronisations between
 * streams. Within a stream, nodes run in launch order. Immutable.
 *
 * @param graph the scheduled graph
 * @param policy the name of the policy that made it
 * @param streams how many streams there are; every number in {@code streamOf} is less
 * @param streamOf the stream of each node, by node id
 * @param launchOrder every node once, in a topological order
 * @param syncs the synchronisations, in launch order of {@code to}, then of {@code from}
 * @param concurrencyDegree the width of the DAG: the most nodes of which no two depend on each
 *     other
 * @param optimality how it stands to Nimble's optimum, in words, for {@code explain()}; for example
 *     that a cheaper method was used on a very large graph
 */
public record Schedule(
    Graph graph,
    String policy,
    int streams,
    ImmutableIntArray streamOf,
    ImmutableList<Node> launchOrder,
    ImmutableList<Sync> syncs,
    int concurrencyDegree,
    String optimality) {

  /** The stream of {@code node}, in {@code [0, streams)}. */
  public int streamOf(Node node) {
    return streamOf.get(node.id());
  }

  /** The nodes of one stream, in launch order. */
  public List<Node> nodesOf(int stream) {
    return launchOrder.stream().filter(n -> streamOf(n) == stream).toList();
  }
}
