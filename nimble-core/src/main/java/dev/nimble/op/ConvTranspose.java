package dev.nimble.op;

import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Transposed convolution over one to three spatial axes: X {@code [N, C, spatial...]}, W {@code [C,
 * M / group, kernel...]}, optionally B {@code [M]}. The pads of the window are cut from the result.
 *
 * @param window how W slides over the result
 * @param outputPadding added to the end of each spatial axis of the result
 * @param group channel groups
 * @param activation applied last; null for none
 */
public record ConvTranspose(
    Window window, ImmutableIntArray outputPadding, int group, @Nullable Unary activation)
    implements Operator {
  @Override
  public String name() {
    return "ConvTranspose";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 2, 3);
    Checks.sameDataType(inputs);
    Checks.floating(inputs.get(0));
    Shape x = inputs.get(0).shape();
    Shape w = inputs.get(1).shape();
    int rank = window.rank();
    if (rank < 1
        || rank > 3
        || x.rank() != rank + 2
        || w.rank() != rank + 2
        || outputPadding.length() != rank) {
      throw new InvalidModelException(
          "needs X and W with 1 to 3 spatial axes, as many as strides ("
              + rank
              + "), not "
              + x
              + " and "
              + w);
    }
    Checks.that(
        group >= 1 && x.extent(1) == w.extent(0) && x.extent(1) % group == 0,
        "channels do not fit: X " + x + ", W " + w + ", group " + group);
    int[] extents = new int[rank + 2];
    extents[0] = x.extent(0);
    extents[1] = w.extent(1) * group;
    for (int i = 0; i < rank; i++) {
      long reach = (long) window.dilations().get(i) * (w.extent(2 + i) - 1) + 1;
      long extent =
          (long) window.strides().get(i) * (x.extent(2 + i) - 1)
              + reach
              + outputPadding.get(i)
              - window.padsBefore().get(i)
              - window.padsAfter().get(i);
      Checks.that(
          extent >= 0 && extent <= Integer.MAX_VALUE,
          "output extent " + extent + " of spatial axis " + i + " is out of range");
      extents[2 + i] = (int) extent;
    }
    if (inputs.size() == 3) {
      Checks.that(
          inputs.get(2).shape().equals(Shape.of(extents[1])),
          "the bias must be [" + extents[1] + "], not " + inputs.get(2));
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
    int images = x.type().shape().extent(0);
    int channels = x.type().shape().extent(1) / group;
    int filters = w.type().shape().extent(1);
    int volume = kernel[0] * kernel[1] * kernel[2];
    Epilogue epilogue =
        new Epilogue(Epilogue.perChannel(inputs, 2, window.rank()), out, activation);
    Tensor sums = epilogue.sums();
    return () -> {
      int o = 0;
      for (int image = 0; image < images; image++) {
        for (int m = 0; m < filters * group; m++) {
          int firstChannel = m / filters * channels;
          for (int d = 0; d < size[0]; d++) {
            for (int h = 0; h < size[1]; h++) {
              for (int v = 0; v < size[2]; v++) {
                double sum = 0;
                for (int tap = 0; tap < volume; tap++) { // gather: which inputs reach this output
                  int p = d + pad[0] - tap / (kernel[1] * kernel[2]) * dilation[0];
                  int q = h + pad[1] - tap / kernel[2] % kernel[1] * dilation[1];
                  int r = v + pad[2] - tap % kernel[2] * dilation[2];
                  if (p % stride[0] != 0 || q % stride[1] != 0 || r % stride[2] != 0) {
                    continue;
                  }
                  p /= stride[0];
                  q /= stride[1];
                  r /= stride[2];
                  if (p < 0 || p >= in[0] || q < 0 || q >= in[1] || r < 0 || r >= in[2]) {
                    continue;
                  }
                  for (int c = firstChannel; c < firstChannel + channels; c++) {
                    int at = (((image * channels * group + c) * in[0] + p) * in[1] + q) * in[2] + r;
                    sum +=
                        x.getDouble(at) * w.getDouble((c * filters + m % filters) * volume + tap);
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
