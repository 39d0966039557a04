package dev.nimble.testkit;

import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Runs graphs by their operators' reference kernels, in program order: the oracle of every device.
 */
public final class ReferenceExecutor {
  private final Graph graph;
  private final Map<Value, Tensor> variables = new LinkedHashMap<>();

  /** Starts with the variables' initial contents. */
  public ReferenceExecutor(Graph graph) {
    this.graph = graph;
    graph.variables().forEach(v -> variables.put(v, v.contents().copy()));
  }

  /** One run of a graph; inputs by position. */
  public static List<Tensor> run(Graph graph, List<Tensor> inputs) {
    return new ReferenceExecutor(graph).step(inputs);
  }

  /** One step; variables keep their contents for the next. */
  public List<Tensor> step(List<Tensor> inputs) {
    Map<Value, Tensor> tensors = new LinkedHashMap<>(variables);
    for (int i = 0; i < graph.inputs().size(); i++) {
      if (!graph.inputs().get(i).type().equals(inputs.get(i).type())) {
        throw new IllegalArgumentException(graph.inputs().get(i) + " given " + inputs.get(i));
      }
      tensors.put(graph.inputs().get(i), inputs.get(i));
    }
    for (Value value : graph.values()) {
      if (value.kind() == Value.Kind.CONSTANT) {
        tensors.put(value, value.contents());
      }
    }
    Map<Value, Integer> readers = new LinkedHashMap<>();
    graph.nodes().forEach(n -> n.inputs().forEach(v -> readers.merge(v, 1, Integer::sum)));
    graph.outputs().forEach(v -> readers.merge(v, 1, Integer::sum));
    for (Node node : graph.nodes()) {
      List<Tensor> operands = node.inputs().stream().map(tensors::get).toList();
      List<Tensor> results = new ArrayList<>();
      for (Value output : node.outputs()) {
        Tensor result = Tensor.zeros(output.type());
        results.add(result);
        tensors.put(output, result);
      }
      node.operator().bind(operands, results).run();
      for (Value input : node.inputs()) { // large models: drop what nobody reads again
        if (readers.merge(input, -1, Integer::sum) == 0 && input.producer() != null) {
          tensors.remove(input);
        }
      }
    }
    return graph.outputs().stream().map(v -> tensors.get(v).copy()).toList();
  }

  /** The present contents of the variables, in the graph's order. */
  public List<Tensor> variables() {
    return graph.variables().stream().map(v -> variables.get(v).copy()).toList();
  }
}
