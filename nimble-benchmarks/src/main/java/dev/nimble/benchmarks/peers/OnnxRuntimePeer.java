package dev.nimble.benchmarks.peers;

import ai.onnxruntime.OnnxJavaType;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OnnxValue;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtLoggingLevel;
import ai.onnxruntime.OrtSession;
import dev.nimble.graph.Tensor;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A session of ONNX Runtime. */
public final class OnnxRuntimePeer implements AutoCloseable {
  private final OrtEnvironment environment;
  private final OrtSession session;
  private final Map<String, OnnxTensor> inputs = new LinkedHashMap<>();

  private OnnxRuntimePeer(byte[] model, Map<String, Tensor> inputs, int threads)
      throws OrtException {
    this.environment = OrtEnvironment.getEnvironment();
    try (OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
      options.setIntraOpNumThreads(threads);
      options.setInterOpNumThreads(1);
      options.setSessionLogLevel(OrtLoggingLevel.ORT_LOGGING_LEVEL_ERROR);
      this.session = environment.createSession(model, options);
    }
    for (Map.Entry<String, Tensor> input : inputs.entrySet()) {
      this.inputs.put(input.getKey(), toOrt(input.getValue()));
    }
  }

  /**
   * Opens a session on a model with fixed inputs; empty if ONNX Runtime is not on the class path,
   * has no library for this machine, or does not take the model.
   */
  public static Optional<OnnxRuntimePeer> open(
      byte[] model, Map<String, Tensor> inputs, int threads) {
    try {
      return Optional.of(new OnnxRuntimePeer(model, inputs, threads));
    } catch (OrtException | LinkageError e) {
      return Optional.empty();
    }
  }

  private OnnxTensor toOrt(Tensor tensor) throws OrtException {
    long[] shape = Arrays.stream(tensor.type().shape().toArray()).asLongStream().toArray();
    ByteBuffer bytes = tensor.bytes().duplicate().order(tensor.bytes().order());
    return OnnxTensor.createTensor(environment, bytes, shape, typeOf(tensor));
  }

  private static OnnxJavaType typeOf(Tensor tensor) {
    switch (tensor.type().dataType()) {
      case F32:
        return OnnxJavaType.FLOAT;
      case F64:
        return OnnxJavaType.DOUBLE;
      case F16:
        return OnnxJavaType.FLOAT16;
      case I64:
        return OnnxJavaType.INT64;
      case I32:
        return OnnxJavaType.INT32;
      case I8:
        return OnnxJavaType.INT8;
      case U8:
        return OnnxJavaType.UINT8;
      default:
        return OnnxJavaType.BOOL;
    }
  }

  /** One step; its results are dropped. */
  public void run() {
    try (OrtSession.Result result = session.run(inputs)) {
      assert result.size() > 0;
    } catch (OrtException e) {
      throw new IllegalStateException(e);
    }
  }

  /**
   * One step, compared: the largest of |ours - theirs| / max(1, |theirs|) over all elements of all
   * single-precision outputs; null if an output has another shape.
   */
  public @Nullable Double largestDifference(Map<String, Tensor> ours) {
    try (OrtSession.Result result = session.run(inputs)) {
      double largest = 0;
      for (Map.Entry<String, OnnxValue> output : result) {
        Tensor own = ours.get(output.getKey());
        OnnxTensor theirs = (OnnxTensor) output.getValue();
        if (own == null) {
          return null;
        }
        ByteBuffer bytes = theirs.getByteBuffer();
        if (bytes.remaining() != own.type().sizeBytes()) {
          return null;
        }
        Tensor copy = Tensor.zeros(own.type());
        copy.bytes().duplicate().put(bytes);
        largest = Math.max(largest, Differences.largest(own, copy));
      }
      return largest;
    } catch (OrtException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void close() {
    try {
      inputs.values().forEach(OnnxTensor::close);
      session.close();
    } catch (OrtException e) {
      throw new IllegalStateException(e);
    }
  }
}
