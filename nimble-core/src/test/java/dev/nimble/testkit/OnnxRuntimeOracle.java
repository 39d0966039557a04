package dev.nimble.testkit;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.ModelProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.OperatorSetIdProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.TensorShapeProto;
import ai.onnx.proto.OnnxMl.TypeProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import ai.onnxruntime.OnnxJavaType;
import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OnnxValue;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import ai.onnxruntime.TensorInfo;
import com.google.protobuf.ByteString;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** ONNX Runtime as an oracle: for whole models, and for single nodes made on the spot. */
public final class OnnxRuntimeOracle {
  private OnnxRuntimeOracle() {}

  /** Runs a model file's bytes; results in the order of its outputs. */
  public static List<Tensor> run(byte[] model, Map<String, Tensor> inputs) {
    OrtEnvironment environment = OrtEnvironment.getEnvironment();
    Map<String, OnnxTensor> given = new LinkedHashMap<>();
    try (OrtSession.SessionOptions options = new OrtSession.SessionOptions()) {
      options.setIntraOpNumThreads(2);
      options.setSessionLogLevel(ai.onnxruntime.OrtLoggingLevel.ORT_LOGGING_LEVEL_ERROR);
      try (OrtSession session = environment.createSession(model, options)) {
        for (Map.Entry<String, Tensor> input : inputs.entrySet()) {
          given.put(input.getKey(), toOrt(environment, input.getValue()));
        }
        try (OrtSession.Result result = session.run(given)) {
          List<Tensor> outputs = new ArrayList<>();
          for (Map.Entry<String, OnnxValue> output : result) {
            outputs.add(fromOrt((OnnxTensor) output.getValue()));
          }
          return outputs;
        }
      }
    } catch (OrtException e) {
      throw new IllegalArgumentException(e.getMessage(), e);
    } finally {
      given.values().forEach(OnnxTensor::close);
    }
  }

  /** Runs one operator of the standard domain; results in order. */
  public static List<Tensor> run(
      String operator,
      Map<String, Object> attributes,
      int opset,
      List<Tensor> inputs,
      int outputs) {
    Map<String, Tensor> byName = new LinkedHashMap<>();
    for (int i = 0; i < inputs.size(); i++) {
      byName.put("x" + i, inputs.get(i));
    }
    return run(model(operator, attributes, opset, inputs, outputs, 0).toByteArray(), byName);
  }

  /**
   * A model of one node with inputs {@code x0, x1, ...} and outputs {@code y0, y1, ...}; the last
   * {@code initializers} operands are held in the model, the others are its inputs.
   */
  public static ModelProto model(
      String operator,
      Map<String, Object> attributes,
      int opset,
      List<Tensor> operands,
      int outputs,
      int initializers) {
    NodeProto.Builder node = NodeProto.newBuilder().setOpType(operator).setName("the_node");
    attributes.forEach((name, value) -> node.addAttribute(attribute(name, value)));
    GraphProto.Builder graph = GraphProto.newBuilder().setName("single");
    for (int i = 0; i < operands.size(); i++) {
      node.addInput("x" + i);
      if (i < operands.size() - initializers) {
        graph.addInput(declaration("x" + i, operands.get(i).type()));
      } else {
        graph.addInitializer(tensor("x" + i, operands.get(i)));
      }
    }
    for (int i = 0; i < outputs; i++) {
      node.addOutput("y" + i);
      graph.addOutput(ValueInfoProto.newBuilder().setName("y" + i));
    }
    return ModelProto.newBuilder()
        .setIrVersion(8)
        .addOpsetImport(OperatorSetIdProto.newBuilder().setVersion(opset))
        .setGraph(graph.addNode(node))
        .build();
  }

  /** An attribute of type float, int, string, ints (long[]), floats (float[]) or tensor. */
  public static AttributeProto attribute(String name, Object value) {
    AttributeProto.Builder attribute = AttributeProto.newBuilder().setName(name);
    if (value instanceof Float) {
      return attribute.setType(AttributeProto.AttributeType.FLOAT).setF((Float) value).build();
    } else if (value instanceof Number) {
      return attribute
          .setType(AttributeProto.AttributeType.INT)
          .setI(((Number) value).longValue())
          .build();
    } else if (value instanceof String) {
      return attribute
          .setType(AttributeProto.AttributeType.STRING)
          .setS(ByteString.copyFromUtf8((String) value))
          .build();
    } else if (value instanceof long[]) {
      attribute.setType(AttributeProto.AttributeType.INTS);
      Arrays.stream((long[]) value).forEach(attribute::addInts);
      return attribute.build();
    } else if (value instanceof Tensor) {
      return attribute
          .setType(AttributeProto.AttributeType.TENSOR)
          .setT(tensor("", (Tensor) value))
          .build();
    }
    throw new IllegalArgumentException("attribute " + name + " = " + value);
  }

  /** A tensor as a model file holds it. */
  public static TensorProto tensor(String name, Tensor tensor) {
    TensorProto.Builder proto =
        TensorProto.newBuilder().setName(name).setDataType(number(tensor.type().dataType()));
    for (int extent : tensor.type().shape().toArray()) {
      proto.addDims(extent);
    }
    return proto.setRawData(ByteString.copyFrom(tensor.bytes().duplicate().rewind())).build();
  }

  /** A declared input. */
  public static ValueInfoProto declaration(String name, TensorType type) {
    TensorShapeProto.Builder shape = TensorShapeProto.newBuilder();
    for (int extent : type.shape().toArray()) {
      shape.addDim(TensorShapeProto.Dimension.newBuilder().setDimValue(extent));
    }
    return ValueInfoProto.newBuilder()
        .setName(name)
        .setType(
            TypeProto.newBuilder()
                .setTensorType(
                    TypeProto.Tensor.newBuilder()
                        .setElemType(number(type.dataType()))
                        .setShape(shape)))
        .build();
  }

  /** The element types that ONNX Runtime's Java interface and most of its kernels take. */
  public static DataType[] dataTypes() {
    return new DataType[] {
      DataType.F32,
      DataType.F64,
      DataType.F16,
      DataType.I64,
      DataType.I32,
      DataType.I8,
      DataType.U8,
      DataType.BOOL
    };
  }

  private static int number(DataType type) {
    switch (type) {
      case F32:
        return TensorProto.DataType.FLOAT_VALUE;
      case F64:
        return TensorProto.DataType.DOUBLE_VALUE;
      case F16:
        return TensorProto.DataType.FLOAT16_VALUE;
      case I64:
        return TensorProto.DataType.INT64_VALUE;
      case I32:
        return TensorProto.DataType.INT32_VALUE;
      case I8:
        return TensorProto.DataType.INT8_VALUE;
      case U8:
        return TensorProto.DataType.UINT8_VALUE;
      case BF16:
        return TensorProto.DataType.BFLOAT16_VALUE;
      case I16:
        return TensorProto.DataType.INT16_VALUE;
      case U16:
        return TensorProto.DataType.UINT16_VALUE;
      case U32:
        return TensorProto.DataType.UINT32_VALUE;
      case U64:
        return TensorProto.DataType.UINT64_VALUE;
      default:
        return TensorProto.DataType.BOOL_VALUE;
    }
  }

  private static OnnxTensor toOrt(OrtEnvironment environment, Tensor tensor) throws OrtException {
    OnnxJavaType type;
    switch (tensor.type().dataType()) {
      case F32:
        type = OnnxJavaType.FLOAT;
        break;
      case F64:
        type = OnnxJavaType.DOUBLE;
        break;
      case F16:
        type = OnnxJavaType.FLOAT16;
        break;
      case I64:
        type = OnnxJavaType.INT64;
        break;
      case I32:
        type = OnnxJavaType.INT32;
        break;
      case I8:
        type = OnnxJavaType.INT8;
        break;
      case U8:
        type = OnnxJavaType.UINT8;
        break;
      default:
        type = OnnxJavaType.BOOL;
        break;
    }
    long[] shape = Arrays.stream(tensor.type().shape().toArray()).asLongStream().toArray();
    ByteBuffer bytes = tensor.bytes().duplicate().order(tensor.bytes().order()).rewind();
    return OnnxTensor.createTensor(environment, bytes, shape, type);
  }

  private static Tensor fromOrt(OnnxTensor value) {
    TensorInfo info = value.getInfo();
    DataType type;
    switch (info.type) {
      case FLOAT:
        type = DataType.F32;
        break;
      case DOUBLE:
        type = DataType.F64;
        break;
      case FLOAT16:
        type = DataType.F16;
        break;
      case INT64:
        type = DataType.I64;
        break;
      case INT32:
        type = DataType.I32;
        break;
      case INT8:
        type = DataType.I8;
        break;
      case UINT8:
        type = DataType.U8;
        break;
      case BOOL:
        type = DataType.BOOL;
        break;
      default:
        throw new IllegalArgumentException("output of type " + info.type);
    }
    Tensor tensor = Tensor.zeros(new TensorType(type, Shape.ofLongs(info.getShape())));
    tensor.bytes().duplicate().put(value.getByteBuffer());
    return tensor;
  }
}
