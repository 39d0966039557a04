package dev.nimble.onnx;

import static org.assertj.core.api.Assertions.assertThat;

import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.testkit.OnnxRuntimeOracle;
import dev.nimble.testkit.RandomTensors;
import dev.nimble.testkit.ReferenceExecutor;
import dev.nimble.testkit.Seeds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Random models of every opset, with shapes computed inside them and nodes in any order. */
class RandomModelTest {
  /** A result so far. */
  private record Made(String name, Shape shape) {}

  private final List<Made> made = new ArrayList<>();
  private Random random = new Random(0);
  private int opset;
  private ModelMaker maker = new ModelMaker(13);
  private int counter;

  @Test
  void equalOnnxRuntime() {
    Seeds.forEach(150, (seeded, seed) -> round(seeded));
  }

  private void round(Random seeded) {
    random = seeded;
    opset = 9 + random.nextInt(12);
    maker = new ModelMaker(opset);
    made.clear();
    Map<String, Tensor> inputs = new LinkedHashMap<>();
    for (int i = 0; i < 2; i++) {
      TensorType type = TensorType.f32(2 + random.nextInt(2), 4, 1 + random.nextInt(4));
      maker.input("x" + i, type);
      inputs.put("x" + i, RandomTensors.of(type, random));
      made.add(new Made("x" + i, type.shape()));
    }
    add("Relu", "x0", made.get(0).shape()); // at least one node
    for (int i = 3 + random.nextInt(15); i > 0; i--) {
      grow();
    }
    for (Made last : made.subList(Math.max(0, made.size() - 3), made.size())) {
      if (!inputs.containsKey(last.name())) {
        maker.output(last.name());
      }
    }
    ModelProto sorted = maker.proto();
    List<NodeProto> nodes = new ArrayList<>(sorted.getGraph().getNodeList());
    Collections.shuffle(nodes, random);
    ModelProto shuffled =
        sorted.toBuilder()
            .setGraph(sorted.getGraph().toBuilder().clearNode().addAllNode(nodes))
            .build();
    Graph graph = OnnxModel.parse(shuffled.toByteArray(), "random").graph(Map.of());
    List<Tensor> expected = OnnxRuntimeOracle.run(sorted.toByteArray(), inputs);
    List<Tensor> actual = ReferenceExecutor.run(graph, new ArrayList<>(inputs.values()));
    assertThat(actual).hasSameSizeAs(expected);
    for (int i = 0; i < actual.size(); i++) {
      assertThat(actual.get(i).type()).isEqualTo(expected.get(i).type());
      assertThat(RandomTensors.largestDifference(actual.get(i), expected.get(i)))
          .as(graph.outputNames().get(i))
          .isLessThanOrEqualTo(1e-4);
    }
  }

  private Made any() {
    return made.get(random.nextInt(made.size()));
  }

  private void add(String operator, String inputs, Shape shape, Object... attributes) {
    String name = "v" + counter++;
    maker.node(operator, inputs, name, attributes);
    made.add(new Made(name, shape));
  }

  private String longs(long... values) {
    String name = "c" + counter++;
    Tensor contents = Tensor.ofLongs(Shape.of(values.length), values);
    if (random.nextBoolean()) {
      maker.initializer(name, contents);
    } else {
      maker.node("Constant", "", name, "value", contents);
    }
    return name;
  }

  private static String text(String... names) {
    return String.join(",", names);
  }

  /** Adds an operator, or what several make together. */
  private void grow() {
    Made x = any();
    int rank = x.shape().rank();
    int axis = rank == 0 ? 0 : random.nextInt(rank);
    switch (random.nextInt(12)) {
      case 0:
        add(
            List.of("Relu", "Tanh", "Sigmoid", "Neg", "Abs", "Sin").get(random.nextInt(6)),
            x.name(),
            x.shape());
        break;
      case 1: // operands of one shape
        add(
            List.of("Add", "Mul", "Sub", "Max").get(random.nextInt(4)),
            text(x.name(), twin(x).name()),
            x.shape());
        break;
      case 2: // with a mean that broadcasts
        if (rank > 0) {
          reduce(x, axis, true);
          add("Sub", text(x.name(), made.get(made.size() - 1).name()), x.shape());
        }
        break;
      case 3:
        if (rank > 1) {
          reduce(x, axis, false);
        }
        break;
      case 4:
        List<Long> order = new ArrayList<>();
        for (long i = 0; i < rank; i++) {
          order.add(i);
        }
        Collections.shuffle(order, random);
        long[] permutation = order.stream().mapToLong(Long::longValue).toArray();
        int[] permuted = order.stream().mapToInt(i -> x.shape().extent(i.intValue())).toArray();
        add("Transpose", x.name(), Shape.of(permuted), "perm", permutation);
        break;
      case 5: // to the shape of another, computed in the model
        Made like = any();
        if (like.shape().elements() == x.shape().elements()) {
          maker.node("Shape", like.name(), "s" + counter);
          add("Reshape", text(x.name(), "s" + counter), like.shape());
        }
        break;
      case 6: // the first extent from the model, the rest from -1
        if (rank > 0 && x.shape().elements() > 0) {
          String shape = "s" + counter;
          maker.node("Shape", x.name(), shape);
          maker.node("Gather", text(shape, longs(0)), "g" + shape);
          maker.node("Concat", text("g" + shape, longs(-1)), "k" + shape, "axis", 0);
          add(
              "Reshape",
              text(x.name(), "k" + shape),
              Shape.of(x.shape().extent(0), x.shape().elements() / x.shape().extent(0)));
        }
        break;
      case 7:
        if (rank > 0) {
          int[] extents = x.shape().toArray();
          extents[axis] *= 2;
          add("Concat", text(x.name(), twin(x).name()), Shape.of(extents), "axis", axis);
        }
        break;
      case 8:
        if (rank > 0 && x.shape().extent(axis) % 2 == 0) {
          split(x, axis);
        }
        break;
      case 9:
        if (rank > 0) { // axis -1 means one thing in every opset
          add("Softmax", x.name(), x.shape(), "axis", opset < 11 ? rank - 1 : -1);
        }
        break;
      case 10: // a new axis
        int[] extents = new int[rank + 1];
        for (int i = 0; i <= rank; i++) {
          extents[i] = i == axis ? 1 : x.shape().extent(i < axis ? i : i - 1);
        }
        if (opset < 13) {
          add("Unsqueeze", x.name(), Shape.of(extents), "axes", new long[] {axis});
        } else {
          add("Unsqueeze", text(x.name(), longs(axis)), Shape.of(extents));
        }
        break;
      default: // all but the last element, whose number the model knows
        if (rank > 0 && x.shape().extent(axis) > 1 && opset >= 10) {
          String shape = "s" + counter;
          maker.node("Shape", x.name(), shape);
          maker.node("Gather", text(shape, longs(axis)), "g" + shape);
          maker.node("Sub", text("g" + shape, longs(1)), "e" + shape);
          int[] shorter = x.shape().toArray();
          shorter[axis]--;
          add("Slice", text(x.name(), longs(0), "e" + shape, longs(axis)), Shape.of(shorter));
        }
        break;
    }
  }

  /** Another result of the same shape, or itself. */
  private Made twin(Made x) {
    List<Made> twins = made.stream().filter(m -> m.shape().equals(x.shape())).toList();
    return twins.get(random.nextInt(twins.size()));
  }

  private void reduce(Made x, int axis, boolean keep) {
    List<Integer> extents = new ArrayList<>(Arrays.stream(x.shape().toArray()).boxed().toList());
    if (keep) {
      extents.set(axis, 1);
    } else {
      extents.remove(axis);
    }
    Shape shape = Shape.of(extents.stream().mapToInt(Integer::intValue).toArray());
    boolean operand = opset >= 18;
    Object[] attributes =
        operand
            ? new Object[] {"keepdims", keep ? 1 : 0}
            : new Object[] {"keepdims", keep ? 1 : 0, "axes", new long[] {axis}};
    add("ReduceMean", operand ? text(x.name(), longs(axis)) : x.name(), shape, attributes);
  }

  private void split(Made x, int axis) {
    int[] extents = x.shape().toArray();
    extents[axis] /= 2;
    String first = "v" + counter++;
    String second = "v" + counter++;
    Object[] attributes =
        opset < 18 ? new Object[] {"axis", axis} : new Object[] {"axis", axis, "num_outputs", 2};
    maker.node("Split", x.name(), text(first, second), attributes);
    made.add(new Made(first, Shape.of(extents)));
    made.add(new Made(second, Shape.of(extents)));
  }
}
