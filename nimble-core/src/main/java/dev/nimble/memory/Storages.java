package dev.nimble.memory;

import com.google.common.collect.ImmutableSet;
import dev.nimble.buffer.Slice.Region;
import dev.nimble.error.InvalidPlanException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Value;
import dev.nimble.op.KernelChoice;
import dev.nimble.op.KernelChoices;
import dev.nimble.schedule.Schedule;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Decides which values share bytes because one shows or overwrites the other: views and in-place
 * kernels. What merely follows another in the same bytes is the packer's business.
 *
 * <p>Nodes are visited in launch order, so at node n a storage knows all its uses launched before
 * n, and by {@link Storage#lastReader} whether any comes after.
 */
final class Storages {
  private final KernelChoices kernels;
  private final HappensBefore order;
  private final @Nullable Storage[] ofValue;
  private final int[][] readers;
  private final boolean[] isOutput;
  private final Map<Value, List<Node>> updates = new LinkedHashMap<>();
  private final Map<Node, Storage> workspaces = new LinkedHashMap<>();
  private final ImmutableSet.Builder<Node> views = ImmutableSet.builder();
  private final List<Storage> made = new ArrayList<>();

  Storages(Graph graph, KernelChoices kernels, Schedule schedule, HappensBefore order) {
    this.kernels = kernels;
    this.order = order;
    this.ofValue = new Storage[graph.values().size()];
    this.readers = readers(graph);
    this.isOutput = outputs(graph);
    for (Value value : graph.values()) {
      if (value.kind() != Value.Kind.RESULT) {
        ofValue[value.id()] = new Storage(regionOf(value), value.type().sizeBytes(), -1);
      }
    }
    for (Node node : graph.nodes()) {
      for (Value variable : node.mutatedVariables()) {
        updates.computeIfAbsent(variable, v -> new ArrayList<>()).add(node);
      }
    }
    for (Node node : schedule.launchOrder()) {
      visit(node);
    }
  }

  private static Region regionOf(Value value) {
    switch (value.kind()) {
      case INPUT:
        return Region.INPUT;
      case CONSTANT:
        return Region.CONSTANT;
      case VARIABLE:
        return Region.VARIABLE;
      default:
        return Region.ARENA;
    }
  }

  private static int[][] readers(Graph graph) {
    int[] counts = new int[graph.values().size()];
    for (Node node : graph.nodes()) {
      for (Value input : node.inputs()) {
        counts[input.id()]++;
      }
    }
    int[][] readers = new int[counts.length][];
    Arrays.setAll(readers, v -> new int[counts[v]]);
    for (Node node : graph.nodes()) {
      for (Value input : node.inputs()) {
        readers[input.id()][--counts[input.id()]] = node.id();
      }
    }
    return readers;
  }

  private static boolean[] outputs(Graph graph) {
    boolean[] isOutput = new boolean[graph.values().size()];
    for (int i = 0; i < graph.outputs().size(); i++) {
      Value output = graph.outputs().get(i);
      if (output.kind() != Value.Kind.RESULT || isOutput[output.id()]) {
        throw new InvalidPlanException(
            "output '"
                + graph.outputNames().get(i)
                + "' is "
                + (output.kind() == Value.Kind.RESULT
                    ? "the same value as an earlier output"
                    : "the "
                        + output.kind().name().toLowerCase(Locale.ROOT)
                        + " '"
                        + output.name()
                        + "'")
                + "; each output needs a result of its own: insert an Identity node before"
                + " planning");
      }
      isOutput[output.id()] = true;
    }
    return isOutput;
  }

  private void visit(Node node) {
    KernelChoice kernel = kernels.of(node);
    check(node, kernel);
    boolean view = showsInput(node, kernel);
    Storage shared = view ? of(node.inputs().get(0)) : overwritten(node, kernel);
    if (view) {
      views.add(node);
    } else if (kernel.workspaceBytes() > 0) {
      workspaces.put(node, make(kernel.workspaceBytes(), node));
    }
    for (Value input : node.inputs()) {
      of(input).use(order.streamOf(node.id()), order.position(node.id()));
    }
    for (Value output : node.outputs()) {
      Storage own =
          shared != null && output.outputIndex() == 0
              ? shared
              : make(output.type().sizeBytes(), node);
      join(output, own, node);
    }
  }

  private static void check(Node node, KernelChoice kernel) {
    if (kernel.workspaceBytes() < 0) {
      throw new InvalidPlanException(
          "kernel '"
              + kernel.kernel()
              + "' asks for a workspace of "
              + kernel.workspaceBytes()
              + " bytes",
          node.location());
    }
    for (int input : kernel.inPlaceInputs()) {
      if (input < 0 || input >= node.inputs().size()) {
        throw new InvalidPlanException(
            "kernel '"
                + kernel.kernel()
                + "' would overwrite input "
                + input
                + " of "
                + node.inputs().size(),
            node.location());
      }
    }
  }

  private Storage make(long bytes, Node definition) {
    Storage storage = new Storage(Region.ARENA, bytes, definition.id());
    storage.use(order.streamOf(definition.id()), order.position(definition.id()));
    made.add(storage);
    return storage;
  }

  private void join(Value value, Storage storage, Node producer) {
    ofValue[value.id()] = storage;
    storage.use(order.streamOf(producer.id()), order.position(producer.id()));
    for (int reader : readers[value.id()]) {
      storage.lastReader = Math.max(storage.lastReader, order.launchIndex(reader));
    }
    if (isOutput[value.id()]) {
      storage.holdsOutput = true;
      storage.region = Region.OUTPUT;
    }
  }

  /** Whether the node's output can be its input's bytes, read under another type. */
  private boolean showsInput(Node node, KernelChoice kernel) {
    if (!kernel.view()
        || node.outputs().size() != 1
        || node.inputs().isEmpty()
        || !node.operator().mutatedInputs().isEmpty()) {
      return false;
    }
    Value output = node.output();
    Storage storage = of(node.inputs().get(0));
    if (output.type().sizeBytes() != storage.bytes) {
      return false;
    }
    boolean intoOutput = isOutput[output.id()];
    switch (storage.region) {
      case ARENA:
        return true;
      case OUTPUT:
        return !intoOutput;
      case VARIABLE:
        return !intoOutput && readsNoUpdate(node, variableOf(node.inputs().get(0)));
      default:
        return !intoOutput;
    }
  }

  /** The variable that {@code value} shows. */
  private static Value variableOf(Value value) {
    Value shown = value;
    for (Node producer = shown.producer(); producer != null; producer = shown.producer()) {
      shown = producer.inputs().get(0);
    }
    return shown;
  }

  /**
   * Whether a view of {@code variable} made by {@code node} keeps its contents for as long as it is
   * read. Dependencies order the view itself against updates, but not those who read the view.
   */
  private boolean readsNoUpdate(Node node, Value variable) {
    for (Node update : updates.getOrDefault(variable, List.of())) {
      if (!order.before(update.id(), node.id())
          && !Arrays.stream(readers[node.output().id()])
              .allMatch(reader -> order.before(reader, update.id()))) {
        return false;
      }
    }
    return true;
  }

  /** The storage of the first input that output 0 may overwrite, or null if there is none. */
  private @Nullable Storage overwritten(Node node, KernelChoice kernel) {
    if (node.outputs().isEmpty()) {
      return null;
    }
    Value output = node.outputs().get(0);
    for (int index : kernel.inPlaceInputs()) {
      Storage storage = of(node.inputs().get(index));
      if (storage.region == Region.ARENA
          && storage.bytes > 0
          && storage.bytes == output.type().sizeBytes()
          && !storage.holdsOutput
          && storage.lastReader == order.launchIndex(node.id())
          && onlyOverwritableOperandsIn(storage, node, kernel)
          && storage.usedBefore(node.id(), order)) {
        return storage;
      }
    }
    return null;
  }

  /**
   * Whether every operand that lies in {@code storage} may be overwritten, not only one of them.
   */
  private boolean onlyOverwritableOperandsIn(Storage storage, Node node, KernelChoice kernel) {
    for (int i = 0; i < node.inputs().size(); i++) {
      if (of(node.inputs().get(i)) == storage && !kernel.inPlaceInputs().contains(i)) {
        return false;
      }
    }
    return true;
  }

  /** The storage of a value whose producer has been visited. */
  Storage of(Value value) {
    Storage storage = ofValue[value.id()];
    if (storage == null) {
      throw new InvalidPlanException(
          "'" + value.name() + "' is used before the launch of the node that computes it");
    }
    return storage;
  }

  /** The storages written within the step, in launch order of their first writers. */
  List<Storage> made() {
    return made;
  }

  /** The workspace of each node that needs one, in launch order. */
  Map<Node, Storage> workspaces() {
    return workspaces;
  }

  /** The nodes that need no kernel, in launch order. */
  ImmutableSet<Node> views() {
    return views.build();
  }
}
