package dev.nimble.op;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.testkit.RandomGraphs;
import dev.nimble.testkit.RandomTensors;
import dev.nimble.testkit.Seeds;
import dev.nimble.transform.Pass;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What holds for the kernel of every operator; the operators are those of random graphs. */
class ReferenceKernelTest {
  private static Graph graph(Random random, DataType type) {
    RandomGraphs.Style style =
        RandomGraphs.Style.ofNodes(1 + random.nextInt(40)).withJumps().withVariables().in(type);
    Graph graph = RandomGraphs.of(random, style);
    switch (random.nextInt(4)) { // and the fused forms of operators
      case 0:
        return Pass.ELEMENTWISE_FUSION.apply(graph);
      case 1:
        return Pass.EPILOGUES.apply(graph);
      default:
        return graph;
    }
  }

  private static List<Tensor> operands(Node node, Random random) {
    List<Tensor> operands = new ArrayList<>();
    for (Value input : node.inputs()) {
      operands.add(
          input.kind() == Value.Kind.CONSTANT
              ? input.contents()
              : RandomTensors.of(input.type(), random));
    }
    return operands;
  }

  private static List<Tensor> results(Node node) {
    return node.outputs().stream().map(v -> Tensor.zeros(v.type())).toList();
  }

  /** Runs a pure node on copies in another floating type; the results' types follow. */
  private static List<Tensor> runIn(DataType floating, InType operator, List<Tensor> operands) {
    List<Tensor> converted = new ArrayList<>();
    operands.forEach(t -> converted.add(convert(t, floating)));
    List<Tensor> outputs = new ArrayList<>();
    for (TensorType type : operator.infer(converted.stream().map(Tensor::type).toList())) {
      outputs.add(Tensor.zeros(type));
    }
    operator.bind(converted, outputs).run();
    return outputs;
  }

  private static Tensor convert(Tensor tensor, DataType floating) {
    if (!tensor.type().dataType().isFloating()) {
      return tensor;
    }
    Tensor converted = Tensor.zeros(new TensorType(floating, tensor.type().shape()));
    for (int i = 0; i < tensor.type().elements(); i++) {
      converted.setDouble(i, tensor.getDouble(i));
    }
    return converted;
  }

  /** An operator as it is in graphs of one floating type: a Cast names it. */
  private record InType(Operator operator, DataType floating) {
    List<TensorType> infer(List<TensorType> types) {
      return inType().infer(types);
    }

    Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
      return inType().bind(inputs, outputs);
    }

    private Operator inType() {
      return operator instanceof Cast && ((Cast) operator).to().isFloating()
          ? new Cast(floating)
          : operator;
    }
  }

  @Test
  void everyResultElementIsWrittenAndNothingIsKeptBetweenRuns() {
    Seeds.forEach(
        60,
        (random, seed) -> {
          for (Node node : graph(random, DataType.F32).nodes()) {
            if (!node.mutatedVariables().isEmpty()) {
              continue;
            }
            List<Tensor> operands = operands(node, random);
            List<Tensor> results = results(node);
            Runnable kernel = node.operator().bind(operands, results);
            kernel.run();
            List<Tensor> first = results.stream().map(Tensor::copy).toList();
            for (Tensor result : results) {
              for (int i = 0; i < result.type().sizeBytes(); i++) {
                result.bytes().put(i, (byte) 0x55);
              }
            }
            kernel.run();
            for (int k = 0; k < results.size(); k++) {
              assertThat(results.get(k).bitwiseEquals(first.get(k))).as("%s again", node).isTrue();
            }
          }
        });
  }

  @Test
  void operandsAreNotWritten() {
    Seeds.forEach(
        40,
        (random, seed) -> {
          for (Node node : graph(random, DataType.F32).nodes()) {
            List<Tensor> operands = operands(node, random);
            List<Tensor> before = operands.stream().map(Tensor::copy).toList();
            node.operator().bind(operands, results(node)).run();
            for (int k = 0; k < operands.size(); k++) {
              if (!node.operator().mutatedInputs().contains(k)) {
                assertThat(operands.get(k).bitwiseEquals(before.get(k))).as("%s", node).isTrue();
              }
            }
          }
        });
  }

  @Test
  void runningAllocatesNothing() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long thread = Thread.currentThread().getId();
    threads.getThreadAllocatedBytes(thread);
    Seeds.forEach(
        40,
        (random, seed) -> {
          for (Node node : graph(random, DataType.F32).nodes()) {
            Runnable kernel = node.operator().bind(operands(node, random), results(node));
            kernel.run(); // loads classes
            long before = threads.getThreadAllocatedBytes(thread);
            kernel.run();
            assertThat(threads.getThreadAllocatedBytes(thread) - before)
                .as("%s of %s", node, node.inputs())
                .isZero();
          }
        });
  }

  /** Half precision is a storage type: single-precision results, rounded once. */
  @ParameterizedTest
  @EnumSource(names = {"F16", "BF16"})
  void halfPrecisionRoundsSingleOnce(DataType stored) {
    Seeds.forEach(
        60,
        (random, seed) -> {
          for (Node node : graph(random, stored).nodes()) {
            if (!node.mutatedVariables().isEmpty() || node.operator() instanceof FusedElementwise) {
              continue; // a fused operator rounds at every step
            }
            List<Tensor> operands = operands(node, random);
            List<Tensor> half = runIn(stored, new InType(node.operator(), stored), operands);
            List<Tensor> single =
                runIn(DataType.F32, new InType(node.operator(), DataType.F32), operands);
            for (int k = 0; k < half.size(); k++) {
              assertThat(half.get(k).bitwiseEquals(convert(single.get(k), stored)))
                  .as("%s of %s", node, node.inputs())
                  .isTrue();
            }
          }
        });
  }

  @Test
  void doublePrecisionAgreesWithSingle() {
    Seeds.forEach(
        60,
        (random, seed) -> {
          for (Node node : graph(random, DataType.F32).nodes()) {
            if (!node.mutatedVariables().isEmpty() || node.operator() instanceof FusedElementwise) {
              continue;
            }
            List<Tensor> operands = operands(node, random);
            List<Tensor> single =
                runIn(DataType.F32, new InType(node.operator(), DataType.F32), operands);
            List<Tensor> twice =
                runIn(DataType.F64, new InType(node.operator(), DataType.F64), operands);
            for (int k = 0; k < single.size(); k++) {
              assertThat(
                      RandomTensors.largestDifference(
                          convert(single.get(k), DataType.F64),
                          convert(twice.get(k), DataType.F64)))
                  .as("%s of %s", node, node.inputs())
                  .isLessThan(1e-6);
            }
          }
        });
  }
}
