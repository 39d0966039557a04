package dev.nimble.transform;

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Value;
import dev.nimble.op.Binary;
import dev.nimble.op.Elementwise;
import dev.nimble.op.FusedElementwise;
import dev.nimble.op.Unary;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Makes one node of a group of single-precision elementwise nodes. A group grows backwards from its
 * last node: a producer joins if all its readers are in the group already, so nothing but the last
 * result leaves the group, and no path leaves it and comes back. All its results have one shape. It
 * runs at its last node's place, so no variable that it reads may be updated before that.
 */
final class ElementwiseFusion {
  private static final int MOST_INPUTS = 8;
  private static final int MOST_STEPS = 24;

  private final Graph graph;
  private final Uses uses;

  /** For each node the group that it belongs to; null for nodes that are not fused. */
  private final @Nullable Group[] groupOf;

  private ElementwiseFusion(Graph graph) {
    this.graph = graph;
    this.uses = new Uses(graph);
    this.groupOf = new @Nullable Group[graph.nodes().size()];
  }

  /** Nodes by program order; the last is the root. */
  private static final class Group {
    final TreeMap<Integer, Node> nodes = new TreeMap<>();

    boolean contains(Node node) {
      return nodes.containsKey(node.id());
    }

    Node root() {
      return nodes.lastEntry().getValue();
    }

    /** The distinct values that it reads from outside. */
    Set<Value> inputs() {
      Set<Value> inputs = new LinkedHashSet<>();
      for (Node node : nodes.values()) {
        for (Value input : node.inputs()) {
          if (input.producer() == null || !contains(input.producer())) {
            inputs.add(input);
          }
        }
      }
      return inputs;
    }
  }

  static Graph apply(Graph graph) {
    return new ElementwiseFusion(graph).rewrite();
  }

  private Graph rewrite() {
    for (Node node : graph.nodes().reverse()) {
      if (groupOf[node.id()] == null && isCandidate(node)) {
        grow(node);
      }
    }
    Rewriter rewriter = new Rewriter(graph);
    for (Node node : graph.nodes()) {
      Group group = groupOf[node.id()];
      if (group == null) {
        rewriter.copy(node);
      } else if (group.root() == node) {
        emit(group, rewriter);
      }
    }
    return rewriter.finish();
  }

  private static boolean isCandidate(Node node) {
    boolean fusible = node.operator() instanceof Unary || node.operator() instanceof Binary;
    return fusible
        && node.output().type().dataType() == DataType.F32
        && node.inputs().stream().allMatch(v -> v.type().dataType() == DataType.F32);
  }

  private void grow(Node root) {
    Group group = new Group();
    group.nodes.put(root.id(), root);
    List<Node> frontier = new ArrayList<>(List.of(root));
    while (!frontier.isEmpty()) {
      Node node = frontier.remove(frontier.size() - 1);
      for (Value input : node.inputs()) {
        Node producer = input.producer();
        if (producer != null && joins(producer, group, root)) {
          group.nodes.put(producer.id(), producer);
          if (group.nodes.size() > MOST_STEPS || group.inputs().size() > MOST_INPUTS) {
            group.nodes.remove(producer.id());
          } else {
            frontier.add(producer);
          }
        }
      }
    }
    if (group.nodes.size() > 1) {
      group.nodes.values().forEach(node -> groupOf[node.id()] = group);
    }
  }

  private boolean joins(Node producer, Group group, Node root) {
    return groupOf[producer.id()] == null
        && !group.contains(producer)
        && isCandidate(producer)
        && uses.readsTheSameAt(producer, root)
        && producer.output().type().equals(root.output().type())
        && !uses.isOutput(producer.output())
        && uses.readers(producer.output()).stream().allMatch(group::contains);
  }

  private static void emit(Group group, Rewriter rewriter) {
    Map<Value, Integer> operands = new LinkedHashMap<>();
    group.inputs().forEach(input -> operands.put(input, operands.size()));
    List<Value> inputs = rewriter.map(new ArrayList<>(operands.keySet()));
    ImmutableList.Builder<FusedElementwise.Step> steps = ImmutableList.builder();
    for (Node node : group.nodes.values()) {
      ImmutableIntArray indices =
          ImmutableIntArray.copyOf(node.inputs().stream().mapToInt(operands::get));
      steps.add(new FusedElementwise.Step((Elementwise) node.operator(), indices));
      operands.put(node.output(), operands.size());
    }
    rewriter.emit(group.root(), new FusedElementwise(steps.build(), inputs.size()), inputs);
  }
}
