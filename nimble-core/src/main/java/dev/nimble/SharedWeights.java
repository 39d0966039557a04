package dev.nimble;

import dev.nimble.graph.Graph;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Node;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.zip.CRC32C;

/**
 * Constants of several graphs, equal ones kept once, by contents: a transform makes its own for
 * each shape, most of them equal. A device that uses constants where they are has them once, too.
 * What no graph holds any more is forgotten. Thread-safe.
 */
final class SharedWeights {
  /** Contents that are likely equal. */
  private record Key(TensorType type, long checksum) {}

  private final Map<Key, List<WeakReference<Tensor>>> known = new HashMap<>();

  /** The same graph, on constants that earlier graphs have where they have equal ones. */
  Graph share(Graph graph) {
    forget();
    GraphBuilder builder = new GraphBuilder(graph.name());
    Value[] copies = new Value[graph.values().size()];
    for (Value value : graph.values()) { // before the nodes: program order is that of nodes alone
      switch (value.kind()) {
        case INPUT:
          copies[value.id()] = builder.input(value.name(), value.type());
          break;
        case CONSTANT:
          copies[value.id()] = builder.constant(value.name(), shared(value.contents()));
          break;
        case VARIABLE:
          copies[value.id()] = builder.variable(value.name(), value.contents());
          break;
        default:
          break;
      }
    }
    for (Node node : graph.nodes()) {
      List<Value> operands = new ArrayList<>();
      node.inputs().forEach(input -> operands.add(copies[input.id()]));
      List<String> names = new ArrayList<>();
      node.outputs().forEach(output -> names.add(output.name()));
      Node copy = builder.add(node.name(), node.operator(), operands, names);
      for (int i = 0; i < copy.outputs().size(); i++) {
        copies[node.outputs().get(i).id()] = copy.outputs().get(i);
      }
    }
    for (int i = 0; i < graph.outputs().size(); i++) {
      builder.output(graph.outputNames().get(i), copies[graph.outputs().get(i).id()]);
    }
    return builder.build();
  }

  private synchronized void forget() {
    known.values().removeIf(alike -> alike.stream().allMatch(each -> each.get() == null));
  }

  private synchronized Tensor shared(Tensor contents) {
    CRC32C crc = new CRC32C();
    crc.update(contents.bytes().duplicate().clear());
    List<WeakReference<Tensor>> alike =
        known.computeIfAbsent(new Key(contents.type(), crc.getValue()), k -> new ArrayList<>());
    alike.removeIf(reference -> reference.get() == null);
    for (WeakReference<Tensor> reference : alike) {
      Tensor tensor = reference.get();
      if (tensor != null && tensor.bitwiseEquals(contents)) {
        return tensor;
      }
    }
    alike.add(new WeakReference<>(contents));
    return contents;
  }

  /** Bytes of the constants of {@code engines}: each once, and counted for each engine. */
  static long[] bytes(List<Engine> engines) {
    Set<Tensor> distinct = Collections.newSetFromMap(new IdentityHashMap<>());
    long once = 0;
    long all = 0;
    for (Engine engine : engines) {
      for (Value value : engine.plan().graph().values()) {
        if (value.kind() == Value.Kind.CONSTANT) {
          all += value.type().sizeBytes();
          once += distinct.add(value.contents()) ? value.type().sizeBytes() : 0;
        }
      }
    }
    return new long[] {once, all};
  }
}
