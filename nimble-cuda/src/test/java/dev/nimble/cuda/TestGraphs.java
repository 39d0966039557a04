package dev.nimble.cuda;

import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.EngineOptions;
import dev.nimble.Nimble;
import dev.nimble.device.Device;
import dev.nimble.graph.Graph;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Node;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.BatchNormalization;
import dev.nimble.op.Binary;
import dev.nimble.op.BinaryFunction;
import dev.nimble.op.Conv;
import dev.nimble.op.ConvTranspose;
import dev.nimble.op.CumSum;
import dev.nimble.op.MatMul;
import dev.nimble.op.MaxPoolIndices;
import dev.nimble.op.Pool;
import dev.nimble.op.Reduce;
import dev.nimble.op.Reshape;
import dev.nimble.op.Scatter;
import dev.nimble.op.Softmax;
import dev.nimble.op.TopK;
import dev.nimble.op.Unary;
import dev.nimble.op.UnaryFunction;
import dev.nimble.op.Window;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.schedule.SchedulingPolicy;
import dev.nimble.testkit.RandomTensors;
import dev.nimble.transform.Transforms;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Graphs for tests of recording. */
public final class TestGraphs {
  private TestGraphs() {}

  /**
   * {@code width} columns of changes of sign, whose ends are added up. A value that an operator
   * takes too early is never close to the right one.
   *
   * @param operators of the whole graph, at least 3 times {@code width}
   */
  public static Graph columns(int operators, int width) {
    GraphBuilder graph = new GraphBuilder(operators + " operators, width " + width);
    Value x = graph.input("x", TensorType.f32(16));
    List<Value> ends = new ArrayList<>();
    int ofColumns = operators - (width - 1);
    for (int c = 0; c < width; c++) {
      Value shift = graph.constant("shift" + c, Tensor.of(Shape.of(1), 0.37f * c + 0.1f));
      Value end = graph.apply(new Binary(BinaryFunction.ADD), x, shift);
      int length = ofColumns / width + (c < ofColumns % width ? 1 : 0);
      for (int i = 1; i < length; i++) {
        end = graph.apply(unary(UnaryFunction.NEG), end);
      }
      ends.add(end);
    }
    Value sum = ends.get(0);
    for (Value end : ends.subList(1, width)) {
      sum = graph.apply(new Binary(BinaryFunction.ADD), sum, end);
    }
    return graph.output("sum", sum).build();
  }

  /** Two branches that use cuDNN, cuBLAS, resource kernels, generated kernels, and copies. */
  public static Graph libraries() {
    Random random = new Random(11);
    GraphBuilder graph = new GraphBuilder("libraries");
    Value x = graph.input("x", TensorType.f32(1, 2, 6, 6));
    Value filter = constant(graph, random, 4, 2, 3, 3);
    Value bias = constant(graph, random, 4);
    Value left =
        graph.apply("conv", new Conv(window(1, 1), 1, unary(UnaryFunction.RELU)), x, filter, bias);
    left =
        graph.apply(
            "pool",
            new Pool(Pool.Function.MAX, ImmutableIntArray.of(2, 2), window(2, 0), false, false),
            left);
    left =
        graph.apply(
            "norm",
            new BatchNormalization(1e-5f),
            left,
            constant(graph, random, 4),
            constant(graph, random, 4),
            constant(graph, random, 4),
            graph.constant("variance", Tensor.of(Shape.of(4), 0.5f, 1, 1.5f, 2)));
    Value up = constant(graph, random, 4, 2, 2, 2);
    Value right =
        graph.apply(
            "up", new ConvTranspose(window(2, 0), ImmutableIntArray.of(0, 0), 1, null), left, up);
    right = graph.apply("root", unary(UnaryFunction.ABS), right);
    right =
        graph.apply(
            "rows", new Reduce(Reduce.Function.SUM, ImmutableIntArray.of(2, 3), false), right);
    left = graph.apply("flat", new Reshape(Shape.of(4, 9)), left);
    left = graph.apply("product", new MatMul(), left, constant(graph, random, 9, 2));
    left = graph.apply("softmax", new Softmax(1, false), left);
    Value sum = graph.apply("sum", new Binary(BinaryFunction.ADD), left, right);
    return graph.output("sum", sum).output("right", right).build();
  }

  /** Operators whose results depend on contents as much as on shapes, in three branches. */
  public static Graph contents() {
    Random random = new Random(12);
    GraphBuilder graph = new GraphBuilder("contents");
    Value x = graph.input("x", TensorType.f32(1, 3, 6, 6));
    Pool pool = new Pool(Pool.Function.MAX, ImmutableIntArray.of(2, 2), window(2, 0), false, false);
    Value indices = graph.apply("indices", new MaxPoolIndices(pool, false), x);
    Value sums = graph.apply("sums", new CumSum(3, true, true), x);
    Node best = graph.add("best", new TopK(2, 2, true), List.of(sums));
    Value rows = graph.constant("rows", Tensor.ofLongs(Shape.of(3), 2, 0, 2));
    Value updates = constant(graph, random, 3, 36);
    Value flat = graph.apply("flat", new Reshape(Shape.of(3, 36)), x);
    Value scattered =
        graph.apply("scatter", new Scatter(Scatter.Reduction.ADD), flat, rows, updates);
    return graph
        .output("indices", indices)
        .output("best", best.outputs().get(0))
        .output("where", best.outputs().get(1))
        .output("scattered", scattered)
        .build();
  }

  private static Unary unary(UnaryFunction function) {
    return new Unary(function, 0, 0);
  }

  private static Value constant(GraphBuilder graph, Random random, int... extents) {
    return graph.constant(
        "c" + random.nextInt(1 << 20), RandomTensors.of(TensorType.f32(extents), random));
  }

  private static Window window(int stride, int pad) {
    return new Window(
        ImmutableIntArray.of(stride, stride),
        ImmutableIntArray.of(1, 1),
        ImmutableIntArray.of(pad, pad),
        ImmutableIntArray.of(pad, pad));
  }

  /** The plan of {@code graph}, with each operator as it stands. */
  public static ExecutionPlan plan(Device device, Graph graph, SchedulingPolicy policy) {
    return Nimble.plan(graph, device, options(policy));
  }

  /** Options by which each operator stays as it stands. */
  public static EngineOptions options(SchedulingPolicy policy) {
    return EngineOptions.defaults().withPolicy(policy).withTransforms(Transforms.none());
  }
}
