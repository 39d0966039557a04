package dev.nimble.onnx;

import ai.onnx.proto.OnnxMl.GraphProto;
import dev.nimble.error.InvalidModelException;
import dev.nimble.error.Location;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.function.Predicate;

/**
 * Puts a model's nodes into an order in which operands come first: the file's order if it is one
 * (as ONNX demands), else the nearest to it.
 */
final class NodeOrder {
  private final GraphProto graph;
  private final Predicate<String> own;
  private final Predicate<String> visible;
  private final Map<String, Integer> producers = new HashMap<>();

  /**
   * {@code own} are the names of inputs and initializers; {@code visible} adds those of graphs
   * around this one.
   */
  NodeOrder(GraphProto graph, Predicate<String> own, Predicate<String> visible) {
    this.graph = graph;
    this.own = own;
    this.visible = visible;
  }

  /**
   * The order, as positions in the file.
   *
   * @throws InvalidModelException if a name is defined twice or not at all, or there is a cycle;
   *     names a node
   */
  int[] indices() {
    findProducers();
    int count = graph.getNodeCount();
    int[] missing = new int[count];
    List<List<Integer>> readers = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      readers.add(new ArrayList<>(1));
    }
    PriorityQueue<Integer> ready = new PriorityQueue<>();
    for (int i = 0; i < count; i++) {
      for (String input : graph.getNode(i).getInputList()) {
        Integer producer = producers.get(input);
        if (producer != null) {
          missing[i]++;
          readers.get(producer).add(i);
        } else if (!input.isEmpty() && !visible.test(input)) {
          throw new InvalidModelException(
              "operand '" + input + "' is not an input, an initializer or the output of a node",
              placeOf(i));
        }
      }
      if (missing[i] == 0) {
        ready.add(i);
      }
    }
    int[] order = new int[count];
    int done = 0;
    while (!ready.isEmpty()) {
      int next = ready.remove();
      order[done++] = next;
      for (int reader : readers.get(next)) {
        if (--missing[reader] == 0) {
          ready.add(reader);
        }
      }
    }
    if (done < count) {
      throw new InvalidModelException(
          "the node lies on a cycle: it depends on its own result", placeOf(onCycle(missing)));
    }
    return order;
  }

  private void findProducers() {
    for (int i = 0; i < graph.getNodeCount(); i++) {
      for (String output : graph.getNode(i).getOutputList()) {
        if (!output.isEmpty() && (producers.put(output, i) != null || own.test(output))) {
          throw new InvalidModelException("two values are named '" + output + "'", placeOf(i));
        }
      }
    }
  }

  /** Walks from a node that was never ready to one that it waits for, until one comes again. */
  private int onCycle(int[] missing) {
    boolean[] seen = new boolean[missing.length];
    int at = 0;
    while (missing[at] == 0) {
      at++;
    }
    while (!seen[at]) {
      seen[at] = true;
      for (String input : graph.getNode(at).getInputList()) {
        Integer producer = producers.get(input);
        if (producer != null && missing[producer] > 0) {
          at = producer;
          break;
        }
      }
    }
    return at;
  }

  private Location placeOf(int index) {
    return ModelChecks.placeOf(graph.getNode(index), index);
  }
}
