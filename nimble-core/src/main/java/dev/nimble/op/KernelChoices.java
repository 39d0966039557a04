package dev.nimble.op;

import com.google.common.collect.ImmutableList;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import java.util.List;
import java.util.function.Function;

/**
 * The kernel chosen for each node of a graph on one device: the result of selection, plain data.
 */
public final class KernelChoices {
  private final String device;
  private final ImmutableList<KernelChoice> choices;

  private KernelChoices(String device, List<KernelChoice> choices) {
    this.device = device;
    this.choices = ImmutableList.copyOf(choices);
  }

  /** Chooses node by node; {@code device} is the device's name, for reports. */
  public static KernelChoices of(String device, Graph graph, Function<Node, KernelChoice> choose) {
    return new KernelChoices(device, graph.nodes().stream().map(choose).toList());
  }

  /** The name of the device that chose. */
  public String device() {
    return device;
  }

  /** The choice for {@code node}. */
  public KernelChoice of(Node node) {
    return choices.get(node.id());
  }

  /** The choices by node id. */
  public ImmutableList<KernelChoice> all() {
    return choices;
  }
}
