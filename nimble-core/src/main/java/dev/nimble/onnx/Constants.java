package dev.nimble.onnx;

import static dev.nimble.onnx.NodeImport.required;

import ai.onnx.proto.OnnxMl.TensorProto;
import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.Expand;
import dev.nimble.op.ShapeOf;
import java.util.Arrays;
import java.util.List;

/** Operators whose result is known when the graph is built, and Shape. */
final class Constants {
  private Constants() {}

  static List<Value> constant(NodeImport n) {
    n.operands(0, 0);
    TensorProto tensor = n.attributes().tensor("value");
    if (tensor != null) {
      return n.emitConstant(n.read(tensor));
    }
    if (n.attributes().has("value_float")) {
      return n.emitConstant(Tensor.of(Shape.scalar(), n.attributes().real("value_float", 0)));
    }
    if (n.attributes().has("value_int")) {
      return n.emitConstant(Tensor.ofLongs(Shape.scalar(), n.attributes().integer("value_int", 0)));
    }
    float[] reals = n.attributes().reals("value_floats");
    if (reals != null) {
      return n.emitConstant(Tensor.of(Shape.of(reals.length), reals));
    }
    long[] integers = n.attributes().integers("value_ints");
    if (integers != null) {
      return n.emitConstant(Tensor.ofLongs(Shape.of(integers.length), integers));
    }
    throw new InvalidModelException("has no value that is a tensor of numbers");
  }

  static List<Value> constantOfShape(NodeImport n) {
    n.operands(1, 1);
    Shape shape = Shape.ofLongs(required(n.knownIntegers(0, "the shape"), "the shape"));
    TensorProto proto = n.attributes().tensor("value");
    Tensor fill = proto == null ? Tensor.of(Shape.of(1), 0f) : n.read(proto);
    if (fill.type().elements() != 1) {
      throw new InvalidModelException("value must have one element, not be " + fill.type());
    }
    Tensor result = n.allocate(new TensorType(fill.type().dataType(), shape));
    new Expand(shape).bind(List.of(fill.reshaped(Shape.scalar())), List.of(result)).run();
    return n.emitConstant(result);
  }

  static List<Value> range(NodeImport n) {
    n.operands(3, 3);
    Tensor start = n.known(0, "start");
    Tensor limit = n.known(1, "limit");
    Tensor delta = n.known(2, "delta");
    if (start == null
        || limit == null
        || delta == null
        || start.type().elements() != 1
        || limit.type().elements() != 1
        || delta.type().elements() != 1) {
      throw new InvalidModelException("start, limit and delta must be scalars");
    }
    if (limit.type().dataType() != start.type().dataType()
        || delta.type().dataType() != start.type().dataType()) {
      throw new InvalidModelException("start, limit and delta differ in element type");
    }
    boolean floating = start.type().dataType().isFloating();
    double count = Math.ceil((limit.getDouble(0) - start.getDouble(0)) / delta.getDouble(0));
    if (!(count <= Integer.MAX_VALUE)) {
      throw new InvalidModelException("has " + count + " elements");
    }
    int elements = (int) Math.max(0, count);
    Tensor result = n.allocate(new TensorType(start.type().dataType(), Shape.of(elements)));
    for (int i = 0; i < elements; i++) {
      if (floating) {
        result.setDouble(i, start.getDouble(0) + i * delta.getDouble(0));
      } else {
        result.setLong(i, start.getLong(0) + i * delta.getLong(0));
      }
    }
    return n.emitConstant(result);
  }

  static List<Value> shape(NodeImport n) {
    Shape shape = n.operands(1, 1).get(0).type().shape();
    int rank = shape.rank();
    int start = clamp(n.attributes().integer("start", 0), rank);
    int end = clamp(n.attributes().integer("end", rank), rank);
    if (start == 0 && end == rank) {
      return n.emit(new ShapeOf(), n.operand(0));
    }
    long[] extents = new long[Math.max(0, end - start)];
    Arrays.setAll(extents, i -> shape.extent(start + i));
    return n.emitConstant(Tensor.ofLongs(Shape.of(extents.length), extents));
  }

  private static int clamp(long position, int rank) {
    return (int) Math.max(0, Math.min(rank, position < 0 ? position + rank : position));
  }
}
