package dev.nimble.onnx;

import static dev.nimble.onnx.NodeImport.axis;

import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import java.util.List;
import java.util.function.DoubleUnaryOperator;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Fourier transforms, as products with the matrix of the transform, and window functions. */
final class Signals {
  private Signals() {}

  /** A window function, given the angle of each sample in [0, 2 pi]. */
  static List<Value> window(NodeImport n, DoubleUnaryOperator function) {
    n.count(1, 1);
    Tensor given = n.known(n.operand(0), "the size");
    if (given.type().elements() != 1) {
      throw new InvalidModelException("the size must be one number");
    }
    int size = NodeImport.narrow(given.getLong(0));
    DataType type = TensorReader.dataType(n.attributes().small("output_datatype", 1), "the result");
    boolean periodic = n.attributes().flag("periodic", true);
    Tensor window = n.allocate(new TensorType(type, Shape.ofLongs(size)));
    for (int i = 0; i < size; i++) {
      double turn = periodic ? size : Math.max(1, size - 1);
      window.setDouble(i, function.applyAsDouble(2 * Math.PI * i / turn));
    }
    return n.emitConstant(window);
  }

  static List<Value> dft(NodeImport n) {
    n.count(1, 3);
    Composition c = new Composition(n);
    Shape shape = n.shape(0);
    int rank = shape.rank();
    boolean inverse = n.attributes().flag("inverse", false);
    boolean onesided = n.attributes().flag("onesided", false);
    long along = n.attributes().integer("axis", 1);
    if (n.opset() >= 20) {
      Tensor given = n.known(2, "the axis");
      along = given == null ? -2 : given.getLong(0);
    }
    int time = axis(along, rank);
    if (rank < 2 || time == rank - 1 || (shape.extent(-1) != 1 && shape.extent(-1) != 2)) {
      throw new InvalidModelException("needs an operand [..., 1 or 2] and an axis before the last");
    }
    if (inverse && onesided) {
      throw new InvalidModelException("an inverse transform cannot be onesided");
    }
    Tensor given = n.known(1, "dft_length");
    int length = given == null ? shape.extent(time) : NodeImport.narrow(given.getLong(0));
    // the axis of time last, the parts apart
    int[] order = IntStream.range(0, rank - 1).toArray();
    order[time] = rank - 2;
    order[rank - 2] = time;
    Value real = c.transpose(c.pick(n.operand(0), rank - 1, 0), order);
    Value imaginary =
        shape.extent(-1) == 1 ? null : c.transpose(c.pick(n.operand(0), rank - 1, 1), order);
    Value[] parts =
        transform(n, c, fitted(c, real, length), fitted(c, imaginary, length), inverse, onesided);
    return List.of(joined(c, parts, order));
  }

  /** Real and imaginary part along a new last axis. */
  private static Value joined(Composition c, Value[] parts, int[] order) {
    Value[] columns = new Value[2];
    for (int i = 0; i < 2; i++) {
      Value part = c.transpose(parts[i], order);
      int[] extents = java.util.Arrays.copyOf(part.type().shape().toArray(), order.length + 1);
      extents[order.length] = 1;
      columns[i] = c.reshape(part, extents);
    }
    return c.concat(order.length, List.of(columns));
  }

  /** The last axis cut, or padded by zeros, to {@code length}. */
  private static @Nullable Value fitted(Composition c, @Nullable Value x, int length) {
    if (x == null) {
      return null;
    }
    int last = x.type().shape().rank() - 1;
    int extent = x.type().shape().extent(last);
    if (length <= extent) {
      return c.slice(x, last, 0, length, 1);
    }
    int[] after = new int[last + 1];
    after[last] = length - extent;
    return c.pad(x, new int[last + 1], after);
  }

  private static Value[] transform(
      NodeImport n,
      Composition c,
      @Nullable Value real,
      @Nullable Value imaginary,
      boolean inverse,
      boolean onesided) {
    if (real == null) {
      throw new IllegalStateException("there is always a real part");
    }
    int length = real.type().shape().extent(-1);
    int bins = onesided ? length / 2 + 1 : length;
    DataType type = real.type().dataType();
    Tensor cosines = n.allocate(TensorType.of(type, length, bins));
    Tensor sines = n.allocate(TensorType.of(type, length, bins));
    for (int t = 0; t < length; t++) {
      for (int k = 0; k < bins; k++) {
        double angle = 2 * Math.PI * ((long) t * k % length) / length * (inverse ? 1 : -1);
        cosines.setDouble(t * bins + k, Math.cos(angle) / (inverse ? length : 1));
        sines.setDouble(t * bins + k, Math.sin(angle) / (inverse ? length : 1));
      }
    }
    Value cos = c.constant(cosines);
    Value sin = c.constant(sines);
    Value re = c.matMul(real, cos);
    Value im = c.matMul(real, sin);
    if (imaginary != null) {
      re = c.sub(re, c.matMul(imaginary, sin));
      im = c.add(im, c.matMul(imaginary, cos));
    }
    return new Value[] {re, im};
  }

  static List<Value> stft(NodeImport n) {
    n.count(2, 4);
    Composition c = new Composition(n);
    Tensor stepGiven = n.known(n.operand(1), "frame_step");
    Tensor lengthGiven = n.known(3, "frame_length");
    Shape shape = n.shape(0);
    boolean rank3 = shape.rank() == 3;
    if (!rank3 && shape.rank() != 2) {
      throw new InvalidModelException("needs a signal [batch, length, 1 or 2]");
    }
    int step = NodeImport.narrow(stepGiven.getLong(0));
    if (lengthGiven == null && !n.has(2)) {
      throw new InvalidModelException("needs a window or frame_length");
    }
    int length =
        lengthGiven == null ? n.shape(2).elements() : NodeImport.narrow(lengthGiven.getLong(0));
    int signal = shape.extent(1);
    if (step < 1 || length < 1 || length > signal) {
      throw new InvalidModelException(
          "frames of " + length + ", " + step + " apart, do not fit a signal of " + signal);
    }
    int frames = (signal - length) / step + 1;
    Value places = c.longs(Shape.of(frames, length), i -> (long) (i / length) * step + i % length);
    Value[] parts = new Value[2];
    int count = rank3 ? shape.extent(2) : 1;
    for (int i = 0; i < count; i++) {
      Value part = rank3 ? c.pick(n.operand(0), 2, i) : n.operand(0);
      Value framed = c.gather(part, 1, places);
      parts[i] = n.has(2) ? c.mul(framed, n.operand(2)) : framed;
    }
    boolean onesided = n.attributes().flag("onesided", true);
    Value imaginary = count == 2 ? parts[1] : null;
    Value[] result = transform(n, c, parts[0], imaginary, false, onesided);
    return List.of(joined(c, result, new int[] {0, 1, 2}));
  }

  /** The matrix that gathers the bins of a spectrum into bins of the mel scale. */
  static List<Value> melWeights(NodeImport n) {
    n.count(5, 5);
    int mels = NodeImport.narrow(n.known(n.operand(0), "num_mel_bins").getLong(0));
    long length = n.known(n.operand(1), "dft_length").getLong(0);
    double rate = n.known(n.operand(2), "sample_rate").getDouble(0);
    double low = mel(n.known(n.operand(3), "lower_edge_hertz").getDouble(0));
    double high = mel(n.known(n.operand(4), "upper_edge_hertz").getDouble(0));
    DataType type = TensorReader.dataType(n.attributes().small("output_datatype", 1), "the result");
    if (mels < 1 || length < 1 || !(rate > 0) || !(high > low)) {
      throw new InvalidModelException("the bins, rate or edges are out of range");
    }
    int bins = NodeImport.narrow(length / 2 + 1);
    long[] edges = new long[mels + 2];
    for (int i = 0; i < edges.length; i++) {
      double hertz = 700 * (Math.pow(10, (i * (high - low) / edges.length + low) / 2595) - 1);
      edges[i] = (long) Math.floor((length + 1) * hertz / rate);
    }
    Tensor weights = n.allocate(TensorType.of(type, bins, mels));
    for (int m = 0; m < mels; m++) {
      long first = edges[m];
      long centre = edges[m + 1];
      long last = edges[m + 2];
      if (centre == first && centre >= 0 && centre < bins) {
        weights.setDouble((int) centre * mels + m, 1);
      }
      for (long k = Math.max(0, first); k <= centre && k < bins && centre > first; k++) {
        weights.setDouble((int) k * mels + m, (double) (k - first) / (centre - first));
      }
      for (long k = Math.max(0, centre); k < last && k < bins && last > centre; k++) {
        weights.setDouble((int) k * mels + m, (double) (last - k) / (last - centre));
      }
    }
    return n.emitConstant(weights);
  }

  private static double mel(double hertz) {
    return 2595 * Math.log10(1 + hertz / 700);
  }
}
