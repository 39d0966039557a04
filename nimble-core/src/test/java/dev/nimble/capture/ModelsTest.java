package dev.nimble.capture;

import static dev.nimble.capture.Conv2d.kernel;
import static org.assertj.core.api.Assertions.assertThat;

import dev.nimble.Engine;
import dev.nimble.EngineOptions;
import dev.nimble.Nimble;
import dev.nimble.device.Device;
import dev.nimble.device.Devices;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Operand;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.testkit.RandomTensors;
import dev.nimble.transform.Transforms;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Models as users write them: one code, run eagerly on the CPU device, and prepared on it. */
class ModelsTest {
  // -- a residual network --

  private static final class Residual extends Layer {
    private final Layer body;
    private final Layer shortcut;

    Residual(int inputs, int outputs, int stride) {
      body =
          child(
              "body",
              new Sequential(
                  new Conv2d(inputs, outputs, kernel(3).stride(stride).pad(1).withoutBias()),
                  new BatchNorm(outputs),
                  Layer.of(Ops::relu),
                  new Conv2d(outputs, outputs, kernel(3).pad(1).withoutBias()),
                  new BatchNorm(outputs)));
      shortcut =
          child(
              "shortcut",
              stride == 1 && inputs == outputs
                  ? new Sequential()
                  : new Sequential(
                      new Conv2d(inputs, outputs, kernel(1).stride(stride).withoutBias()),
                      new BatchNorm(outputs)));
    }

    @Override
    protected Operand forward(Ops f, Operand x) {
      return f.relu(f.add(body.apply(f, x), shortcut.apply(f, x)));
    }
  }

  private static final class ResNet extends Layer {
    private final Conv2d stem = child("stem", new Conv2d(3, 8, kernel(5).stride(2).pad(2)));
    private final Sequential blocks =
        child(
            "blocks",
            new Sequential(new Residual(8, 8, 1), new Residual(8, 12, 2), new Residual(12, 12, 1)));
    private final Linear classes = child("classes", new Linear(12, 10));

    @Override
    protected Operand forward(Ops f, Operand image) {
      Operand x = f.maxPool(f.relu(stem.apply(f, image)), 3, 2, 1);
      Operand features = f.flatten(f.globalAveragePool(blocks.apply(f, x)), 1);
      return f.logSoftmax(classes.apply(f, features), -1);
    }
  }

  @Test
  void residualNetwork() {
    agrees(Capture.of(new ResNet()).input("image", TensorType.f32(2, 3, 32, 32)).outputs("p"));
  }

  // -- a transformer encoder --

  private static final class Attention extends Module {
    private final int heads;
    private final Linear projection;
    private final Linear output;

    Attention(int features, int heads) {
      this.heads = heads;
      projection = child("projection", new Linear(features, 3 * features));
      output = child("output", new Linear(features, features));
    }

    @Override
    protected List<Operand> forward(Ops f, List<Operand> inputs) {
      Operand x = inputs.get(0);
      int batch = x.type().shape().extent(0);
      int length = x.type().shape().extent(1);
      int features = x.type().shape().extent(2);
      int width = features / heads;
      List<Operand> parts = f.chunk(projection.apply(f, x), -1, 3);
      List<Operand> split =
          parts.stream()
              .map(p -> f.transpose(f.reshape(p, batch, length, heads, width), 0, 2, 1, 3))
              .toList();
      Operand scores = f.matmul(split.get(0), f.transpose(split.get(1), 0, 1, 3, 2));
      Operand bias = f.mul(f.sub(1, f.unsqueeze(inputs.get(1), 1, 2)), -1e4);
      Operand weights = f.softmax(f.add(f.div(scores, Math.sqrt(width)), bias), -1);
      Operand mixed = f.transpose(f.matmul(weights, split.get(2)), 0, 2, 1, 3);
      return List.of(output.apply(f, f.reshape(mixed, batch, length, features)), weights);
    }
  }

  private static final class Encoder extends Module {
    private static final int FEATURES = 16;
    private final Embedding tokens = child("tokens", new Embedding(50, FEATURES));
    private final Parameter positions =
        parameter("positions", TensorType.f32(12, FEATURES), Initialiser.normal(0.5));
    private final Attention attention = child("attention", new Attention(FEATURES, 4));
    private final LayerNorm first = child("first", new LayerNorm(FEATURES));
    private final Sequential feedForward =
        child(
            "feedForward",
            new Sequential(
                new Linear(FEATURES, 32), Layer.of(Ops::gelu), new Linear(32, FEATURES)));
    private final LayerNorm second = child("second", new LayerNorm(FEATURES));

    @Override
    protected List<Operand> forward(Ops f, List<Operand> inputs) {
      int length = inputs.get(0).type().shape().extent(1);
      Operand x = f.add(tokens.apply(f, inputs.get(0)), f.slice(positions, 0, 0, length));
      Operand mask = f.cast(inputs.get(1), DataType.F32);
      List<Operand> attended = attention.run(f, List.of(x, mask));
      x = first.apply(f, f.add(x, attended.get(0)));
      x = second.apply(f, f.add(x, feedForward.apply(f, x)));
      Operand weighted = f.mul(x, f.unsqueeze(mask, -1));
      Operand pooled = f.div(f.reduceSum(weighted, false, 1), f.reduceSum(mask, true, 1));
      Operand norm = f.reduceL2(pooled, true, -1);
      return List.of(f.div(pooled, norm), attended.get(1));
    }
  }

  @Test
  void transformerEncoder() {
    agrees(
        Capture.of(new Encoder())
            .input("tokens", TensorType.of(DataType.I64, 2, 7))
            .input("mask", TensorType.of(DataType.BOOL, 2, 7))
            .outputs("embedding", "attention"));
  }

  // -- a cell of many branches, as found by architecture search --

  private static final class Separable extends Layer {
    private final Sequential steps = child("steps", new Sequential());

    Separable(int channels, int size) {
      for (int i = 0; i < 2; i++) {
        steps
            .then(Layer.of(Ops::relu))
            .then(new Conv2d(channels, channels, kernel(size).pad(size / 2).group(channels)))
            .then(new Conv2d(channels, channels, kernel(1).withoutBias()))
            .then(new BatchNorm(channels));
      }
    }

    @Override
    protected Operand forward(Ops f, Operand x) {
      return steps.apply(f, x);
    }
  }

  private static final class Cell extends Module {
    private final Separable left5 = child("left5", new Separable(4, 5));
    private final Separable right3 = child("right3", new Separable(4, 3));
    private final Separable left3 = child("left3", new Separable(4, 3));

    @Override
    protected List<Operand> forward(Ops f, List<Operand> inputs) {
      Operand before = inputs.get(0);
      Operand x = inputs.get(1);
      Operand a = f.add(left5.apply(f, x), right3.apply(f, before));
      Operand b = f.add(f.averagePool(x, 3, 1, 1, false), before);
      Operand c = f.add(f.maxPool(before, 3, 1, 1), left3.apply(f, a));
      Operand joined = f.concat(1, a, b, c);
      return List.of(joined, x);
    }
  }

  @Test
  void searchedCell() {
    TensorType type = TensorType.f32(1, 4, 8, 8);
    Cell once = new Cell();
    Module twice =
        new Module() {
          private final Cell cell = child("cell", once);
          private final Conv2d squeeze = child("squeeze", new Conv2d(12, 4, kernel(1, 1)));

          @Override
          protected List<Operand> forward(Ops f, List<Operand> inputs) {
            List<Operand> first = cell.run(f, inputs);
            return cell.run(f, List.of(first.get(1), squeeze.apply(f, first.get(0))));
          }
        };
    agrees(Capture.of("cells", twice).input("before", type).input("x", type));
  }

  @Test
  void countingModel() {
    Module model =
        new Module() {
          private final Parameter mean = state("mean", TensorType.f32(4), Initialiser.zeros());

          @Override
          protected List<Operand> forward(Ops f, List<Operand> inputs) {
            Operand centred = f.sub(inputs.get(0), mean);
            f.assign(mean, f.add(f.mul(mean, 0.75), f.mul(inputs.get(0), 0.25)));
            return List.of(f.tanh(centred), mean);
          }
        };
    agrees(Capture.of("average", model).input("x", TensorType.f32(4)));
  }

  /** Eager and prepared runs agree: bit for bit unfused, closely when fused; for three steps. */
  private static void agrees(Capture capture) {
    Random random = new Random(2);
    EngineOptions exact = EngineOptions.defaults().withTransforms(Transforms.unfused());
    try (Device device = Devices.open("cpu");
        Eager eager = capture.eager(device.eager());
        Engine unfused = Nimble.prepare(capture.graph(), device, exact);
        Engine fused = Nimble.prepare(capture.graph(), device, EngineOptions.defaults())) {
      for (int step = 0; step < 3; step++) {
        Map<String, Tensor> inputs = new LinkedHashMap<>();
        capture.inputs().forEach((name, type) -> inputs.put(name, RandomTensors.of(type, random)));
        Map<String, Tensor> expected = eager.run(inputs);
        Map<String, Tensor> same = unfused.run(inputs);
        Map<String, Tensor> close = fused.run(inputs);
        assertThat(same.keySet()).containsExactlyElementsOf(expected.keySet());
        expected.forEach(
            (name, tensor) -> {
              assertThat(same.get(name).bitwiseEquals(tensor))
                  .as("%s: %s, eager %s", name, same.get(name), tensor)
                  .isTrue();
              assertThat(RandomTensors.largestDifference(close.get(name), tensor))
                  .as(name)
                  .isLessThan(1e-4);
            });
      }
    }
  }
}
