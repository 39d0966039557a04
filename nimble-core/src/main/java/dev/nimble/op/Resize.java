package dev.nimble.op;

import com.google.common.primitives.ImmutableDoubleArray;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.List;

/**
 * Its operand resampled to another shape of the same rank (ONNX Resize and Upsample without region
 * of interest). Interpolation is separable: the weight of an element is the product of its weights
 * along each axis.
 *
 * @param mode how values between elements are found
 * @param transform how a position of the result maps to the operand
 * @param rounding which element is nearest (mode NEAREST)
 * @param cubicCoefficient the a of the cubic kernel, usually -0.75 (mode CUBIC)
 * @param excludeOutside whether weights outside the operand are 0, and the rest renormalised (mode
 *     CUBIC)
 * @param target the result's shape
 * @param scales result extent over operand extent along each axis, as given
 */
public record Resize(
    Mode mode,
    Transform transform,
    Rounding rounding,
    float cubicCoefficient,
    boolean excludeOutside,
    Shape target,
    ImmutableDoubleArray scales)
    implements Operator {
  /** How values between elements are found. */
  public enum Mode {
    NEAREST,
    LINEAR,
    CUBIC
  }

  /** How a position of the result maps to the operand: coordinate_transformation_mode. */
  public enum Transform {
    HALF_PIXEL,
    PYTORCH_HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC,
    TF_HALF_PIXEL_FOR_NN,
    HALF_PIXEL_SYMMETRIC
  }

  /** Which element is nearest: nearest_mode. */
  public enum Rounding {
    ROUND_PREFER_FLOOR,
    ROUND_PREFER_CEIL,
    FLOOR,
    CEIL
  }

  @Override
  public String name() {
    return "Resize";
  }

  @Override
  public List<TensorType> infer(List<TensorType> inputs) {
    Checks.count(inputs, 1, 1);
    TensorType type = inputs.get(0);
    if (mode != Mode.NEAREST) {
      Checks.floating(type);
    }
    Checks.that(
        target.rank() == type.shape().rank() && scales.length() == target.rank(),
        "target " + target + " and scales " + scales + " do not fit " + type);
    Checks.that(type.elements() > 0 || target.elements() == 0, "cannot resize an empty " + type);
    return List.of(new TensorType(type.dataType(), target));
  }

  /** The position in the operand of result position {@code i} along {@code axis}. */
  public double source(int axis, int i, int extent) {
    double scale = scales.get(axis);
    switch (transform) {
      case ASYMMETRIC:
        return i / scale;
      case ALIGN_CORNERS:
        // ONNX takes the result's length before it is rounded down to whole elements
        double last = target.extent(axis) == 1 ? 0 : scale * extent - 1;
        return last == 0 ? 0 : i * (extent - 1) / last;
      case TF_HALF_PIXEL_FOR_NN:
        return (i + 0.5) / scale;
      case HALF_PIXEL_SYMMETRIC:
        // the result is centred on the operand, though its length was rounded down
        double kept = target.extent(axis) / (scale * extent);
        return extent / 2.0 * (1 - kept) + (i + 0.5) / scale - 0.5;
      case PYTORCH_HALF_PIXEL:
        return target.extent(axis) > 1 ? (i + 0.5) / scale - 0.5 : 0;
      default:
        return (i + 0.5) / scale - 0.5;
    }
  }

  /** The nearest element of the operand, clamped to it (mode NEAREST). */
  public int nearest(int axis, int i, int extent) {
    double at = source(axis, i, extent);
    double rounded;
    switch (rounding) {
      case FLOOR:
        rounded = Math.floor(at);
        break;
      case CEIL:
        rounded = Math.ceil(at);
        break;
      case ROUND_PREFER_CEIL:
        rounded = Math.floor(at + 0.5);
        break;
      default:
        rounded = Math.ceil(at - 0.5);
        break;
    }
    return (int) Math.max(0, Math.min(extent - 1, rounded));
  }

  @Override
  public Runnable bind(List<Tensor> inputs, List<Tensor> outputs) {
    Tensor in = inputs.get(0);
    Tensor out = outputs.get(0);
    Shape shape = in.type().shape();
    int rank = shape.rank();
    int size = in.type().dataType().sizeBytes();
    int[][][] elements = new int[rank][][];
    double[][][] weights = new double[rank][][];
    for (int axis = 0; axis < rank; axis++) {
      int n = target.extent(axis);
      elements[axis] = new int[n][];
      weights[axis] = new double[n][];
      for (int i = 0; i < n; i++) {
        taps(axis, i, shape.extent(axis), elements[axis], weights[axis]);
      }
    }
    int[] strides = shape.strides();
    int[] position = new int[rank];
    return () -> {
      java.util.Arrays.fill(position, 0);
      for (int i = 0; i < target.elements(); i++) {
        if (mode == Mode.NEAREST) {
          int offset = 0;
          for (int axis = 0; axis < rank; axis++) {
            offset += elements[axis][position[axis]][0] * strides[axis];
          }
          Elements.copy(in, offset, out, i, 1, size);
        } else {
          out.setDouble(i, interpolate(in, elements, weights, strides, position, 0, 0));
        }
        for (int axis = rank - 1; axis >= 0 && ++position[axis] == target.extent(axis); axis--) {
          position[axis] = 0;
        }
      }
    };
  }

  private static double interpolate(
      Tensor in,
      int[][][] elements,
      double[][][] weights,
      int[] strides,
      int[] position,
      int axis,
      int offset) {
    if (axis == position.length) {
      return in.getDouble(offset);
    }
    int[] taps = elements[axis][position[axis]];
    double[] weight = weights[axis][position[axis]];
    double sum = 0;
    for (int k = 0; k < taps.length; k++) {
      if (weight[k] != 0) {
        int next = offset + taps[k] * strides[axis];
        sum += weight[k] * interpolate(in, elements, weights, strides, position, axis + 1, next);
      }
    }
    return sum;
  }

  /** Which elements of the operand, along one axis, contribute to result position {@code i}. */
  private void taps(int axis, int i, int extent, int[][] elements, double[][] weights) {
    if (mode == Mode.NEAREST) {
      elements[i] = new int[] {nearest(axis, i, extent)};
      weights[i] = new double[] {1};
      return;
    }
    double at = source(axis, i, extent);
    int floor = (int) Math.floor(at);
    double t = at - floor;
    int first = mode == Mode.LINEAR ? 0 : -1;
    double a = cubicCoefficient;
    double[] weight =
        mode == Mode.LINEAR
            ? new double[] {1 - t, t}
            : new double[] {
              ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a,
              ((a + 2) * t - (a + 3)) * t * t + 1,
              ((a + 2) * (1 - t) - (a + 3)) * (1 - t) * (1 - t) + 1,
              ((a * (2 - t) - 5 * a) * (2 - t) + 8 * a) * (2 - t) - 4 * a
            };
    int[] element = new int[weight.length];
    double sum = 0;
    for (int k = 0; k < weight.length; k++) {
      int index = floor + first + k;
      if (excludeOutside && (index < 0 || index >= extent)) {
        weight[k] = 0;
      }
      sum += weight[k];
      element[k] = Math.max(0, Math.min(extent - 1, index));
    }
    for (int k = 0; excludeOutside && k < weight.length; k++) {
      weight[k] /= sum;
    }
    elements[i] = element;
    weights[i] = weight;
  }

  @Override
  public String toString() {
    return name() + "(" + mode + " " + transform + " to " + target + ")";
  }
}
