package dev.nimble.onnx;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.AttributeProto.AttributeType;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import com.google.protobuf.ByteString;
import dev.nimble.error.InvalidModelException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The attributes of one node. Remembers which were read: an attribute that nobody asks for would
 * silently change the meaning, so it is an error.
 */
final class Attributes {
  private final Map<String, AttributeProto> byName = new HashMap<>();
  private final Set<String> read = new HashSet<>();

  Attributes(NodeProto node) {
    for (AttributeProto attribute : node.getAttributeList()) {
      if (byName.put(attribute.getName(), attribute) != null) {
        throw new InvalidModelException("attribute '" + attribute.getName() + "' occurs twice");
      }
    }
  }

  private @Nullable AttributeProto find(String name, AttributeType type) {
    read.add(name);
    AttributeProto attribute = byName.get(name);
    if (attribute != null && attribute.getType() != type) {
      throw new InvalidModelException(
          "attribute '" + name + "' must be " + type + ", not " + attribute.getType());
    }
    return attribute;
  }

  boolean has(String name) {
    return byName.containsKey(name);
  }

  long integer(String name, long otherwise) {
    AttributeProto attribute = find(name, AttributeType.INT);
    return attribute == null ? otherwise : attribute.getI();
  }

  /** An integer that fits an {@code int}. */
  int small(String name, int otherwise) {
    long value = integer(name, otherwise);
    if (value != (int) value) {
      throw new InvalidModelException("attribute '" + name + "' is out of range: " + value);
    }
    return (int) value;
  }

  boolean flag(String name, boolean otherwise) {
    return integer(name, otherwise ? 1 : 0) != 0;
  }

  float real(String name, float otherwise) {
    AttributeProto attribute = find(name, AttributeType.FLOAT);
    return attribute == null ? otherwise : attribute.getF();
  }

  String text(String name, String otherwise) {
    AttributeProto attribute = find(name, AttributeType.STRING);
    return attribute == null ? otherwise : attribute.getS().toStringUtf8();
  }

  /** A list of texts; empty if it is not given. */
  List<String> texts(String name) {
    AttributeProto attribute = find(name, AttributeType.STRINGS);
    return attribute == null
        ? List.of()
        : attribute.getStringsList().stream().map(ByteString::toStringUtf8).toList();
  }

  /** A body, which must be given. */
  GraphProto graph(String name) {
    AttributeProto attribute = find(name, AttributeType.GRAPH);
    if (attribute == null) {
      throw new InvalidModelException(name + " must be given");
    }
    return attribute.getG();
  }

  long @Nullable [] integers(String name) {
    AttributeProto attribute = find(name, AttributeType.INTS);
    return attribute == null
        ? null
        : attribute.getIntsList().stream().mapToLong(Long::longValue).toArray();
  }

  float @Nullable [] reals(String name) {
    AttributeProto attribute = find(name, AttributeType.FLOATS);
    if (attribute == null) {
      return null;
    }
    float[] values = new float[attribute.getFloatsCount()];
    for (int i = 0; i < values.length; i++) {
      values[i] = attribute.getFloats(i);
    }
    return values;
  }

  @Nullable TensorProto tensor(String name) {
    AttributeProto attribute = find(name, AttributeType.TENSOR);
    return attribute == null ? null : attribute.getT();
  }

  /** Fails if the attribute is there with another value than the only one that is supported. */
  void only(String name, long supported) {
    long value = integer(name, supported);
    if (value != supported) {
      throw new InvalidModelException(
          "attribute '" + name + "' = " + value + " is not supported, only " + supported);
    }
  }

  /** Says that an attribute does not matter here. */
  void ignore(String name) {
    read.add(name);
  }

  void checkAllRead() {
    for (String name : byName.keySet()) {
      if (!read.contains(name)) {
        throw new InvalidModelException("attribute '" + name + "' is not supported");
      }
    }
  }
}
