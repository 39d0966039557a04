package dev.nimble.graph;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** Derives the edges of the DAG from operands and from the program order of variable accesses. */
final class Dependencies {
  private Dependencies() {}

  /** Which nodes have used a variable since, and including, its last update. */
  private static final class Accesses {
    int lastUpdate = -1;
    final TreeSet<Integer> readsSince = new TreeSet<>();
  }

  /** For each node the ids of the nodes that must come before it, rising. */
  static int[][] predecessors(List<Node> nodes) {
    Map<Value, Accesses> variables = new HashMap<>();
    int[][] predecessors = new int[nodes.size()][];
    TreeSet<Integer> before = new TreeSet<>();
    for (Node node : nodes) {
      before.clear();
      List<Value> mutated = node.mutatedVariables();
      for (Value input : node.inputs()) {
        Node producer = input.producer();
        if (producer != null) {
          before.add(producer.id());
        } else if (input.kind() == Value.Kind.VARIABLE) {
          Accesses accesses = variables.computeIfAbsent(input, v -> new Accesses());
          if (accesses.lastUpdate >= 0) {
            before.add(accesses.lastUpdate);
          }
          if (mutated.contains(input)) {
            before.addAll(accesses.readsSince);
          }
        }
      }
      for (Value input : node.inputs()) {
        if (input.kind() == Value.Kind.VARIABLE) {
          Accesses accesses = variables.computeIfAbsent(input, v -> new Accesses());
          if (mutated.contains(input)) {
            accesses.lastUpdate = node.id();
            accesses.readsSince.clear();
          } else {
            accesses.readsSince.add(node.id());
          }
        }
      }
      before.remove(node.id());
      predecessors[node.id()] = before.stream().mapToInt(Integer::intValue).toArray();
    }
    return predecessors;
  }

  /** For each node the ids of the nodes that list it, rising. */
  static int[][] reversed(int[][] predecessors) {
    int[] counts = new int[predecessors.length];
    for (int[] list : predecessors) {
      for (int p : list) {
        counts[p]++;
      }
    }
    int[][] successors = new int[predecessors.length][];
    for (int i = 0; i < counts.length; i++) {
      successors[i] = new int[counts[i]];
      counts[i] = 0;
    }
    for (int node = 0; node < predecessors.length; node++) {
      for (int p : predecessors[node]) {
        successors[p][counts[p]++] = node;
      }
    }
    return successors;
  }
}
