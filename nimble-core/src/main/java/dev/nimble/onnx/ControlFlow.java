package dev.nimble.onnx;

import static dev.nimble.onnx.NodeImport.axis;

import ai.onnx.proto.OnnxMl.GraphProto;
import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * If, Loop and Scan, where what is run is known when the graph is built: the branch that is taken
 * takes the node's place, a loop's body that of each turn. Every turn is charged to the limit on
 * nodes.
 */
final class ControlFlow {
  private ControlFlow() {}

  static List<Value> branch(NodeImport n) {
    n.count(1, 1);
    Tensor condition = n.known(n.operand(0), "the condition");
    if (condition.type().elements() != 1) {
      throw new InvalidModelException("the condition must be one element");
    }
    GraphProto then = n.attributes().graph("then_branch");
    GraphProto otherwise = n.attributes().graph("else_branch");
    return n.inline(condition.getLong(0) != 0 ? then : otherwise, List.of());
  }

  static List<Value> loop(NodeImport n) {
    GraphProto body = n.attributes().graph("body");
    Tensor trips = n.known(0, "the trip count");
    Tensor condition = n.known(1, "the condition");
    long most = trips == null ? Long.MAX_VALUE : trips.getLong(0);
    boolean goes = condition == null || condition.getLong(0) != 0;
    List<Value> states = new ArrayList<>();
    for (int i = 2; i < n.operandCount(); i++) {
      states.add(n.operand(i));
    }
    int carried = states.size();
    int scanned = body.getOutputCount() - 1 - carried;
    if (scanned < 0) {
      throw new InvalidModelException("the body has too few outputs");
    }
    List<List<Value>> rows = new ArrayList<>();
    for (int i = 0; i < scanned; i++) {
      rows.add(new ArrayList<>());
    }
    Composition c = new Composition(n);
    Value yes = c.scalar(DataType.BOOL, 1);
    for (long turn = 0; turn < most && goes; turn++) {
      n.chargeTurn();
      List<Value> inputs = new ArrayList<>();
      inputs.add(c.constant(Tensor.ofLongs(Shape.scalar(), turn)));
      inputs.add(yes);
      inputs.addAll(states);
      List<Value> outputs = n.inline(body, inputs);
      goes = n.known(outputs.get(0), "whether the loop goes on").getLong(0) != 0;
      states = new ArrayList<>(outputs.subList(1, 1 + carried));
      for (int i = 0; i < scanned; i++) {
        rows.get(i).add(outputs.get(1 + carried + i));
      }
    }
    List<Value> results = new ArrayList<>(states);
    for (int i = 0; i < scanned; i++) {
      TensorType declared = declared(body, 1 + carried + i);
      results.add(stacked(c, rows.get(i), 0, declared));
    }
    return results;
  }

  /** The type that the body declares for an output, where it is fixed; else null. */
  private static @Nullable TensorType declared(GraphProto body, int output) {
    var type = body.getOutput(output).getType().getTensorType();
    if (!type.hasShape()) {
      return null;
    }
    long[] extents = new long[type.getShape().getDimCount()];
    for (int i = 0; i < extents.length; i++) {
      if (!type.getShape().getDim(i).hasDimValue()) {
        return null;
      }
      extents[i] = type.getShape().getDim(i).getDimValue();
    }
    return new TensorType(
        TensorReader.dataType(type.getElemType(), "the output"), Shape.ofLongs(extents));
  }

  /** Rows along a new axis; none take the type that is declared for a row. */
  private static Value stacked(
      Composition c, List<Value> rows, int along, @Nullable TensorType declared) {
    if (rows.isEmpty()) {
      if (declared == null) {
        throw new InvalidModelException("the loop makes no turn, and its output has no known type");
      }
      int[] extents = inserted(declared.shape(), along, 0);
      return c.full(declared.dataType(), Shape.of(extents), 0);
    }
    List<Value> parts = new ArrayList<>();
    for (Value row : rows) {
      parts.add(c.reshape(row, inserted(row.type().shape(), along, 1)));
    }
    return c.concat(along, parts);
  }

  private static int[] inserted(Shape shape, int along, int extent) {
    int[] extents = new int[shape.rank() + 1];
    for (int i = 0; i < extents.length; i++) {
      extents[i] = i == along ? extent : shape.extent(i < along ? i : i - 1);
    }
    return extents;
  }

  static List<Value> scan(NodeImport n) {
    GraphProto body = n.attributes().graph("body");
    int scannedInputs = n.attributes().small("num_scan_inputs", 0);
    if (n.opset() < 9) {
      return batchedScan(n, body, scannedInputs);
    }
    List<Value> operands = n.operands(1, Integer.MAX_VALUE);
    return scan(n, body, operands, scannedInputs);
  }

  private static List<Value> scan(
      NodeImport n, GraphProto body, List<Value> operands, int scannedInputs) {
    int carried = operands.size() - scannedInputs;
    int scannedOutputs = body.getOutputCount() - carried;
    if (scannedInputs < 1 || carried < 0 || scannedOutputs < 0) {
      throw new InvalidModelException("num_scan_inputs = " + scannedInputs + " does not fit");
    }
    int[] inputAxes = list(n, "scan_input_axes", scannedInputs);
    int[] outputAxes = list(n, "scan_output_axes", scannedOutputs);
    int[] inputBackward =
        list(n, n.opset() < 9 ? "directions" : "scan_input_directions", scannedInputs);
    int[] outputBackward = list(n, "scan_output_directions", scannedOutputs);
    Composition c = new Composition(n);
    int turns = -1;
    for (int i = 0; i < scannedInputs; i++) {
      Shape shape = operands.get(carried + i).type().shape();
      inputAxes[i] = axis(inputAxes[i], shape.rank());
      if (shape.rank() == 0 || (turns >= 0 && shape.extent(inputAxes[i]) != turns)) {
        throw new InvalidModelException("scan inputs differ in length");
      }
      turns = shape.extent(inputAxes[i]);
    }
    List<Value> states = new ArrayList<>(operands.subList(0, carried));
    List<List<Value>> rows = new ArrayList<>();
    for (int i = 0; i < scannedOutputs; i++) {
      rows.add(new ArrayList<>());
    }
    for (int turn = 0; turn < turns; turn++) {
      n.chargeTurn();
      List<Value> inputs = new ArrayList<>(states);
      for (int i = 0; i < scannedInputs; i++) {
        int at = inputBackward[i] == 0 ? turn : turns - 1 - turn;
        inputs.add(c.pick(operands.get(carried + i), inputAxes[i], at));
      }
      List<Value> outputs = n.inline(body, inputs);
      states = new ArrayList<>(outputs.subList(0, carried));
      for (int i = 0; i < scannedOutputs; i++) {
        int at = outputBackward[i] == 0 ? turn : 0;
        rows.get(i).add(at, outputs.get(carried + i));
      }
    }
    List<Value> results = new ArrayList<>(states);
    for (int i = 0; i < scannedOutputs; i++) {
      TensorType declared = declared(body, carried + i);
      int rank = rows.get(i).isEmpty() ? 0 : rows.get(i).get(0).type().shape().rank();
      results.add(stacked(c, rows.get(i), axis(outputAxes[i], rank + 1), declared));
    }
    return results;
  }

  private static int[] list(NodeImport n, String name, int length) {
    long[] given = n.attributes().integers(name);
    if (given == null) {
      return new int[length];
    }
    if (given.length != length) {
      throw new InvalidModelException(name + " needs " + length + " entries, not " + given.length);
    }
    return NodeImport.ints(given).toArray();
  }

  /** Opset 8: the first axis of every operand is a batch, each entry of which is scanned alone. */
  private static List<Value> batchedScan(NodeImport n, GraphProto body, int scannedInputs) {
    n.count(2, Integer.MAX_VALUE);
    if (n.has(0)) {
      throw new InvalidModelException("sequence_lens is not supported");
    }
    Composition c = new Composition(n);
    int batch = n.shape(1).rank() == 0 ? 0 : n.shape(1).extent(0);
    List<List<Value>> results = new ArrayList<>();
    for (int entry = 0; entry < batch; entry++) {
      List<Value> operands = new ArrayList<>();
      for (int i = 1; i < n.operandCount(); i++) {
        if (n.shape(i).rank() == 0 || n.shape(i).extent(0) != batch) {
          throw new InvalidModelException("operands differ in their batch");
        }
        operands.add(c.pick(n.operand(i), 0, entry));
      }
      results.add(scan(n, body, operands, scannedInputs));
    }
    if (batch == 0) {
      throw new InvalidModelException("the batch is empty");
    }
    List<Value> outputs = new ArrayList<>();
    for (int i = 0; i < results.get(0).size(); i++) {
      int output = i;
      outputs.add(stacked(c, results.stream().map(r -> r.get(output)).toList(), 0, null));
    }
    return outputs;
  }
}
