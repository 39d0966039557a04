package dev.nimble.benchmarks.models;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.OperatorSetIdProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.TensorShapeProto;
import ai.onnx.proto.OnnxMl.TypeProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;

/**
 * A chain of operators, Add and Relu in turn, over 16 floats: kernels so small that what is
 * measured is the cost of scheduling them. As a model file, so that every runtime runs the same.
 */
public final class TinyChain {
  private static final int FLOATS = 16;

  private TinyChain() {}

  /**
   * The model file of a chain of {@code operators}; input {@code x} and output {@code y},
   * f32[1,16].
   */
  public static byte[] onnx(int operators) {
    GraphProto.Builder graph = GraphProto.newBuilder().setName("chain of " + operators);
    graph.addInput(declaration("x")).addOutput(declaration("y"));
    TensorProto.Builder constant =
        TensorProto.newBuilder()
            .setName("c")
            .setDataType(TensorProto.DataType.FLOAT_VALUE)
            .addDims(1)
            .addDims(FLOATS);
    for (int i = 0; i < FLOATS; i++) {
      constant.addFloatData(0.001f * i);
    }
    graph.addInitializer(constant);
    String before = "x";
    for (int i = 0; i < operators; i++) {
      String after = i == operators - 1 ? "y" : "v" + i;
      NodeProto.Builder node =
          NodeProto.newBuilder().setName("n" + i).addInput(before).addOutput(after);
      graph.addNode(i % 2 == 0 ? node.setOpType("Add").addInput("c") : node.setOpType("Relu"));
      before = after;
    }
    return ModelProto.newBuilder()
        .setIrVersion(8)
        .addOpsetImport(OperatorSetIdProto.newBuilder().setVersion(14))
        .setGraph(graph)
        .build()
        .toByteArray();
  }

  private static ValueInfoProto declaration(String name) {
    TensorShapeProto.Builder shape = TensorShapeProto.newBuilder();
    shape.addDim(TensorShapeProto.Dimension.newBuilder().setDimValue(1));
    shape.addDim(TensorShapeProto.Dimension.newBuilder().setDimValue(FLOATS));
    return ValueInfoProto.newBuilder()
        .setName(name)
        .setType(
            TypeProto.newBuilder()
                .setTensorType(
                    TypeProto.Tensor.newBuilder()
                        .setElemType(TensorProto.DataType.FLOAT_VALUE)
                        .setShape(shape)))
        .build();
  }
}
