package dev.nimble.onnx;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.OperatorSetIdProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.TensorShapeProto;
import ai.onnx.proto.OnnxMl.TypeProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.testkit.OnnxRuntimeOracle;
import java.util.ArrayList;
import java.util.List;

/** Writes small ONNX models. */
final class ModelMaker {
  private final int opset;
  private final GraphProto.Builder graph = GraphProto.newBuilder().setName("made");

  ModelMaker(int opset) {
    this.opset = opset;
  }

  ModelMaker input(String name, TensorType type) {
    graph.addInput(OnnxRuntimeOracle.declaration(name, type));
    return this;
  }

  /**
   * A single-precision input whose dimensions are extents (Integer), symbols (String) or open ("").
   */
  ModelMaker input(String name, Object... dimensions) {
    TensorShapeProto.Builder shape = TensorShapeProto.newBuilder();
    for (Object dimension : dimensions) {
      if (dimension instanceof Integer) {
        shape.addDimBuilder().setDimValue((Integer) dimension);
      } else if (dimension.equals("")) {
        shape.addDimBuilder();
      } else {
        shape.addDimBuilder().setDimParam((String) dimension);
      }
    }
    graph.addInput(
        ValueInfoProto.newBuilder()
            .setName(name)
            .setType(
                TypeProto.newBuilder()
                    .setTensorType(
                        TypeProto.Tensor.newBuilder()
                            .setElemType(TensorProto.DataType.FLOAT_VALUE)
                            .setShape(shape))));
    return this;
  }

  ModelMaker initializer(String name, Tensor contents) {
    return initializer(OnnxRuntimeOracle.tensor(name, contents));
  }

  ModelMaker initializer(TensorProto tensor) {
    graph.addInitializer(tensor);
    return this;
  }

  /**
   * A node named {@code n0, n1, ...}.
   *
   * @param inputs names with commas between; empty for one that is left out
   * @param outputs names with commas between
   * @param attributes names and values in turn
   */
  ModelMaker node(String operator, String inputs, String outputs, Object... attributes) {
    List<AttributeProto> made = new ArrayList<>();
    for (int i = 0; i < attributes.length; i += 2) {
      made.add(attribute((String) attributes[i], attributes[i + 1]));
    }
    NodeProto.Builder node =
        NodeProto.newBuilder()
            .setName("n" + graph.getNodeCount())
            .setOpType(operator)
            .addAllAttribute(made);
    for (String name : inputs.split(",", -1)) {
      if (!inputs.isEmpty()) {
        node.addInput(name.strip());
      }
    }
    for (String name : outputs.split(",", -1)) {
      if (!outputs.isEmpty()) {
        node.addOutput(name.strip());
      }
    }
    return node(node.build());
  }

  ModelMaker node(NodeProto node) {
    graph.addNode(node);
    return this;
  }

  static AttributeProto attribute(String name, Object value) {
    if (value instanceof float[]) {
      AttributeProto.Builder reals =
          AttributeProto.newBuilder().setName(name).setType(AttributeProto.AttributeType.FLOATS);
      for (float real : (float[]) value) {
        reals.addFloats(real);
      }
      return reals.build();
    }
    if (value instanceof GraphProto) {
      return AttributeProto.newBuilder()
          .setName(name)
          .setType(AttributeProto.AttributeType.GRAPH)
          .setG((GraphProto) value)
          .build();
    }
    if (value instanceof String[]) {
      AttributeProto.Builder texts =
          AttributeProto.newBuilder().setName(name).setType(AttributeProto.AttributeType.STRINGS);
      for (String text : (String[]) value) {
        texts.addStrings(com.google.protobuf.ByteString.copyFromUtf8(text));
      }
      return texts.build();
    }
    return OnnxRuntimeOracle.attribute(name, value);
  }

  ModelMaker output(String name) {
    graph.addOutput(ValueInfoProto.newBuilder().setName(name));
    return this;
  }

  ModelProto proto() {
    return ModelProto.newBuilder()
        .setIrVersion(8)
        .addOpsetImport(OperatorSetIdProto.newBuilder().setVersion(opset))
        .setGraph(graph)
        .build();
  }

  byte[] bytes() {
    return proto().toByteArray();
  }

  OnnxModel model() {
    return OnnxModel.parse(bytes(), "made.onnx");
  }
}
