package dev.nimble.onnx;

import ai.onnx.proto.OnnxMl.AttributeProto;
import ai.onnx.proto.OnnxMl.GraphProto;
import ai.onnx.proto.OnnxMl.NodeProto;
import ai.onnx.proto.OnnxMl.TensorProto;
import ai.onnx.proto.OnnxMl.TensorShapeProto;
import ai.onnx.proto.OnnxMl.TypeProto;
import ai.onnx.proto.OnnxMl.ValueInfoProto;
import com.google.common.collect.ImmutableList;
import dev.nimble.error.InvalidModelException;
import dev.nimble.error.Location;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** What is checked of a model before any of it is used. */
final class ModelChecks {
  private ModelChecks() {}

  static void check(GraphProto graph, ImportLimits limits) {
    checkParts(graph, limits, new int[1]);
    checkOperators(graph);
  }

  /** Checks counts and names, of bodies too; {@code nodes} counts the nodes of all. */
  private static void checkParts(GraphProto graph, ImportLimits limits, int[] nodes) {
    nodes[0] += graph.getNodeCount();
    if (nodes[0] > limits.nodes()) {
      throw new InvalidModelException("has " + nodes[0] + " nodes; the limit is " + limits.nodes());
    }
    if (graph.getSparseInitializerCount() > 0) {
      throw new InvalidModelException("sparse initializers are not supported");
    }
    for (TensorProto tensor : graph.getInitializerList()) {
      if (tensor.getName().isEmpty()) {
        throw new InvalidModelException("an initializer has no name");
      }
      checkName(tensor.getName(), limits);
    }
    for (ValueInfoProto input : graph.getInputList()) {
      checkName(input.getName(), limits);
      for (TensorShapeProto.Dimension dimension :
          input.getType().getTensorType().getShape().getDimList()) {
        checkName(dimension.getDimParam(), limits);
      }
    }
    for (ValueInfoProto output : graph.getOutputList()) {
      checkName(output.getName(), limits);
    }
    for (NodeProto node : graph.getNodeList()) {
      checkName(node.getName(), limits);
      checkName(node.getOpType(), limits);
      node.getInputList().forEach(name -> checkName(name, limits));
      node.getOutputList().forEach(name -> checkName(name, limits));
      for (AttributeProto attribute : node.getAttributeList()) {
        if (attribute.hasG()) { // as deep as protobuf's messages may be nested
          checkParts(attribute.getG(), limits, nodes);
        }
      }
    }
  }

  private static void checkName(String name, ImportLimits limits) {
    if (name.length() > limits.nameLength()) {
      throw new InvalidModelException(
          "the name '"
              + name.substring(0, 40)
              + "...' has "
              + name.length()
              + " characters; the limit is "
              + limits.nameLength());
    }
  }

  /** Names every operator that is missing at once, so that a user need not find them one by one. */
  private static void checkOperators(GraphProto graph) {
    Map<String, Integer> missing = new TreeMap<>();
    Location first = Location.NOWHERE;
    for (int i = 0; i < graph.getNodeCount(); i++) {
      NodeProto node = graph.getNode(i);
      if (!OperatorTable.supports(node)) {
        String type = OperatorTable.nameOf(node);
        first = missing.isEmpty() ? Location.ofNode(nameOf(node, i), type) : first;
        missing.merge(type, 1, Integer::sum);
      }
    }
    if (!missing.isEmpty()) {
      String list =
          missing.entrySet().stream()
              .limit(20)
              .map(
                  m ->
                      m.getKey() + " (" + m.getValue() + (m.getValue() == 1 ? " node)" : " nodes)"))
              .collect(Collectors.joining(", "));
      throw new InvalidModelException(
          "not supported: "
              + list
              + (missing.size() > 20 ? " and " + (missing.size() - 20) + " more operators" : ""),
          first);
    }
  }

  /** The node's name, or one made of its operator and place. */
  static String nameOf(NodeProto node, int index) {
    return node.getName().isEmpty() ? node.getOpType() + "#" + index : node.getName();
  }

  /** The node's place, before its operands are known. */
  static Location placeOf(NodeProto node, int index) {
    return Location.ofNode(nameOf(node, index), node.getOpType());
  }

  static ImmutableList<ModelInput> inputs(GraphProto graph, ImportLimits limits) {
    Set<String> initialised = new HashSet<>();
    graph.getInitializerList().forEach(tensor -> initialised.add(tensor.getName()));
    Set<String> names = new HashSet<>();
    ImmutableList.Builder<ModelInput> inputs = ImmutableList.builder();
    for (ValueInfoProto info : graph.getInputList()) {
      if (initialised.contains(info.getName())) {
        continue; // a default value; before IR version 4 every initializer is listed so
      }
      if (info.getName().isEmpty() || !names.add(info.getName())) {
        throw new InvalidModelException(
            info.getName().isEmpty()
                ? "an input has no name"
                : "two values are named '" + info.getName() + "'");
      }
      if (info.getType().getValueCase() != TypeProto.ValueCase.TENSOR_TYPE) {
        throw new InvalidModelException(
            "input '"
                + info.getName()
                + "' is a "
                + info.getType().getValueCase()
                + "; only tensors are supported");
      }
      TypeProto.Tensor type = info.getType().getTensorType();
      if (!type.hasShape()) {
        throw new InvalidModelException("input '" + info.getName() + "' has no shape");
      }
      if (type.getShape().getDimCount() > limits.rank()) {
        throw new InvalidModelException(
            "input '"
                + info.getName()
                + "' has "
                + type.getShape().getDimCount()
                + " axes; the limit is "
                + limits.rank());
      }
      ImmutableList.Builder<ModelInput.Dimension> dimensions = ImmutableList.builder();
      for (TensorShapeProto.Dimension dimension : type.getShape().getDimList()) {
        dimensions.add(dimension(info.getName(), dimension));
      }
      inputs.add(
          new ModelInput(
              info.getName(),
              TensorReader.dataType(type.getElemType(), "input '" + info.getName() + "'"),
              dimensions.build()));
    }
    return inputs.build();
  }

  private static ModelInput.Dimension dimension(
      String input, TensorShapeProto.Dimension dimension) {
    if (dimension.hasDimValue() && dimension.getDimValue() >= 0) {
      if (dimension.getDimValue() > Integer.MAX_VALUE) {
        throw new InvalidModelException(
            "input '" + input + "' has an extent of " + dimension.getDimValue());
      }
      return new ModelInput.Dimension((int) dimension.getDimValue(), "");
    }
    String symbol = dimension.getDimParam();
    return new ModelInput.Dimension(-1, symbol.equals("?") ? "" : symbol);
  }
}
