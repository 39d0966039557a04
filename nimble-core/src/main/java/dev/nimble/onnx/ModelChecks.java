package dev.nimble.onnx;

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

/** What is checked of a model before any of it is used. */
final class ModelChecks {
  private ModelChecks() {}

  static void check(GraphProto graph, ImportLimits limits) {
    if (graph.getNodeCount() > limits.nodes()) {
      throw new InvalidModelException(
          "has " + graph.getNodeCount() + " nodes; the limit is " + limits.nodes());
    }
    if (graph.getSparseInitializerCount() > 0) {
      throw new InvalidModelException("sparse initializers are not supported");
    }
    for (TensorProto tensor : graph.getInitializerList()) {
      checkName(tensor.getName(), limits);
    }
    for (ValueInfoProto input : graph.getInputList()) {
      checkName(input.getName(), limits);
    }
    for (NodeProto node : graph.getNodeList()) {
      checkName(node.getName(), limits);
      node.getInputList().forEach(name -> checkName(name, limits));
      node.getOutputList().forEach(name -> checkName(name, limits));
    }
    checkOperators(graph);
  }

  private static void checkName(String name, ImportLimits limits) {
    if (name.length() > limits.nameLength()) {
      throw new InvalidModelException(
          "the name '" + name.substring(0, 40) + "...' has " + name.length()
              + " characters; the limit is " + limits.nameLength());
    }
  }

  /** Names every operator that is missing at once, so that a user need not find them one by one. */
  private static void checkOperators(GraphProto graph) {
    Map<String, Integer> missing = new TreeMap<>();
    Location first = Location.NOWHERE;
    for (int i = 0; i < graph.getNodeCount(); i++) {
      NodeProto node = graph.getNode(i);
      boolean standard = node.getDomain().isEmpty() || node.getDomain().equals("ai.onnx");
      if (!standard || !OperatorTable.supports(node.getOpType())) {
        String type = standard ? node.getOpType() : node.getDomain() + "." + node.getOpType();
        first = missing.isEmpty() ? Location.ofNode(nameOf(node, i), type) : first;
        missing.merge(type, 1, Integer::sum);
      }
    }
    if (!missing.isEmpty()) {
      throw new InvalidModelException("unsupported operators (with their number): " + missing, first);
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

  static ImmutableList<ModelInput> inputs(GraphProto graph) {
    Set<String> initialised = new HashSet<>();
    graph.getInitializerList().forEach(tensor -> initialised.add(tensor.getName()));
    ImmutableList.Builder<ModelInput> inputs = ImmutableList.builder();
    for (ValueInfoProto info : graph.getInputList()) {
      if (initialised.contains(info.getName())) {
        continue; // a default value; before IR version 4 every initializer is listed so
      }
      if (info.getType().getValueCase() != TypeProto.ValueCase.TENSOR_TYPE) {
        throw new InvalidModelException(
            "input '" + info.getName() + "' is a " + info.getType().getValueCase()
                + "; only tensors are supported");
      }
      TypeProto.Tensor type = info.getType().getTensorType();
      if (!type.hasShape()) {
        throw new InvalidModelException("input '" + info.getName() + "' has no shape");
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

  private static ModelInput.Dimension dimension(String input, TensorShapeProto.Dimension dimension) {
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
