package dev.nimble.onnx;

import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import com.google.common.collect.ImmutableList;
import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.error.InvalidModelException;
import dev.nimble.error.Location;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * One ONNX node while it is imported: its operands and attributes, and ways to add what it becomes.
 */
final class NodeImport {
  private final GraphImporter importer;
  private final Scope scope;
  private final NodeProto node;
  private final String name;
  private final int opset;
  private final List<@Nullable Value> operands;
  private final ImportLimits limits;
  private final Attributes attributes;
  private @Nullable ImmutableList<Value> sequenceResult;

  NodeImport(
      GraphImporter importer,
      Scope scope,
      NodeProto node,
      int index,
      int opset,
      List<@Nullable Value> operands,
      ImportLimits limits) {
    this.importer = importer;
    this.scope = scope;
    this.node = node;
    this.name = ModelChecks.nameOf(node, index);
    this.opset = opset;
    this.operands = operands;
    this.limits = limits;
    this.attributes = new Attributes(node);
  }

  Attributes attributes() {
    return attributes;
  }

  int opset() {
    return opset;
  }

  ImportLimits limits() {
    return limits;
  }

  /** The node with the types of its operands, {@code -} for one that is left out. */
  static Location location(NodeProto node, int index, List<@Nullable Value> operands) {
    String types =
        operands.stream()
            .map(o -> o == null ? "-" : o.type().toString())
            .collect(Collectors.joining(", "));
    return Location.ofNode(ModelChecks.nameOf(node, index), node.getOpType(), types);
  }

  /** Whether something may read output {@code index}. */
  boolean wants(int index) {
    return index < node.getOutputCount() && !node.getOutput(index).isEmpty();
  }

  int outputCount() {
    return node.getOutputCount();
  }

  boolean has(int index) {
    return index < operands.size() && operands.get(index) != null;
  }

  /** Operand {@code index}; fails if it is not given. */
  Value operand(int index) {
    Value value = index < operands.size() ? operands.get(index) : null;
    if (value == null) {
      throw new InvalidModelException("operand " + index + " is missing");
    }
    return value;
  }

  /** Fails if there are fewer than {@code least} or more than {@code most} operands. */
  void count(int least, int most) {
    if (operands.size() < least || operands.size() > most) {
      String wanted =
          least == most
              ? Integer.toString(least)
              : most == Integer.MAX_VALUE ? least + " or more" : least + " to " + most;
      throw new InvalidModelException("takes " + wanted + " operands, not " + operands.size());
    }
  }

  /**
   * All operands; fails if there are fewer than {@code least} or more than {@code most}, or a gap.
   */
  List<Value> operands(int least, int most) {
    count(least, most);
    List<Value> all = new ArrayList<>();
    for (int i = 0; i < operands.size(); i++) {
      all.add(operand(i));
    }
    return all;
  }

  Shape shape(int index) {
    return operand(index).type().shape();
  }

  /** {@code axis} counted from the front. */
  static int axis(long axis, int rank) {
    if (axis < -rank || axis >= Math.max(1, rank)) {
      throw new InvalidModelException("axis " + axis + " is outside rank " + rank);
    }
    return (int) (axis < 0 ? axis + rank : axis);
  }

  /** Whether the contents of operand {@code index}, which is given, are known now. */
  boolean isKnown(int index) {
    return importer.known().contents(operand(index)) != null;
  }

  /**
   * The contents of an operand that must be known when the graph is built, or null if not given.
   */
  @Nullable Tensor known(int index, String what) {
    if (!has(index)) {
      return null;
    }
    return known(operand(index), what);
  }

  /** The contents of {@code value}, which must be known when the graph is built. */
  Tensor known(Value value, String what) {
    Tensor contents = importer.known().contents(value);
    if (contents == null) {
      throw importer.known().unknown(value, what);
    }
    return contents;
  }

  /** Imports the body of a control-flow operator in place of the node; returns its outputs. */
  List<Value> inline(GraphProto body, List<Value> inputs) {
    return importer.inline(body, scope, inputs);
  }

  /** Reads a tensor that the node holds. */
  Tensor read(TensorProto tensor) {
    return importer.read(tensor, scope);
  }

  long @Nullable [] knownIntegers(int index, String what) {
    Tensor contents = known(index, what);
    if (contents == null) {
      return null;
    }
    if (!contents.type().dataType().isInteger()) {
      throw new InvalidModelException(what + " must be integers, not " + contents.type());
    }
    checkLength(what, contents.type().elements());
    return contents.toLongArray();
  }

  /** Lists have at most two entries an axis: more would only make errors long. */
  private void checkLength(String what, int length) {
    if (length > 2 * limits.rank()) {
      throw new InvalidModelException(what + " has " + length + " entries, too many for any axes");
    }
  }

  /** An attribute in older opsets, an operand in newer ones. */
  long @Nullable [] integers(String attribute, int index) {
    long[] given = attributes.integers(attribute);
    if (given != null && has(index)) {
      throw new InvalidModelException(attribute + " is given as an attribute and as an operand");
    }
    if (given == null) {
      return knownIntegers(index, attribute);
    }
    checkLength(attribute, given.length);
    return given;
  }

  /** {@code values}; fails if they are null. */
  static long[] required(long @Nullable [] values, String what) {
    if (values == null) {
      throw new InvalidModelException(what + " must be given");
    }
    return values;
  }

  /** Adds the node that this one becomes. */
  List<Value> emit(Operator operator, List<Value> inputs) {
    return importer.add(name, operator, inputs, node.getOutputList());
  }

  /** As {@link #emit(Operator, List)}. */
  List<Value> emit(Operator operator, Value... inputs) {
    return emit(operator, List.of(inputs));
  }

  /** Operand {@code index}, which must be a sequence. */
  ImmutableList<Value> sequence(int index) {
    String operand = index < node.getInputCount() ? node.getInput(index) : "";
    ImmutableList<Value> sequence = scope.sequence(operand);
    if (sequence == null) {
      throw new InvalidModelException("operand " + index + " must be a sequence");
    }
    return sequence;
  }

  /** The node becomes a sequence: no nodes, only a list of values. */
  List<Value> emitSequence(List<Value> values) {
    if (node.getOutputCount() != 1) {
      throw new InvalidModelException("has one output, not " + node.getOutputCount());
    }
    importer.known().charge(TensorType.of(DataType.I64, values.size()));
    sequenceResult = ImmutableList.copyOf(values);
    return List.of();
  }

  /** What {@link #emitSequence} made; null if the node's results are tensors. */
  @Nullable ImmutableList<Value> sequenceResult() {
    return sequenceResult;
  }

  int operandCount() {
    return operands.size();
  }

  /** Charges a turn of a loop that is unrolled to the limit on nodes. */
  void chargeTurn() {
    importer.charge();
  }

  /** As {@link #extra}, for an operator of several outputs. */
  List<Value> extras(String suffix, Operator operator, Value... inputs) {
    return importer.add(name + "/" + suffix, operator, List.of(inputs), List.of());
  }

  /** Adds a further node, before or after the main one. */
  Value extra(String suffix, Operator operator, Value... inputs) {
    return importer.add(name + "/" + suffix, operator, List.of(inputs), List.of()).get(0);
  }

  /** A constant in place of the node. */
  List<Value> emitConstant(Tensor contents) {
    String output = node.getOutputCount() > 0 ? node.getOutput(0) : "";
    return List.of(importer.constant(output.isEmpty() ? name : output, contents));
  }

  /** A constant beside the node. */
  Value constant(String suffix, Tensor contents) {
    return importer.constant(name + "/" + suffix, contents);
  }

  /** A tensor of zeros that the importer fills; fails if it would exceed the limits. */
  Tensor allocate(TensorType type) {
    return importer.known().allocate(TensorReader.checked(type, limits));
  }

  static ImmutableIntArray ints(long... values) {
    return ImmutableIntArray.copyOf(Arrays.stream(values).mapToInt(NodeImport::narrow).toArray());
  }

  static int narrow(long value) {
    if (value != (int) value) {
      throw new InvalidModelException("a number is out of range: " + value);
    }
    return (int) value;
  }
}
