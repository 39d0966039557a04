package dev.nimble.benchmarks.models;

import com.google.common.collect.ImmutableMap;
import dev.nimble.error.InvalidModelException;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;

/** The models on the class path, with names for their dimensions and default extents. */
public enum NamedModel {
  /** Sentence embedding, all-MiniLM-L6-v2. */
  MINILM("minilm", "/all-minilm-l6-v2.onnx", tokens(), Map.of("batch", 1, "sequence", 128)),
  /** PP-OCRv3 text detection. */
  PPOCR_DET_V3("ppocr-det-v3", "/models/ch_PP-OCRv3_det_infer.onnx", image(), size(320, 320)),
  /** PP-OCRv4 text detection. */
  PPOCR_DET_V4("ppocr-det-v4", "/models/ch_PP-OCRv4_det_infer.onnx", image(), size(320, 320)),
  /** PP-OCRv3 text recognition. */
  PPOCR_REC_V3("ppocr-rec-v3", "/models/ch_PP-OCRv3_rec_infer.onnx", image(), size(48, 320)),
  /** PP-OCRv4 text recognition. */
  PPOCR_REC_V4("ppocr-rec-v4", "/models/ch_PP-OCRv4_rec_infer.onnx", image(), size(48, 320)),
  /** PP-OCR text direction. */
  PPOCR_CLS("ppocr-cls", "/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", image(), size(48, 192));

  private final String modelName;
  private final String resource;
  private final ImmutableMap<String, String> dimensionNames;
  private final ImmutableMap<String, Integer> defaults;

  NamedModel(
      String modelName,
      String resource,
      Map<String, String> dimensionNames,
      Map<String, Integer> defaults) {
    this.modelName = modelName;
    this.resource = resource;
    this.dimensionNames = ImmutableMap.copyOf(dimensionNames);
    this.defaults = ImmutableMap.copyOf(defaults);
  }

  private static Map<String, String> tokens() {
    return Map.of("batch", "*.0", "sequence", "*.1");
  }

  private static Map<String, String> image() {
    return Map.of("batch", "x.0", "height", "x.2", "width", "x.3");
  }

  private static Map<String, Integer> size(int height, int width) {
    return Map.of("batch", 1, "height", height, "width", width);
  }

  /** The model of that name. */
  public static Optional<NamedModel> named(String name) {
    return Arrays.stream(values()).filter(m -> m.modelName.equals(name)).findFirst();
  }

  /** The name on the command line. */
  public String modelName() {
    return modelName;
  }

  /** What the model's own bindings call each of its dimensions: {@code height} is {@code x.2}. */
  public ImmutableMap<String, String> dimensionNames() {
    return dimensionNames;
  }

  /** Extents for dimensions that are not bound. */
  public ImmutableMap<String, Integer> defaults() {
    return defaults;
  }

  /**
   * The model file.
   *
   * @throws InvalidModelException if its artifact is not on the class path
   */
  public byte[] bytes() {
    try (InputStream stream = NamedModel.class.getResourceAsStream(resource)) {
      if (stream == null) {
        throw new InvalidModelException(
            "model " + modelName + " is not on the class path: " + resource + " is missing");
      }
      return stream.readAllBytes();
    } catch (IOException e) {
      throw new InvalidModelException("model " + modelName + " cannot be read: " + e.getMessage());
    }
  }
}
