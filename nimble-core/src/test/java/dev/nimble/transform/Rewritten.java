package dev.nimble.transform;

import static org.assertj.core.api.Assertions.assertThat;

import dev.nimble.graph.Graph;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.Binary;
import dev.nimble.op.BinaryFunction;
import dev.nimble.testkit.RandomTensors;
import dev.nimble.testkit.ReferenceExecutor;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** A graph before and after a rewrite: what it consists of, and that it computes the same. */
final class Rewritten {
  private final Graph before;
  private final Graph after;

  private Rewritten(Graph before, Graph after) {
    this.before = before;
    this.after = after;
  }

  /** By one pass and the removal of what it leaves unread. */
  static Rewritten by(Pass pass, GraphBuilder builder) {
    Graph graph = builder.build();
    return new Rewritten(graph, Pass.DEAD_CODE.apply(pass.apply(graph)));
  }

  /** By all passes. */
  static Rewritten byAll(GraphBuilder builder) {
    Graph graph = builder.build();
    return new Rewritten(graph, Transforms.all().apply(graph));
  }

  Graph graph() {
    return after;
  }

  /** The nodes' operators in program order are those; results are equal within rounding. */
  Rewritten hasOperators(String... operators) {
    assertThat(operators(after)).as("%s\nbecame\n%s", before, after).containsExactly(operators);
    return equalsBefore(1e-5);
  }

  /** As {@link #hasOperators}, and results are equal bit for bit. */
  Rewritten hasOperatorsExactly(String... operators) {
    assertThat(operators(after)).as("%s\nbecame\n%s", before, after).containsExactly(operators);
    return equalsBefore(0);
  }

  /** The rewrite found nothing. */
  void isUnchanged() {
    assertThat(after).as("%s\nbecame\n%s", before, after).isSameAs(before);
  }

  private static List<String> operators(Graph graph) {
    List<String> names = new ArrayList<>();
    graph.nodes().forEach(node -> names.add(node.operator().name()));
    return names;
  }

  private Rewritten equalsBefore(double tolerance) {
    assertThat(after.outputNames()).isEqualTo(before.outputNames());
    Random random = new Random(7);
    ReferenceExecutor expected = new ReferenceExecutor(before);
    ReferenceExecutor actual = new ReferenceExecutor(after);
    for (int step = 0; step < 3; step++) {
      List<Tensor> inputs = new ArrayList<>();
      before.inputs().forEach(input -> inputs.add(RandomTensors.of(input.type(), random)));
      assertClose(expected.step(inputs), actual.step(inputs), tolerance);
      assertClose(expected.variables(), actual.variables(), tolerance);
    }
    return this;
  }

  private void assertClose(List<Tensor> expected, List<Tensor> actual, double tolerance) {
    assertThat(actual).hasSameSizeAs(expected);
    for (int i = 0; i < expected.size(); i++) {
      assertThat(RandomTensors.largestDifference(actual.get(i), expected.get(i)))
          .as("%s\nbecame\n%s", before, after)
          .isLessThanOrEqualTo(tolerance);
    }
  }

  // -- shorthands for graphs --

  static GraphBuilder graphOf() {
    return new GraphBuilder("handmade");
  }

  static Value input(GraphBuilder g, int... extents) {
    return g.input("x", TensorType.f32(extents));
  }

  /** A constant of numbers in [0.5, 1.5), all different. */
  static Value weights(GraphBuilder g, int... extents) {
    Tensor tensor = Tensor.zeros(TensorType.f32(extents));
    Random random = new Random(extents.length * 31L + tensor.type().elements());
    for (int i = 0; i < tensor.type().elements(); i++) {
      tensor.setDouble(i, 0.5 + random.nextDouble());
    }
    return g.constant("weights", tensor);
  }

  static Value number(GraphBuilder g, double number) {
    return g.constant("number", Tensor.of(Shape.scalar(), (float) number));
  }

  static Value apply(GraphBuilder g, BinaryFunction function, Value a, Value b) {
    return g.apply(new Binary(function), a, b);
  }
}
