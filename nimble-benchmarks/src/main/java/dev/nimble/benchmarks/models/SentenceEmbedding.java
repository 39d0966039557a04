package dev.nimble.benchmarks.models;

import ai.djl.huggingface.tokenizers.Encoding;
import ai.djl.huggingface.tokenizers.HuggingFaceTokenizer;
import dev.nimble.Engine;
import dev.nimble.Nimble;
import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.onnx.OnnxModel;
import java.io.IOException;
import java.io.InputStream;
import java.util.Map;

/** Sentence embeddings with MiniLM, as a user of the library would write them. */
public final class SentenceEmbedding implements AutoCloseable {
  private final OnnxModel model =
      OnnxModel.parse(NamedModel.MINILM.bytes(), NamedModel.MINILM.modelName());
  private final HuggingFaceTokenizer tokenizer = tokenizer();

  /** The model's own tokenizer. */
  private static HuggingFaceTokenizer tokenizer() {
    String resource = "/all-minilm-l6-v2-tokenizer.json";
    try (InputStream stream = SentenceEmbedding.class.getResourceAsStream(resource)) {
      if (stream == null) {
        throw new InvalidModelException(resource + " is not on the class path");
      }
      return HuggingFaceTokenizer.newInstance(stream, Map.of("padding", "false"));
    } catch (IOException e) {
      throw new InvalidModelException("the tokenizer cannot be read: " + e.getMessage());
    }
  }

  /** The mean of the token embeddings of {@code sentence}, 384 numbers. */
  public float[] embed(String sentence) {
    Encoding tokens = tokenizer.encode(sentence);
    int length = tokens.getIds().length;
    Shape shape = Shape.of(1, length);
    try (Engine engine = Nimble.prepare(model.graph(Map.of("*.0", 1, "*.1", length)))) {
      Map<String, Tensor> outputs =
          engine.run(
              Map.of(
                  "input_ids", Tensor.ofLongs(shape, tokens.getIds()),
                  "attention_mask", Tensor.ofLongs(shape, tokens.getAttentionMask()),
                  "token_type_ids", Tensor.ofLongs(shape, tokens.getTypeIds())));
      Tensor hidden = outputs.values().iterator().next(); // [1, length, 384]
      float[] mean = new float[hidden.type().shape().extent(2)];
      for (int i = 0; i < hidden.type().elements(); i++) {
        mean[i % mean.length] += hidden.floats().get(i) / length;
      }
      return mean;
    }
  }

  /** The cosine of the angle between two vectors of one length. */
  public static double cosine(float[] a, float[] b) {
    double dot = 0;
    double normA = 0;
    double normB = 0;
    for (int i = 0; i < a.length; i++) {
      dot += (double) a[i] * b[i];
      normA += (double) a[i] * a[i];
      normB += (double) b[i] * b[i];
    }
    return dot / Math.sqrt(normA * normB);
  }

  @Override
  public void close() {
    tokenizer.close();
  }
}
