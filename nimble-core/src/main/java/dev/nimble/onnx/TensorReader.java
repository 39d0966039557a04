package dev.nimble.onnx;

import ai.onnx.proto.OnnxMl.TensorProto;
import dev.nimble.error.InvalidModelException;
import dev.nimble.error.Location;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Reads the tensors of a model file. */
final class TensorReader {
  private TensorReader() {}

  /** The element type of that number in {@code TensorProto.DataType}. */
  static DataType dataType(int number, String where) {
    switch (number) {
      case TensorProto.DataType.FLOAT_VALUE:
        return DataType.F32;
      case TensorProto.DataType.DOUBLE_VALUE:
        return DataType.F64;
      case TensorProto.DataType.FLOAT16_VALUE:
        return DataType.F16;
      case TensorProto.DataType.INT64_VALUE:
        return DataType.I64;
      case TensorProto.DataType.INT32_VALUE:
        return DataType.I32;
      case TensorProto.DataType.INT8_VALUE:
        return DataType.I8;
      case TensorProto.DataType.UINT8_VALUE:
        return DataType.U8;
      case TensorProto.DataType.BOOL_VALUE:
        return DataType.BOOL;
      case TensorProto.DataType.BFLOAT16_VALUE:
        return DataType.BF16;
      case TensorProto.DataType.INT16_VALUE:
        return DataType.I16;
      case TensorProto.DataType.UINT16_VALUE:
        return DataType.U16;
      case TensorProto.DataType.UINT32_VALUE:
        return DataType.U32;
      case TensorProto.DataType.UINT64_VALUE:
        return DataType.U64;
      default:
        TensorProto.DataType known = TensorProto.DataType.forNumber(number);
        throw new InvalidModelException(
            where
                + " has element type "
                + (known == null ? "number " + number : known)
                + "; supported are floats of 16 to 64 bits, integers of 8 to 64 bits and bool");
    }
  }

  /**
   * Reads a tensor; sizes are checked before memory is allocated.
   *
   * @throws InvalidModelException if its data do not fit its type and shape
   */
  static Tensor read(TensorProto proto, ImportLimits limits, ExternalData external) {
    String where = "tensor '" + proto.getName() + "'";
    if (proto.hasSegment()) {
      throw new InvalidModelException(where + " is stored in segments; not supported");
    }
    DataType dataType = dataType(proto.getDataType(), where);
    if (proto.getDimsCount() > limits.rank()) {
      throw new InvalidModelException(
          where + " has " + proto.getDimsCount() + " axes; the limit is " + limits.rank());
    }
    long[] extents = proto.getDimsList().stream().mapToLong(Long::longValue).toArray();
    TensorType type;
    try {
      type = checked(new TensorType(dataType, Shape.ofLongs(extents)), limits);
    } catch (InvalidModelException e) {
      throw new InvalidModelException(where + ": " + e.what(), Location.NOWHERE, e);
    }
    if (ExternalData.isUsedBy(proto)) {
      return littleEndian(external.read(proto, type, where));
    }
    if (proto.hasRawData()) {
      return raw(proto, type, where);
    }
    int stored = storedElements(proto, dataType);
    if (stored != type.elements()) {
      throw new InvalidModelException(
          where + " of " + type + " has " + stored + " elements of data, not " + type.elements());
    }
    Tensor tensor = Tensor.zeros(type);
    for (int i = 0; i < stored; i++) {
      switch (dataType) {
        case F32:
          tensor.floats().put(i, proto.getFloatData(i));
          break;
        case F64:
          tensor.doubles().put(i, proto.getDoubleData(i));
          break;
        case I64:
          tensor.longs().put(i, proto.getInt64Data(i));
          break;
        case U64:
          tensor.longs().put(i, proto.getUint64Data(i));
          break;
        case U32:
          tensor.ints().put(i, (int) proto.getUint64Data(i));
          break;
        case F16:
        case BF16:
          tensor.halves().put(i, (short) proto.getInt32Data(i));
          break;
        default:
          tensor.setLong(i, proto.getInt32Data(i));
          break;
      }
    }
    return tensor;
  }

  /**
   * Returns {@code type}.
   *
   * @throws InvalidModelException if it exceeds the limits
   */
  static TensorType checked(TensorType type, ImportLimits limits) {
    if (type.shape().rank() > limits.rank()) {
      throw new InvalidModelException(
          "has " + type.shape().rank() + " axes; the limit is " + limits.rank());
    }
    if (type.sizeBytes() > limits.tensorBytes()) {
      throw new InvalidModelException(
          "the size of " + type + " exceeds the limit of " + limits.tensorBytes() + " bytes");
    }
    return type;
  }

  private static int storedElements(TensorProto proto, DataType dataType) {
    switch (dataType) {
      case F32:
        return proto.getFloatDataCount();
      case F64:
        return proto.getDoubleDataCount();
      case I64:
        return proto.getInt64DataCount();
      case U32:
      case U64:
        return proto.getUint64DataCount();
      default:
        return proto.getInt32DataCount();
    }
  }

  private static Tensor raw(TensorProto proto, TensorType type, String where) {
    if (proto.getRawData().size() != type.sizeBytes()) {
      throw new InvalidModelException(
          where
              + " of "
              + type
              + " has "
              + proto.getRawData().size()
              + " bytes of data, not "
              + type.sizeBytes());
    }
    Tensor tensor = Tensor.zeros(type);
    ByteBuffer memory = tensor.bytes().duplicate();
    proto.getRawData().copyTo(memory);
    return littleEndian(tensor);
  }

  /** {@code tensor}, whose bytes are little-endian, in native order. */
  private static Tensor littleEndian(Tensor tensor) {
    int size = tensor.type().dataType().sizeBytes();
    if (ByteOrder.nativeOrder() == ByteOrder.BIG_ENDIAN && size > 1) {
      swapBytes(tensor.bytes(), size);
    }
    return tensor;
  }

  private static void swapBytes(ByteBuffer memory, int size) {
    for (int start = 0; start < memory.capacity(); start += size) {
      for (int i = 0; i < size / 2; i++) {
        byte low = memory.get(start + i);
        memory.put(start + i, memory.get(start + size - 1 - i));
        memory.put(start + size - 1 - i, low);
      }
    }
  }
}
