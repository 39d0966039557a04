package dev.nimble.testkit;

import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.onnx.OnnxModel;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;

/** The six networks from Maven artifacts, at two small shapes each. */
public enum RealModels {
  MINILM("/all-minilm-l6-v2.onnx", Map.of("*.0", 1, "*.1", 8), Map.of("*.0", 2, "*.1", 5)),
  PPOCR_DET_V3("/models/ch_PP-OCRv3_det_infer.onnx", image(1, 32, 64), image(2, 64, 32)),
  PPOCR_DET_V4("/models/ch_PP-OCRv4_det_infer.onnx", image(1, 32, 64), image(2, 64, 32)),
  PPOCR_REC_V3("/models/ch_PP-OCRv3_rec_infer.onnx", image(1, 48, 32), image(2, 48, 16)),
  PPOCR_REC_V4("/models/ch_PP-OCRv4_rec_infer.onnx", image(1, 48, 32), image(2, 48, 16)),
  PPOCR_CLS("/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", image(1, 48, 192), image(2, 48, 96));

  private final String resource;
  private final Map<String, Integer> first;
  private final Map<String, Integer> second;

  RealModels(String resource, Map<String, Integer> first, Map<String, Integer> second) {
    this.resource = resource;
    this.first = first;
    this.second = second;
  }

  private static Map<String, Integer> image(int batch, int height, int width) {
    return Map.of("x.0", batch, "x.2", height, "x.3", width);
  }

  /** The file's bytes. */
  public byte[] bytes() {
    try (InputStream stream = RealModels.class.getResourceAsStream(resource)) {
      if (stream == null) {
        throw new IllegalStateException(resource + " is not on the class path");
      }
      return stream.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Imports it. */
  public OnnxModel model() {
    return OnnxModel.parse(bytes(), resource);
  }

  /** The bindings of test shape 0 or 1. */
  public Map<String, Integer> dimensions(int shape) {
    return shape == 0 ? first : second;
  }

  /** Seeded inputs: pixels in [-1, 1], token ids, masks that end in zeros. */
  public static Map<String, Tensor> inputs(Map<String, TensorType> types, long seed) {
    Random random = new Random(seed);
    Map<String, Tensor> inputs = new LinkedHashMap<>();
    types.forEach(
        (name, type) -> {
          Tensor tensor = Tensor.zeros(type);
          int row = Math.max(1, type.shape().extent(-1));
          for (int i = 0; i < type.elements(); i++) {
            if (name.equals("input_ids")) {
              tensor.setLong(i, 1000 + random.nextInt(20000));
            } else if (name.equals("attention_mask")) {
              tensor.setLong(i, i % row < row - i / row ? 1 : 0);
            } else if (type.dataType().isFloating()) {
              tensor.setDouble(i, 2 * random.nextDouble() - 1);
            }
          }
          inputs.put(name, tensor);
        });
    return inputs;
  }
}
