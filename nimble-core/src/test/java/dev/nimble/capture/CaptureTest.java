package dev.nimble.capture;

import static dev.nimble.capture.Conv2d.kernel;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.nimble.error.InvalidArgumentException;
import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Operand;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.testkit.ReferenceExecutor;
import dev.nimble.testkit.ReferenceOperatorExecutor;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class CaptureTest {
  private static final TensorType PAIR = TensorType.f32(2);

  private static Tensor pair(float first, float second) {
    return Tensor.of(Shape.of(2), first, second);
  }

  private static List<String> nodeNames(Graph graph) {
    return graph.nodes().stream().map(Node::name).toList();
  }

  /** Runs both ways and checks that they agree; returns the outputs. */
  static Map<String, Tensor> both(Capture capture, Map<String, Tensor> inputs) {
    Graph graph = capture.graph();
    List<Tensor> ordered =
        graph.inputs().stream().map(v -> Objects.requireNonNull(inputs.get(v.name()))).toList();
    List<Tensor> traced = ReferenceExecutor.run(graph, ordered);
    ReferenceOperatorExecutor executor = new ReferenceOperatorExecutor();
    try (Eager eager = capture.eager(executor)) {
      Map<String, Tensor> outputs = eager.run(inputs);
      assertThat(outputs.keySet()).containsExactlyElementsOf(graph.outputNames());
      int i = 0;
      for (Tensor output : outputs.values()) {
        assertThat(output.bitwiseEquals(traced.get(i)))
            .as("%s: eager %s, traced %s", graph.outputNames().get(i), output, traced.get(i))
            .isTrue();
        i++;
      }
      return outputs;
    }
  }

  // -- names --

  private static final class Block extends Layer {
    private final Conv2d conv = child("conv", new Conv2d(2, 2, kernel(3).pad(1).withoutBias()));
    private final BatchNorm norm = child("norm", new BatchNorm(2));

    @Override
    protected Operand forward(Ops f, Operand x) {
      return f.relu(f.add(x, norm.apply(f, conv.apply(f, x))));
    }
  }

  private static final class Net extends Layer {
    private final Sequential encoder = child("encoder", new Sequential(new Block(), new Block()));
    private final Linear head = child("head", new Linear(2, 3));

    @Override
    protected Operand forward(Ops f, Operand x) {
      return head.apply(f, f.squeeze(f.globalAveragePool(encoder.apply(f, x)), 2, 3));
    }
  }

  @Test
  void nodesAndParametersAreNamedByTheirModules() {
    Graph graph = Capture.of(new Net()).input("x", TensorType.f32(1, 2, 4, 4)).graph();
    assertThat(graph.name()).isEqualTo("Net");
    assertThat(nodeNames(graph))
        .containsExactly(
            "encoder.0.conv",
            "encoder.0.norm",
            "encoder.0.Add",
            "encoder.0.Relu",
            "encoder.1.conv",
            "encoder.1.norm",
            "encoder.1.Add",
            "encoder.1.Relu",
            "GlobalAveragePool",
            "Reshape",
            "head",
            "head.Add");
    assertThat(graph.values().stream().filter(v -> v.kind() == Value.Kind.CONSTANT))
        .extracting(Value::name)
        .contains("encoder.0.conv.weight", "encoder.1.norm.variance", "head.bias");
    assertThat(new Net().parameters().keySet())
        .contains("encoder.0.conv.weight", "encoder.1.norm.scale", "head.weight")
        .hasSize(12);
  }

  @Test
  void trainingMakesVariablesOfParameters() {
    Capture capture = Capture.of(new Net()).input("x", TensorType.f32(2, 2, 4, 4));
    assertThat(capture.graph().variables()).isEmpty();
    assertThat(capture.training().graph().variables())
        .extracting(Value::name)
        .contains("encoder.0.conv.weight", "encoder.0.norm.mean", "head.bias")
        .hasSize(12);
  }

  // -- shapes of models --

  @Test
  void anInputMayBeTheOutputOfAnEmptyGraph() {
    Capture capture = Capture.of((f, in) -> in).input("x", PAIR);
    assertThat(capture.graph().nodes()).isEmpty();
    assertThat(both(capture, Map.of("x", pair(1, 2))).get("output"))
        .matches(t -> t.bitwiseEquals(pair(1, 2)));
  }

  @Test
  void aConstantOrAParameterMayBeAnOutput() {
    Module model =
        new Module() {
          private final Parameter weight = parameter("weight", PAIR, Initialiser.ones());

          @Override
          protected List<Operand> forward(Ops f, List<Operand> inputs) {
            return List.of(f.constant(pair(3, 4)), weight, f.scalar(2, DataType.I64));
          }
        };
    Map<String, Tensor> outputs = both(Capture.of(model).outputs("a", "b", "c"), Map.of());
    assertThat(outputs.get("a")).matches(t -> t.bitwiseEquals(pair(3, 4)));
    assertThat(outputs.get("b")).matches(t -> t.bitwiseEquals(pair(1, 1)));
    assertThat(outputs.get("c")).matches(t -> t.bitwiseEquals(Tensor.ofLongs(Shape.scalar(), 2)));
    assertThat(both(Capture.of(model).training(), Map.of())).hasSize(3);
  }

  @Test
  void oneValueMayBeSeveralOutputs() {
    Capture capture =
        Capture.of(
                (f, in) -> {
                  Operand y = f.neg(in.get(0));
                  return List.of(y, in.get(0), y);
                })
            .input("x", PAIR);
    Map<String, Tensor> outputs = both(capture, Map.of("x", pair(1, 2)));
    assertThat(outputs.keySet()).containsExactly("output0", "output1", "output2");
    assertThat(outputs.get("output2")).matches(t -> t.bitwiseEquals(pair(-1, -2)));
    assertThat(capture.graph().nodes()).hasSize(1);
  }

  @Test
  void inputsMayBeUnusedAndOutputsMissing() {
    Capture capture =
        Capture.of((f, in) -> List.of(f.exp(in.get(2))))
            .input("a", PAIR)
            .input("b", TensorType.of(DataType.BOOL))
            .input("c", PAIR);
    Graph graph = capture.graph();
    assertThat(graph.inputs()).extracting(Value::name).containsExactly("a", "b", "c");
    both(
        capture,
        Map.of(
            "a", pair(0, 0),
            "b", Tensor.zeros(TensorType.of(DataType.BOOL)),
            "c", pair(1, 2)));
    assertThat(both(Capture.of((f, in) -> List.of()), Map.of())).isEmpty();
  }

  // -- sharing --

  private static final class Tied extends Layer {
    private final Embedding embedding = child("embedding", new Embedding(5, 3));
    private final Projection projection = child("projection", new Projection(embedding.weight()));
    private final Linear again = child("again", new Linear(5, 5));
    private final Sequential twice = child("twice", new Sequential(again, again));

    private static final class Projection extends Layer {
      private final Parameter table;

      Projection(Parameter table) {
        this.table = share("table", table);
      }

      @Override
      protected Operand forward(Ops f, Operand x) {
        return f.matmul(x, f.transpose(table));
      }
    }

    @Override
    protected Operand forward(Ops f, Operand x) {
      return twice.apply(f, projection.apply(f, embedding.apply(f, x)));
    }
  }

  @Test
  void modulesMayShareParametersAndModules() {
    Tied model = new Tied();
    assertThat(model.parameters().keySet())
        .containsExactly("embedding.weight", "again.weight", "again.bias");
    Capture capture = Capture.of(model).input("x", TensorType.of(DataType.I64, 4));
    Graph graph = capture.training().graph();
    assertThat(graph.variables()).hasSize(3);
    assertThat(nodeNames(graph))
        .containsExactly(
            "embedding",
            "projection",
            "projection.MatMul",
            "again",
            "again.Add",
            "again_1",
            "again.Add_1");
    both(capture, Map.of("x", Tensor.ofLongs(Shape.of(4), 0, 4, 2, -1)));
  }

  // -- parameters --

  @Test
  void initialContentsDependOnSeedAndPathOnly() {
    Net first = new Net();
    Net second = new Net();
    first.initialise(7);
    second.initialise(7);
    first
        .parameters()
        .forEach(
            (path, p) ->
                assertThat(p.contents())
                    .as(path)
                    .matches(t -> t.bitwiseEquals(second.parameters().get(path).contents())));
    String weight = "encoder.0.conv.weight";
    Tensor other = new Net().initialise(8).parameters().get(weight).contents();
    Tensor sibling = first.parameters().get("encoder.1.conv.weight").contents();
    Tensor own = first.parameters().get(weight).contents();
    assertThat(own.bitwiseEquals(other)).isFalse();
    assertThat(own.bitwiseEquals(sibling)).isFalse();
    first.initialise(9); // keeps what there is
    assertThat(first.parameters().get(weight).contents()).isSameAs(own);
  }

  @Test
  void loadReplacesContents() {
    Linear linear = new Linear(1, 2);
    linear.load(Map.of("weight", Tensor.of(Shape.of(1, 2), 2, 3), "bias", pair(10, 20)));
    Capture capture = Capture.of(linear).input("x", TensorType.f32(1));
    assertThat(both(capture, Map.of("x", Tensor.of(Shape.of(1), 5))).get("output"))
        .matches(t -> t.bitwiseEquals(pair(20, 35)));
    assertThatThrownBy(() -> linear.load(Map.of("wieght", pair(1, 2))))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessage("Linear has no parameter 'wieght'; it has [weight, bias]");
    assertThatThrownBy(() -> linear.load(Map.of("weight", pair(1, 2))))
        .hasMessage("parameter 'weight' is f32[1,2]; cannot load f32[2]");
  }

  @Test
  void parametersConvertToAnotherFloatingType() {
    Net net = new Net();
    net.initialise(3).to(DataType.F64);
    Capture capture = Capture.of(net).input("x", TensorType.of(DataType.F64, 1, 2, 4, 4));
    Tensor x = Tensor.zeros(TensorType.of(DataType.F64, 1, 2, 4, 4));
    Tensor output = both(capture, Map.of("x", x)).get("output");
    assertThat(output).isNotNull().matches(t -> t.type().dataType() == DataType.F64);
    assertThatThrownBy(() -> net.to(DataType.I32)).hasMessageContaining("not i32");
  }

  // -- state --

  /** Counts steps, and keeps a sum of the inputs; returns what it held before and after. */
  private static final class Counter extends Module {
    private final Parameter count =
        state("count", TensorType.of(DataType.I64), Initialiser.zeros());
    private final Parameter sum = state("sum", PAIR, Initialiser.ones());

    @Override
    protected List<Operand> forward(Ops f, List<Operand> inputs) {
      Operand before = f.identity(count);
      f.assignAdd(count, f.scalar(1, DataType.I64));
      Operand between = f.mul(sum, 2);
      f.assign(sum, f.add(between, inputs.get(0)));
      return List.of(before, f.add(count, 0), between, sum);
    }
  }

  @Test
  void stateLivesFromStepToStep() {
    Counter model = new Counter();
    Capture capture = Capture.of(model).input("x", PAIR).outputs("before", "after", "old", "sum");
    Graph graph = capture.graph();
    assertThat(graph.variables()).extracting(Value::name).containsExactly("count", "sum");
    ReferenceExecutor traced = new ReferenceExecutor(graph);
    ReferenceOperatorExecutor executor = new ReferenceOperatorExecutor();
    try (Eager eager = capture.eager(executor)) {
      float sum = 1;
      int live = 0;
      for (int step = 0; step < 4; step++) {
        Tensor x = pair(step, step);
        Map<String, Tensor> outputs = eager.run(Map.of("x", x));
        List<Tensor> expected = traced.step(List.of(x));
        assertThat(List.copyOf(outputs.values()))
            .usingElementComparator((a, b) -> a.bitwiseEquals(b) ? 0 : 1)
            .containsExactlyElementsOf(expected);
        assertThat(expected.get(0).getLong(0)).isEqualTo(step);
        assertThat(expected.get(1).getLong(0)).isEqualTo(step + 1);
        assertThat(expected.get(2).getDouble(1)).isEqualTo(2 * sum);
        sum = 2 * sum + step;
        assertThat(expected.get(3).getDouble(1)).isEqualTo(sum);
        assertThat(eager.contents(model.count).getLong(0)).isEqualTo(step + 1);
        assertThat(step == 0 || executor.live() == live).as("operands kept").isTrue();
        live = executor.live();
      }
    }
    assertThat(executor.live()).isZero();
  }

  @Test
  void onlyVariablesMayBeUpdated() {
    Module model =
        new Module() {
          private final Parameter running = buffer("running", PAIR, Initialiser.zeros());

          @Override
          protected List<Operand> forward(Ops f, List<Operand> inputs) {
            f.assign(running, inputs.get(0));
            return List.of();
          }
        };
    Capture capture = Capture.of(model).input("x", PAIR);
    String message =
        "node 'Assign' (Assign of f32[2], f32[2]): updates its operand 0, which must be state, or"
            + " in training a parameter or buffer";
    assertThatThrownBy(capture::graph)
        .isInstanceOf(InvalidModelException.class)
        .hasMessage(message);
    both(capture.training(), Map.of("x", pair(1, 1)));
    try (Eager eager = capture.eager(new ReferenceOperatorExecutor())) {
      assertThatThrownBy(() -> eager.run(Map.of("x", pair(1, 1)))).hasMessage(message);
    }
  }

  // -- errors --

  private static void assertFailsBothWays(Capture capture, String message) {
    assertThatThrownBy(capture::graph)
        .isInstanceOf(InvalidModelException.class)
        .hasMessage(message);
    try (Eager eager = capture.eager(new ReferenceOperatorExecutor())) {
      HashMap<String, Tensor> inputs = new HashMap<>();
      capture.inputs().forEach((name, type) -> inputs.put(name, Tensor.zeros(type)));
      assertThatThrownBy(() -> eager.run(inputs))
          .isInstanceOf(InvalidModelException.class)
          .hasMessage(message);
    }
  }

  @Test
  void errorsNameThePathTheOperatorAndTheTypes() {
    assertFailsBothWays(
        Capture.of(new Net()).input("x", TensorType.f32(1, 3, 4, 4)),
        "node 'encoder.0.conv' (Conv of f32[1,3,4,4], f32[2,2,3,3]): channels do not fit: X"
            + " [1,3,4,4], W [2,2,3,3], group 1");
    assertFailsBothWays(
        Capture.of(new Sequential(new Sequential(Layer.of((f, x) -> f.reshape(x, -1, 7)))))
            .input("x", PAIR),
        "node '0.0' (Layer of f32[2]): cannot reshape f32[2] to [-1, 7]");
    assertFailsBothWays(
        Capture.of(Layer.of((f, x) -> f.softmax(x, 3))).input("x", PAIR),
        "node 'Softmax' (Softmax of f32[2]): axis 3 is outside rank 1");
    assertFailsBothWays(
        Capture.of((f, in) -> List.of(f.add(f.scalar(0.5, DataType.I64), in.get(0))))
            .input("x", PAIR),
        "0.5 is not a value of i64");
    assertFailsBothWays(
        Capture.of(new Sequential()).input("x", PAIR).input("y", PAIR),
        "node 'model' (Sequential of f32[2], f32[2]): a layer takes 1 operand, not 2");
    assertFailsBothWays(
        Capture.of((f, in) -> in).input("x", PAIR).outputs("a", "b"),
        "model has 1 outputs, but 2 names: [a, b]");
  }

  @Test
  void partsMustBeRegistered() {
    Linear loose = new Linear(2, 2);
    loose.initialise(0);
    assertFailsBothWays(
        Capture.of(Layer.of(loose::apply)).input("x", PAIR),
        "node 'model' (Layer of f32[2]): a part is used that the model does not have (Linear):"
            + " register it with child");
    assertFailsBothWays(
        Capture.of(Layer.of((f, x) -> f.matmul(x, loose.weight()))).input("x", PAIR),
        "node 'model' (Layer of f32[2]): a part is used that the model does not have (LEARNED"
            + " f32[2,2]): register it with share");
  }

  @Test
  void namesOfPartsAreChecked() {
    Sequential parts = new Sequential();
    parts.child("a", new Sequential());
    assertThatThrownBy(() -> parts.state("a", PAIR, Initialiser.zeros()))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessage("Sequential has two parts named 'a'");
    assertThatThrownBy(() -> parts.child("a.b", new Sequential())).hasMessageContaining("no dot");
    assertThatThrownBy(() -> parts.child("", new Sequential())).hasMessageContaining("''");
    assertThatThrownBy(() -> Capture.of(parts).input("x", PAIR).input("x", PAIR))
        .hasMessage("two inputs are named 'x'");
  }

  @Test
  void operandsMustNotBeKept() {
    AtomicReference<Operand> kept = new AtomicReference<>();
    Capture capture =
        Capture.of(
                (f, in) -> {
                  Operand old = kept.getAndSet(f.neg(in.get(0)));
                  return List.of(old == null ? in.get(0) : f.exp(old));
                })
            .input("x", PAIR);
    Map<String, Tensor> x = Map.of("x", pair(1, 2));
    try (Eager eager = capture.eager(new ReferenceOperatorExecutor())) {
      eager.run(x);
      assertThatThrownBy(() -> eager.run(x))
          .hasMessage(
              "node 'Exp' (Exp of f32[2]): an operand was kept from an earlier step: f32[2]");
      assertThatThrownBy(capture::graph)
          .hasMessage("node 'Exp' (Exp): an operand was kept from eager execution: f32[2]");
      assertThatThrownBy(() -> eager.run(x)).hasMessageContaining("kept from tracing");
    }
    assertThatThrownBy(capture::graph).hasMessageContaining("kept from eager execution");
    assertThatThrownBy(capture::graph).hasMessageContaining("belongs to another graph");
  }

  @Test
  void eagerInputsAreChecked() {
    Capture capture = Capture.of((f, in) -> in).input("x", PAIR);
    try (Eager eager = capture.eager(new ReferenceOperatorExecutor())) {
      assertThatThrownBy(() -> eager.run(Map.of()))
          .isInstanceOf(InvalidArgumentException.class)
          .hasMessage("input 'x' must be f32[2] and is missing");
      assertThatThrownBy(() -> eager.run(Map.of("x", Tensor.of(Shape.of(1), 1))))
          .hasMessage("input 'x' must be f32[2], not f32[1]");
      assertThatThrownBy(() -> eager.run(Map.of("x", pair(1, 2), "y", pair(1, 2))))
          .hasMessage("there is no input 'y'; there are [x]");
    }
  }
}
