package dev.nimble.op;

import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Convolution over one to three spatial axes: X {@code [N, C, spatial...]}, W {@code [M, C / group,
 * kernel...]}, optionally B {@code [M]}. Accumulated in double precision.
 *
 * @param window how W slides over X
 * @param group channel groups
 * @param activation applied last; null for none
 */
public record Conv(Window window, int group, @Nullable Unary activation) implements Operator {
  /** Without activation. */
  public Conv(Window window, int group) {
    this(window, group, null);
  }

  @Override
  public String name() {
    return "Conv";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 2, 3);
    Checks.sameDataType(inputs);
    Checks.floating(inputs.get(0));
    Shape x = inputs.get(0).shape();
    Shape w = inputs.get(1).shape();
    int rank = window.rank();
    if (rank < 1 || rank > 3 || x.rank() != rank + 2 || w.rank() != rank + 2) {
      throw new InvalidModelException(
          "needs X and W with 1 to 3 spatial axes, as many as strides ("
              + rank
              + "), not "
              + x
              + " and "
              + w);
    }
    int outputs = w.extent(0);
    Checks.that(
        group >= 1 && x.extent(1) == w.extent(1) * group && outputs % group == 0,
        "channels do not fit: X " + x + ", W " + w + ", group " + group);
    int[] extents = new int[rank + 2];
    extents[0] = x.extent(0);
    extents[1] = outputs;
    for (int i = 0; i < rank; i++) {
      extents[2 + i] = window.count(i, x.extent(2 + i), w.extent(2 + i), false);
    }
    if (inputs.size() == 3) {
      Checks.that(
          inputs.get(2).shape().equals(Shape.of(outputs)),
          "the bias must be [" + outputs + "], not " + inputs.get(2));
    }
    return List.of(new TensorType(inputs.get(0).dataType(), Shape.of(extents)));
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor x = inputs.get(0);
    Tensor w = inputs.get(1);
    Tensor out = outputs.get(0);
    int[] in = Window.spatial3(x.type().shape());
    int[] kernel = Window.spatial3(w.type().shape());
    int[] size = Window.spatial3(out.type().shape());
    int[] stride = Window.three(window.strides(), 1);
    int[] dilation = Window.three(window.dilations(), 1);
    int[] pad = Window.three(window.padsBefore(), 0);
    int channels = w.type().shape().extent(1);
    int images = x.type().shape().extent(0);
    int filters = w.type().shape().extent(0);
    Epilogue epilogue =
        new Epilogue(Epilogue.perChannel(inputs, 2, window.rank()), out, activation);
    Tensor sums = epilogue.sums();
    return () -> {
      int o = 0;
      for (int image = 0; image < images; image++) {
        for (int m = 0; m < filters; m++) {
          int firstChannel = image * channels * group + m / (filters / group) * channels;
          for (int d = 0; d < size[0]; d++) {
            for (int h = 0; h < size[1]; h++) {
              for (int v = 0; v < size[2]; v++) {
                double sum = 0;
                int weight = m * channels * kernel[0] * kernel[1] * kernel[2];
                for (int c = 0; c < channels; c++) {
                  for (int a = 0; a < kernel[0]; a++) {
                    for (int b = 0; b < kernel[1]; b++) {
                      for (int e = 0; e < kernel[2]; e++, weight++) {
                        int p = d * stride[0] + a * dilation[0] - pad[0];
                        int q = h * stride[1] + b * dilation[1] - pad[1];
                        int r = v * stride[2] + e * dilation[2] - pad[2];
                        if (p >= 0 && p < in[0] && q >= 0 && q < in[1] && r >= 0 && r < in[2]) {
                          int at = (((firstChannel + c) * in[0] + p) * in[1] + q) * in[2] + r;
                          sum += x.getDouble(at) * w.getDouble(weight);
                        }
                      }
                    }
                  }
                }
                sums.setDouble(o++, sum);
              }
            }
          }
        }
      }
      epilogue.run();
    };
  }

  @Override
  public String toString() {
    return name()
        + "("
        + window
        + ", group="
        + group
        + ")"
        + (activation == null ? "" : "+" + activation);
  }
}
