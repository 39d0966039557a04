package dev.nimble.capture;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.testkit.RandomTensors;
import dev.nimble.testkit.ReferenceExecutor;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

class TrainingBatchNormTest {
  private static final int CHANNELS = 3;

  @Test
  void normalisesByTheBatchAndMovesTheRunningStatistics() {
    Random random = new Random(5);
    BatchNorm norm = new BatchNorm(CHANNELS, 1e-3f, 0.25);
    Tensor scale = RandomTensors.of(TensorType.f32(CHANNELS), random);
    Tensor bias = RandomTensors.of(TensorType.f32(CHANNELS), random);
    norm.load(Map.of("scale", scale, "bias", bias));
    Capture capture = Capture.of(norm).input("x", TensorType.f32(2, CHANNELS, 2, 5)).training();
    Graph graph = capture.graph();
    ReferenceExecutor executor = new ReferenceExecutor(graph);
    double[] runningMean = new double[CHANNELS];
    double[] runningVariance = {1, 1, 1};
    for (int step = 0; step < 3; step++) {
      Tensor x = RandomTensors.of(TensorType.f32(2, CHANNELS, 2, 5), random);
      Tensor y = executor.step(List.of(x)).get(0);
      for (int c = 0; c < CHANNELS; c++) {
        double sum = 0;
        double squares = 0;
        for (int i = 0; i < 20; i++) {
          double element = x.getDouble(position(c, i));
          sum += element;
          squares += element * element;
        }
        double mean = sum / 20;
        double variance = squares / 20 - mean * mean;
        runningMean[c] += 0.25 * (mean - runningMean[c]);
        runningVariance[c] += 0.25 * (variance * 20 / 19 - runningVariance[c]);
        for (int i = 0; i < 20; i++) {
          double standard =
              (x.getDouble(position(c, i)) - mean) / Math.sqrt(variance + (double) 1e-3f);
          double expected = standard * scale.getDouble(c) + bias.getDouble(c);
          assertThat(y.getDouble(position(c, i))).isCloseTo(expected, within(1e-5));
        }
      }
    }
    List<String> names = graph.variables().stream().map(v -> v.name()).toList();
    Tensor mean = executor.variables().get(names.indexOf("mean"));
    Tensor variance = executor.variables().get(names.indexOf("variance"));
    for (int c = 0; c < CHANNELS; c++) {
      assertThat(mean.getDouble(c)).isCloseTo(runningMean[c], within(1e-5));
      assertThat(variance.getDouble(c)).isCloseTo(runningVariance[c], within(1e-5));
    }
    assertThat(norm.parameters().get("variance").contents().getDouble(0))
        .as("the model keeps its initial contents")
        .isEqualTo(1);
  }

  private static int position(int channel, int i) {
    return (i / 10 * CHANNELS + channel) * 10 + i % 10;
  }

  @Test
  void oneElementAChannelHasNoVariance() {
    Capture capture =
        Capture.of(new BatchNorm(4)).input("x", TensorType.f32(1, 4, 1, 1)).training();
    assertThatThrownBy(capture::graph)
        .isInstanceOf(InvalidModelException.class)
        .hasMessageContaining("at least 2 elements a channel, not 1 as in f32[1,4,1,1]");
  }
}
