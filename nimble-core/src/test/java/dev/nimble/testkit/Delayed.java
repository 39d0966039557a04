package dev.nimble.testkit;

import dev.nimble.graph.Graph;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Node;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Chaos: an operator whose reference kernel takes a random time before it reads its operands and
 * again before it returns, so that a missing wait shows as a wrong result. Another time at every
 * run; sometimes it yields, so that threads change places on few cores.
 *
 * @param operator what is computed
 * @param seed of the times
 * @param mostMicros the longest time, in microseconds
 */
public record Delayed(Operator operator, long seed, int mostMicros) implements Operator {
  /** The same graph with every operator delayed. */
  public static Graph all(Graph graph, long seed, int mostMicros) {
    GraphBuilder builder = new GraphBuilder(graph.name() + ", delayed");
    Map<Value, Value> copies = new HashMap<>();
    for (Value value : graph.values()) {
      if (value.kind() == Value.Kind.INPUT) {
        copies.put(value, builder.input(value.name(), value.type()));
      } else if (value.kind() == Value.Kind.CONSTANT) {
        copies.put(value, builder.constant(value.name(), value.contents()));
      } else if (value.kind() == Value.Kind.VARIABLE) {
        copies.put(value, builder.variable(value.name(), value.contents()));
      }
    }
    for (Node node : graph.nodes()) {
      Node copy =
          builder.add(
              node.name(),
              new Delayed(node.operator(), seed + node.id(), mostMicros),
              node.inputs().stream().map(copies::get).toList());
      for (int i = 0; i < node.outputs().size(); i++) {
        copies.put(node.outputs().get(i), copy.outputs().get(i));
      }
    }
    for (int i = 0; i < graph.outputs().size(); i++) {
      builder.output(graph.outputNames().get(i), copies.get(graph.outputs().get(i)));
    }
    return builder.build();
  }

  @Override
  public String name() {
    return "Delayed " + operator.name();
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    return operator.infer(inputs);
  }

  @Override
  public List<Integer> mutatedInputs() {
    return operator.mutatedInputs();
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Runnable kernel = operator.bind(inputs, outputs);
    return new Runnable() {
      private long state = seed * 0x9E3779B97F4A7C15L + 1;

      @Override
      public void run() {
        pause();
        kernel.run();
        pause();
      }

      private void pause() {
        state ^= state << 13;
        state ^= state >>> 7;
        state ^= state << 17;
        int dice = (int) (state >>> 60);
        if (dice < 6) {
          return;
        }
        if (dice == 6) {
          Thread.yield();
        }
        long until = System.nanoTime() + ((state >>> 20) & 0xfffff) * mostMicros * 1_000 / 0xfffff;
        while (System.nanoTime() < until) {
          Thread.onSpinWait();
        }
      }
    };
  }
}
