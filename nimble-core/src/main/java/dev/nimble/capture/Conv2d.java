package dev.nimble.capture;

import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.graph.Operand;
import dev.nimble.graph.TensorType;
import dev.nimble.op.Window;
import org.jspecify.annotations.Nullable;

/** A convolution of {@code [N, C, H, W]}. */
public final class Conv2d extends Layer {
  private final Settings settings;
  private final Parameter weight;
  private final @Nullable Parameter bias;

  /**
   * How it slides. Starts from {@link Conv2d#kernel}; each method returns changed settings.
   *
   * @param kernelHeight rows of the kernel
   * @param kernelWidth columns of the kernel
   * @param stride steps along both axes
   * @param padHeight rows of padding at both ends
   * @param padWidth columns of padding at both ends
   * @param dilation steps between elements of the kernel along both axes
   * @param group channel groups
   * @param biased whether a bias is added
   */
  public record Settings(
      int kernelHeight,
      int kernelWidth,
      int stride,
      int padHeight,
      int padWidth,
      int dilation,
      int group,
      boolean biased) {
    /** Steps along both axes. */
    public Settings stride(int steps) {
      return new Settings(
          kernelHeight, kernelWidth, steps, padHeight, padWidth, dilation, group, biased);
    }

    /** Padding at all four sides. */
    public Settings pad(int elements) {
      return pad(elements, elements);
    }

    /** Padding above and below, left and right. */
    public Settings pad(int height, int width) {
      return new Settings(
          kernelHeight, kernelWidth, stride, height, width, dilation, group, biased);
    }

    /** Steps between elements of the kernel. */
    public Settings dilation(int steps) {
      return new Settings(
          kernelHeight, kernelWidth, stride, padHeight, padWidth, steps, group, biased);
    }

    /** Channel groups; as many as channels make the convolution depthwise. */
    public Settings group(int groups) {
      return new Settings(
          kernelHeight, kernelWidth, stride, padHeight, padWidth, dilation, groups, biased);
    }

    /** Without bias, as before a batch normalisation. */
    public Settings withoutBias() {
      return new Settings(
          kernelHeight, kernelWidth, stride, padHeight, padWidth, dilation, group, false);
    }

    Window window() {
      ImmutableIntArray pads = ImmutableIntArray.of(padHeight, padWidth);
      return new Window(
          ImmutableIntArray.of(stride, stride),
          ImmutableIntArray.of(dilation, dilation),
          pads,
          pads);
    }
  }

  /** A square kernel; unit stride and dilation, no padding, one group, a bias. */
  public static Settings kernel(int size) {
    return kernel(size, size);
  }

  /** A rectangular kernel; else as {@link #kernel(int)}. */
  public static Settings kernel(int height, int width) {
    return new Settings(height, width, 1, 0, 0, 1, 1, true);
  }

  /**
   * From {@code inputs} to {@code outputs} channels; weights are uniform within 1 / sqrt(elements
   * that each result sums).
   */
  public Conv2d(int inputs, int outputs, Settings settings) {
    this.settings = settings;
    int channels = inputs / settings.group;
    int fanIn = channels * settings.kernelHeight * settings.kernelWidth;
    Initialiser uniform = Initialiser.uniform(1 / Math.sqrt(fanIn));
    TensorType type =
        TensorType.f32(outputs, channels, settings.kernelHeight, settings.kernelWidth);
    weight = parameter("weight", type, uniform);
    bias = settings.biased ? parameter("bias", TensorType.f32(outputs), uniform) : null;
  }

  @Override
  protected Operand forward(Ops f, Operand x) {
    return f.conv(x, weight, bias, settings.window(), settings.group);
  }
}
