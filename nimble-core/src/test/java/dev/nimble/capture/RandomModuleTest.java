package dev.nimble.capture;

import static dev.nimble.capture.Conv2d.kernel;
import static org.assertj.core.api.Assertions.assertThat;

import dev.nimble.graph.Graph;
import dev.nimble.graph.Operand;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.testkit.RandomGraphs;
import dev.nimble.testkit.ReferenceExecutor;
import dev.nimble.testkit.ReferenceOperatorExecutor;
import dev.nimble.testkit.Seeds;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Random model code gives the same, bit for bit, traced and run eagerly, step by step. */
class RandomModuleTest {
  private static final TensorType IMAGE = TensorType.f32(2, 4, 3, 3);

  /** One line of model code: from the values so far, all of one type, to the next. */
  private interface Line {
    Operand run(Ops f, List<Operand> values);
  }

  /** Some lines, over modules, nested modules, parameters, buffers and state. */
  private static final class RandomModule extends Module {
    private final List<Line> lines = new ArrayList<>();
    private final int outputs;

    RandomModule(Random random, int depth) {
      int count = 1 + random.nextInt(6);
      for (int i = 0; i < count; i++) {
        lines.add(line(random, depth, "part" + i));
      }
      outputs = 1 + random.nextInt(3);
    }

    private Line line(Random random, int depth, String name) {
      int a = random.nextInt(100);
      int b = random.nextInt(100);
      switch (random.nextInt(depth > 0 ? 18 : 16)) {
        case 0:
          Conv2d conv = child(name, new Conv2d(4, 4, kernel(3).pad(1)));
          return (f, v) -> conv.apply(f, at(v, a));
        case 1:
          BatchNorm batchNorm = child(name, new BatchNorm(4));
          return (f, v) -> batchNorm.apply(f, at(v, a));
        case 2:
          LayerNorm layerNorm = child(name, new LayerNorm(3));
          return (f, v) -> layerNorm.apply(f, at(v, a));
        case 3:
          Linear linear = child(name, new Linear(3, 3, random.nextBoolean()));
          return (f, v) -> f.tanh(linear.apply(f, at(v, a)));
        case 4:
          Layer shared = child(name, Layer.of(Ops::gelu));
          child(name + "again", shared);
          return (f, v) -> f.add(shared.apply(f, at(v, a)), shared.apply(f, at(v, b)));
        case 5:
          Parameter scale = parameter(name, TensorType.f32(4, 1, 1), Initialiser.normal(1));
          return (f, v) -> f.sigmoid(f.mul(at(v, a), scale));
        case 6:
          Parameter state = state(name, IMAGE, Initialiser.uniform(1));
          return (f, v) -> {
            Operand before = f.mul(state, at(v, a));
            f.assign(state, f.tanh(f.add(state, at(v, b))));
            return f.add(before, state);
          };
        case 7:
          Parameter total = state(name, TensorType.f32(), Initialiser.zeros());
          return (f, v) -> {
            f.assignAdd(total, f.reduceMean(f.sin(at(v, a)), false));
            return f.add(at(v, b), total);
          };
        case 8:
          return (f, v) -> f.max(f.min(at(v, a), 3), at(v, b));
        case 9:
          return (f, v) -> f.sub(at(v, a), f.reduceMax(at(v, b), true, -1, 1));
        case 10:
          return (f, v) -> {
            List<Operand> parts = f.split(at(v, a), 1, 1, 3);
            return f.concat(1, f.relu(parts.get(1)), parts.get(0));
          };
        case 11:
          return (f, v) -> f.reshape(f.softmax(f.reshape(at(v, a), 2, -1, 9), 1), 2, 4, 3, 3);
        case 12:
          return (f, v) -> f.transpose(f.tanh(f.transpose(at(v, a), 3, 1, 2, 0)), 3, 1, 2, 0);
        case 13:
          return (f, v) ->
              f.pad(f.slice(at(v, a), 2, 0, -1), new int[] {0, 0, 1, 0}, new int[] {0, 0, 0, 0});
        case 14:
          return (f, v) -> f.where(f.less(at(v, a), at(v, b)), at(v, a), f.sub(1, at(v, b)));
        case 15:
          return (f, v) -> f.averagePool(at(v, a), 3, 1, 1, false);
        default:
          RandomModule nested = child(name, new RandomModule(random, depth - 1));
          return (f, v) -> {
            List<Operand> results = nested.run(f, List.of(at(v, a), at(v, b)));
            return results.get(a % results.size());
          };
      }
    }

    private static Operand at(List<Operand> values, int position) {
      return values.get(position % values.size());
    }

    @Override
    protected List<Operand> forward(Ops f, List<Operand> inputs) {
      List<Operand> values = new ArrayList<>(inputs);
      lines.forEach(line -> values.add(line.run(f, values)));
      return values.subList(Math.max(0, values.size() - outputs), values.size());
    }
  }

  @Test
  void tracedEqualsEager() {
    Seeds.forEach(
        200,
        (random, seed) -> {
          RandomModule model = new RandomModule(random, 3);
          model.initialise(seed);
          Capture capture = Capture.of(model).input("x", IMAGE).input("y", IMAGE);
          capture = random.nextBoolean() ? capture.training() : capture;
          Graph graph = capture.graph();
          assertThat(capture.graph().toString()).as("traced again").isEqualTo(graph.toString());
          ReferenceExecutor traced = new ReferenceExecutor(graph);
          Map<String, Parameter> parameters = model.parameters();
          try (Eager eager = capture.eager(new ReferenceOperatorExecutor())) {
            for (int step = 0; step < 3; step++) {
              List<Tensor> inputs = RandomGraphs.inputs(graph, random);
              Map<String, Tensor> outputs =
                  eager.run(Map.of("x", inputs.get(0), "y", inputs.get(1)));
              assertEqual(graph, traced.step(inputs), new ArrayList<>(outputs.values()));
            }
            Map<String, Tensor> left = new TreeMap<>();
            graph
                .variables()
                .forEach(v -> left.put(v.name(), eager.contents(parameters.get(v.name()))));
            List<Tensor> eagerVariables =
                graph.variables().stream().map(v -> left.get(v.name())).toList();
            assertEqual(graph, traced.variables(), eagerVariables);
          }
        });
  }

  private static void assertEqual(Graph graph, List<Tensor> traced, List<Tensor> eager) {
    assertThat(eager).hasSameSizeAs(traced);
    for (int i = 0; i < traced.size(); i++) {
      assertThat(eager.get(i).bitwiseEquals(traced.get(i)))
          .as("result %s: eager %s, traced %s\n%s", i, eager.get(i), traced.get(i), graph)
          .isTrue();
    }
  }
}
