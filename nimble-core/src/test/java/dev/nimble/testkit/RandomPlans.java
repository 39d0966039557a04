package dev.nimble.testkit;

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.graph.Graph;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Node;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import dev.nimble.op.KernelChoice;
import dev.nimble.op.KernelChoices;
import dev.nimble.op.ResourceDemand;
import dev.nimble.plan.Command;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.schedule.Schedule;
import dev.nimble.schedule.Sync;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * Random graphs, kernels and schedules for the stages after scheduling: wilder than any policy or
 * device makes them. Equal seeds give equal results.
 */
public final class RandomPlans {
  private static final Integer[] SIZES = {0, 100, 256, 300, 512, 512, 512, 1024, 1024, 4000};

  private RandomPlans() {}

  /** A graph of {@code nodes} opaque nodes with views, updates and several outputs. */
  public static Graph graph(Random random, int nodes) {
    GraphBuilder builder = new GraphBuilder("random");
    List<Value> values = new ArrayList<>();
    List<Value> variables = new ArrayList<>();
    for (int i = 0; i <= random.nextInt(3); i++) {
      values.add(builder.input("in" + i, OpaqueOperator.type(size(random))));
    }
    for (int i = 0; i < random.nextInt(3); i++) {
      values.add(builder.constant("const" + i, zeros(random)));
    }
    for (int i = 0; i < random.nextInt(4); i++) {
      variables.add(builder.variable("var" + i, zeros(random)));
    }
    List<Value> results = new ArrayList<>();
    for (int i = 0; i < nodes; i++) {
      List<Value> operands = new ArrayList<>();
      OpaqueOperator operator;
      int kind = random.nextInt(10);
      if (kind == 0 && !variables.isEmpty()) {
        operands.add(pick(variables, random));
        operands.add(recent(values, random));
        operator = OpaqueOperator.of("Update").updating();
        if (random.nextInt(3) == 0) {
          operator = OpaqueOperator.of("UpdateAndGet", size(random)).updating();
        }
      } else {
        boolean variable = !variables.isEmpty() && random.nextInt(6) == 0;
        operands.add(variable ? pick(variables, random) : recent(values, random));
        int same = (int) operands.get(0).type().sizeBytes();
        for (int more = random.nextInt(kind < 5 ? 1 : 3); more > 0; more--) {
          operands.add(recent(values, random));
        }
        Integer[] outputs = new Integer[kind == 9 ? 2 + random.nextInt(2) : 1];
        Arrays.setAll(outputs, o -> random.nextInt(3) == 0 ? size(random) : same);
        operator = OpaqueOperator.of("Op", outputs);
      }
      Node node = builder.add("n" + i, operator, operands);
      values.addAll(node.outputs());
      results.addAll(node.outputs());
    }
    int outputs = 0;
    for (Value result : results) {
      if (random.nextInt(8) == 0 || (outputs == 0 && result == results.get(results.size() - 1))) {
        builder.output("out" + outputs++, result);
      }
    }
    return builder.build();
  }

  private static int size(Random random) {
    return SIZES[random.nextInt(SIZES.length)];
  }

  private static Tensor zeros(Random random) {
    return Tensor.zeros(OpaqueOperator.type(size(random)));
  }

  private static Value pick(List<Value> values, Random random) {
    return values.get(random.nextInt(values.size()));
  }

  private static Value recent(List<Value> values, Random random) {
    int back = Math.min(values.size(), random.nextInt(4) == 0 ? values.size() : 4);
    return values.get(values.size() - 1 - random.nextInt(back));
  }

  /** Kernels that want workspaces, may run in place and may be views, at random. */
  public static KernelChoices kernels(Graph graph, Random random) {
    return KernelChoices.of("random", graph, node -> kernel(node, random));
  }

  private static KernelChoice kernel(Node node, Random random) {
    KernelChoice choice = KernelChoice.of("k", ResourceDemand.NONE);
    if (random.nextInt(4) == 0) {
      choice = choice.withWorkspace(1 + random.nextInt(1500));
    }
    if (node.outputs().isEmpty()) {
      return choice;
    }
    long bytes = node.outputs().get(0).type().sizeBytes();
    List<Integer> inPlace = new ArrayList<>();
    for (int i = 0; i < node.inputs().size(); i++) {
      if (random.nextInt(3) > 0) {
        inPlace.add(i);
      }
    }
    choice = choice.inPlaceOver(inPlace);
    boolean pure = node.operator().mutatedInputs().isEmpty() && node.outputs().size() == 1;
    boolean same = node.inputs().get(0).type().sizeBytes() == bytes;
    return pure && same && node.inputs().size() == 1 && random.nextInt(3) == 0
        ? choice.asView()
        : choice;
  }

  /**
   * Nodes on random streams, launched in a random topological order, with just the syncs that the
   * dependencies need: without any one of them, one is broken.
   */
  public static Schedule schedule(Graph graph, Random random, int streams) {
    int nodes = graph.nodes().size();
    int[] streamOf = new int[nodes];
    int sticky = random.nextInt(4);
    for (Node node : graph.nodes()) {
      List<Node> before = graph.predecessors(node);
      streamOf[node.id()] =
          before.isEmpty() || random.nextInt(4) >= sticky
              ? random.nextInt(streams)
              : streamOf[before.get(random.nextInt(before.size())).id()];
    }
    return schedule(graph, streamOf, order(graph, random), streams);
  }

  private static List<Node> order(Graph graph, Random random) {
    boolean program = random.nextInt(3) == 0;
    int[] missing = new int[graph.nodes().size()];
    List<Node> ready = new ArrayList<>();
    for (Node node : graph.nodes()) {
      missing[node.id()] = graph.predecessors(node).size();
      if (missing[node.id()] == 0) {
        ready.add(node);
      }
    }
    List<Node> order = new ArrayList<>();
    while (!ready.isEmpty()) {
      ready.sort(Comparator.comparingInt(Node::id));
      Node next = ready.remove(program ? 0 : random.nextInt(ready.size()));
      order.add(next);
      for (Node successor : graph.successors(next)) {
        if (--missing[successor.id()] == 0) {
          ready.add(successor);
        }
      }
    }
    return order;
  }

  /** A schedule with the fewest syncs for these streams and this order. */
  public static Schedule schedule(
      Graph graph, int[] streamOf, List<Node> launchOrder, int streams) {
    int nodes = graph.nodes().size();
    int[] position = new int[nodes];
    for (int i = 0; i < nodes; i++) {
      position[launchOrder.get(i).id()] = i;
    }
    boolean[][] before = new boolean[nodes][nodes];
    Node[] last = new Node[streams];
    List<Sync> syncs = new ArrayList<>();
    for (Node node : launchOrder) {
      boolean[] known = before[node.id()];
      learn(known, last[streamOf[node.id()]], before);
      List<Node> predecessors = new ArrayList<>(graph.predecessors(node));
      predecessors.sort(Comparator.comparingInt((Node p) -> -position[p.id()]));
      for (Node predecessor : predecessors) {
        if (!known[predecessor.id()]) {
          syncs.add(new Sync(predecessor, node));
          learn(known, predecessor, before);
        }
      }
      last[streamOf[node.id()]] = node;
    }
    syncs.sort(
        Comparator.comparingInt((Sync s) -> position[s.to().id()])
            .thenComparingInt(s -> position[s.from().id()]));
    return new Schedule(
        graph,
        "RANDOM",
        streams,
        ImmutableIntArray.copyOf(streamOf),
        ImmutableList.copyOf(launchOrder),
        ImmutableList.copyOf(syncs),
        1,
        "at random");
  }

  private static void learn(boolean[] known, @Nullable Node node, boolean[][] before) {
    if (node != null) {
      for (int i = 0; i < known.length; i++) {
        known[i] |= before[node.id()][i];
      }
      known[node.id()] = true;
    }
  }

  /** The same plan with other commands, as a faulty planner or device might have them. */
  public static ExecutionPlan withCommands(ExecutionPlan plan, List<Command> commands) {
    return new ExecutionPlan(
        plan.graph(),
        plan.kernels(),
        plan.schedule(),
        plan.memory(),
        plan.streams(),
        plan.events(),
        ImmutableList.copyOf(commands));
  }
}
