package dev.nimble;

import dev.nimble.device.Device;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Operand;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import dev.nimble.op.OperatorExecutor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Runs a graph operator by operator in program order, scheduling each again at every step: the
 * baseline with which a replay is compared, and its oracle. Constants and variables are brought to
 * the device once. Not thread-safe.
 */
public final class EagerGraph implements AutoCloseable {
  private final Graph graph;
  private final OperatorExecutor executor;
  private final @Nullable Operand[] operands;
  private final int[] lastReader;

  /** Opens an eager executor of {@code device} for {@code graph}. */
  public EagerGraph(Graph graph, Device device) {
    this.graph = graph;
    this.executor = device.eager();
    this.operands = new @Nullable Operand[graph.values().size()];
    this.lastReader = lastReaders(graph);
    try {
      upload();
    } catch (Throwable failure) {
      Nimble.closeAfter(failure, executor);
      throw failure;
    }
  }

  private void upload() {
    for (Value value : graph.values()) {
      if (value.kind() == Value.Kind.CONSTANT) {
        operands[value.id()] = executor.upload(value.contents());
      } else if (value.kind() == Value.Kind.VARIABLE) {
        operands[value.id()] = executor.variable(value.contents());
      }
    }
  }

  private static int[] lastReaders(Graph graph) {
    int[] last = new int[graph.values().size()];
    Arrays.fill(last, -1);
    graph.nodes().forEach(node -> node.inputs().forEach(input -> last[input.id()] = node.id()));
    graph.outputs().forEach(output -> last[output.id()] = Integer.MAX_VALUE);
    return last;
  }

  /**
   * Runs one step; every input must be given.
   *
   * @return the outputs by name, in the graph's order; fresh tensors
   */
  public Map<String, Tensor> run(Map<String, Tensor> inputs) {
    for (Value input : graph.inputs()) {
      Tensor given = inputs.get(input.name());
      if (given == null || !given.type().equals(input.type())) {
        throw new InvalidArgumentException(
            "input '"
                + input.name()
                + "' must be "
                + input.type()
                + ", not "
                + (given == null ? "missing" : given.type().toString()));
      }
      operands[input.id()] = executor.upload(given);
    }
    for (Node node : graph.nodes()) {
      List<Operand> arguments = new ArrayList<>(node.inputs().size());
      node.inputs().forEach(input -> arguments.add(operandOf(input)));
      List<Operand> results = executor.execute(node.operator(), arguments);
      for (int i = 0; i < results.size(); i++) {
        operands[node.outputs().get(i).id()] = results.get(i);
      }
      node.inputs().forEach(input -> releaseAfter(node, input));
      node.outputs().forEach(output -> releaseAfter(node, output));
    }
    Map<String, Tensor> outputs = new LinkedHashMap<>();
    for (int i = 0; i < graph.outputs().size(); i++) {
      Tensor result = executor.download(operandOf(graph.outputs().get(i)));
      outputs.put(graph.outputNames().get(i), result);
    }
    graph.outputs().forEach(this::release);
    graph.inputs().forEach(this::release);
    return outputs;
  }

  private Operand operandOf(Value value) {
    Operand operand = operands[value.id()];
    if (operand == null) {
      throw new IllegalStateException(value + " was released before its last use");
    }
    return operand;
  }

  private void releaseAfter(Node node, Value value) {
    if (lastReader[value.id()] <= node.id()) {
      release(value);
    }
  }

  private void release(Value value) {
    Operand operand = operands[value.id()];
    boolean stepOwned = value.kind() == Value.Kind.INPUT || value.kind() == Value.Kind.RESULT;
    if (operand != null && stepOwned) {
      operands[value.id()] = null;
      executor.release(operand);
    }
  }

  /** Frees every tensor on the device. Idempotent. */
  @Override
  public void close() {
    executor.close();
  }
}
