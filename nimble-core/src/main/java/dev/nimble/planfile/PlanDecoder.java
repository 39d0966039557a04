package dev.nimble.planfile;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import com.google.common.collect.ImmutableSortedMap;
import com.google.common.primitives.ImmutableIntArray;
import dev.nimble.buffer.BufferUse;
import dev.nimble.buffer.Slice;
import dev.nimble.error.InvalidModelException;
import dev.nimble.error.InvalidPlanException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Node;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.memory.MemoryPlan;
import dev.nimble.op.KernelChoice;
import dev.nimble.op.KernelChoices;
import dev.nimble.op.ResourceDemand;
import dev.nimble.plan.Command;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.plan.Tuning;
import dev.nimble.schedule.Schedule;
import dev.nimble.schedule.Sync;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;

/** Reads what {@link PlanEncoder} has written, as untrusted input. */
final class PlanDecoder {
  static final int LAUNCH = 0;
  static final int VIEW = 1;
  static final int RECORD = 2;
  static final int WAIT = 3;

  private static final Value.Kind[] KINDS = Value.Kind.values();
  private static final Slice.Region[] REGIONS = Slice.Region.values();
  private static final BufferUse.Access[] ACCESSES = BufferUse.Access.values();
  private static final int MOST_TUNING = 1 << 16;
  private static final int MOST_STREAMS = 1 << 20;
  private static final long MOST_BYTES = Long.MAX_VALUE / 4;

  private final Decoder in;
  private final RecordCodec records;
  private final PlanLimits limits;

  PlanDecoder(Decoder in, RecordCodec records, PlanLimits limits) {
    this.in = in;
    this.records = records;
    this.limits = limits;
  }

  /** Brings the weights that the structure lists. */
  interface WeightReader {
    /** Reads the table of weights from {@code in}, and then the weights. */
    List<ByteBuffer> read(Decoder in) throws IOException;
  }

  /** Reads all; the plan is not verified. */
  SavedPlan decode(WeightReader weightReader) throws IOException {
    String target = in.text("the device");
    TreeMap<String, String> tuning = new TreeMap<>();
    for (int i = in.count("tuning entries", MOST_TUNING); i > 0; i--) {
      tuning.put(in.text("a tuning entry's name"), in.text("a tuning entry"));
    }
    List<ByteBuffer> weights = weightReader.read(in);
    Graph graph = graph(weights);
    KernelChoices kernels = kernels(graph);
    Schedule schedule = schedule(graph);
    MemoryPlan memory = memory(graph);
    ExecutionPlan plan = plan(graph, kernels, schedule, memory);
    in.end();
    return new SavedPlan(plan, target, new Tuning(ImmutableSortedMap.copyOfSorted(tuning)));
  }

  // The graph.

  private Graph graph(List<ByteBuffer> weights) {
    GraphBuilder builder = new GraphBuilder(in.text("the graph's name"));
    int nodeCount = in.count("nodes", limits.nodes());
    int valueCount = in.count("values", Integer.MAX_VALUE);
    List<Value> values = new ArrayList<>();
    Set<String> nodeNames = new HashSet<>();
    Set<String> valueNames = new HashSet<>();
    for (int nodes = 0; nodes < nodeCount || values.size() < valueCount; ) {
      Value.Kind kind = KINDS[in.index("a value's kind", KINDS.length)];
      if (kind == Value.Kind.RESULT) {
        if (nodes++ == nodeCount) {
          throw in.damaged("it has more nodes than it says");
        }
        values.addAll(node(builder, values, nodeNames, valueNames));
      } else {
        values.add(source(builder, kind, weights, valueNames));
      }
      if (values.size() > valueCount) {
        throw in.damaged("it has more values than it says");
      }
    }
    Set<String> outputNames = new HashSet<>();
    for (int i = in.count("outputs", Integer.MAX_VALUE); i > 0; i--) {
      String name = unique(in.text("an output's name"), outputNames, "outputs");
      builder.output(name, values.get(in.index("an output", valueCount)));
    }
    return builder.build();
  }

  private String unique(String name, Set<String> taken, String what) {
    if (!taken.add(name)) {
      throw in.damaged("two " + what + " are named '" + name + "'");
    }
    return name;
  }

  private Value source(
      GraphBuilder builder, Value.Kind kind, List<ByteBuffer> weights, Set<String> taken) {
    String name = unique(in.text("a value's name"), taken, "values");
    TensorType type = type();
    if (kind == Value.Kind.INPUT) {
      return builder.input(name, type);
    }
    ByteBuffer bytes = weights.get(in.index("the weights of '" + name + "'", weights.size()));
    if (bytes.remaining() != type.sizeBytes()) {
      throw in.damaged(
          "'" + name + "' is " + type + " but has " + bytes.remaining() + " bytes of weights");
    }
    Tensor contents = Tensor.wrap(type, bytes);
    return kind == Value.Kind.CONSTANT
        ? builder.constant(name, contents)
        : builder.variable(name, contents);
  }

  private TensorType type() {
    try {
      return ComponentCodec.readType(in);
    } catch (InvalidModelException e) {
      throw in.damaged(e.what());
    }
  }

  private List<Value> node(
      GraphBuilder builder, List<Value> values, Set<String> nodeNames, Set<String> valueNames) {
    String name = unique(in.text("a node's name"), nodeNames, "nodes");
    Operator operator = records.read(Operator.class, in);
    List<Value> operands = new ArrayList<>();
    for (int i = in.count("operands of '" + name + "'", Integer.MAX_VALUE); i > 0; i--) {
      operands.add(values.get(in.index("an operand of '" + name + "'", values.size())));
    }
    List<String> names = new ArrayList<>();
    List<TensorType> types = new ArrayList<>();
    for (int i = in.count("outputs of '" + name + "'", Integer.MAX_VALUE); i > 0; i--) {
      names.add(unique(in.text("a value's name"), valueNames, "values"));
      types.add(type());
    }
    Node node = builder.add(name, operator, operands, names);
    List<TensorType> inferred = new ArrayList<>();
    List<String> given = new ArrayList<>();
    for (Value output : node.outputs()) {
      inferred.add(output.type());
      given.add(output.name());
    }
    if (!inferred.equals(types)) {
      throw new InvalidPlanException(
          "has results of types " + types + " where this version of the library infers " + inferred,
          node.location());
    }
    if (!node.name().equals(name) || !given.equals(names)) {
      throw in.damaged("node '" + name + "' or a result of it has no proper name");
    }
    return node.outputs();
  }

  // What was decided.

  private KernelChoices kernels(Graph graph) {
    String device = in.text("the device's name");
    Function<Node, KernelChoice> read =
        node -> {
          String kernel = in.text("a kernel's name");
          long workspace = in.number("a workspace", MOST_BYTES);
          boolean view = in.flag("whether a kernel is a view");
          ImmutableList.Builder<Integer> inPlace = ImmutableList.builder();
          for (int i = in.count("operands in place", node.inputs().size()); i > 0; i--) {
            inPlace.add(in.index("an operand in place", node.inputs().size()));
          }
          ResourceDemand demand =
              new ResourceDemand(
                  in.signed("a number of operations"),
                  in.signed("a number of bytes"),
                  in.signed("a time"));
          return new KernelChoice(kernel, workspace, inPlace.build(), view, demand);
        };
    return KernelChoices.of(device, graph, read);
  }

  private Schedule schedule(Graph graph) {
    String policy = in.text("the policy");
    String optimality = in.text("the optimality");
    int nodes = graph.nodes().size();
    int degree = in.small("the degree of concurrency", Integer.MAX_VALUE);
    int streams = in.small("the number of streams", MOST_STREAMS);
    int[] streamOf = new int[nodes];
    for (int i = 0; i < nodes; i++) {
      streamOf[i] = in.index("a stream", streams);
    }
    Node[] order = new Node[nodes];
    boolean[] launched = new boolean[nodes];
    for (int i = 0; i < nodes; i++) {
      order[i] = node(graph);
      if (launched[order[i].id()]) {
        throw in.damaged("'" + order[i].name() + "' is twice in launch order");
      }
      launched[order[i].id()] = true;
    }
    ImmutableList.Builder<Sync> syncs = ImmutableList.builder();
    for (int i = in.count("syncs", Integer.MAX_VALUE); i > 0; i--) {
      syncs.add(new Sync(node(graph), node(graph)));
    }
    return new Schedule(
        graph,
        policy,
        streams,
        ImmutableIntArray.copyOf(streamOf),
        ImmutableList.copyOf(order),
        syncs.build(),
        degree,
        optimality);
  }

  private Node node(Graph graph) {
    return graph.nodes().get(in.index("a node", graph.nodes().size()));
  }

  private MemoryPlan memory(Graph graph) {
    ImmutableMap.Builder<Slice.Region, Long> regionBytes = ImmutableMap.builder();
    long[] bytes = new long[REGIONS.length];
    for (Slice.Region region : REGIONS) {
      bytes[region.ordinal()] = in.number("the size of region " + region, MOST_BYTES);
      regionBytes.put(region, bytes[region.ordinal()]);
    }
    long lowerBound = in.number("the lower bound", MOST_BYTES);
    long naive = in.number("the naive sum", MOST_BYTES);
    long[] used = new long[REGIONS.length];
    ImmutableList.Builder<Slice> slices = ImmutableList.builder();
    for (int i = 0; i < graph.values().size(); i++) {
      slices.add(used(slice(), used));
    }
    Map<Node, Slice> workspaces = new LinkedHashMap<>();
    for (int i = in.count("workspaces", graph.nodes().size()); i > 0; i--) {
      Node node = node(graph);
      if (workspaces.put(node, used(slice(), used)) != null) {
        throw in.damaged("'" + node.name() + "' has two workspaces");
      }
    }
    ImmutableSet.Builder<Node> views = ImmutableSet.builder();
    for (int i = in.count("views", graph.nodes().size()); i > 0; i--) {
      views.add(node(graph));
    }
    for (Slice.Region region : REGIONS) {
      if (bytes[region.ordinal()] > used[region.ordinal()] + Slice.ALIGNMENT) {
        throw in.damaged(
            "region "
                + region
                + " is "
                + bytes[region.ordinal()]
                + " bytes large, of which "
                + used[region.ordinal()]
                + " are used");
      }
    }
    return new MemoryPlan(
        slices.build(),
        ImmutableMap.copyOf(workspaces),
        views.build(),
        regionBytes.buildOrThrow(),
        lowerBound,
        naive);
  }

  private static Slice used(Slice slice, long[] used) {
    int region = slice.region().ordinal();
    used[region] = Math.max(used[region], slice.end());
    return slice;
  }

  private Slice slice() {
    return new Slice(
        REGIONS[in.index("a region", REGIONS.length)],
        in.number("an offset", MOST_BYTES),
        in.number("a size", MOST_BYTES));
  }

  private ExecutionPlan plan(
      Graph graph, KernelChoices kernels, Schedule schedule, MemoryPlan memory) {
    int streams = in.small("the number of streams", MOST_STREAMS);
    int events = in.count("events", graph.nodes().size());
    int count = in.count("commands", Integer.MAX_VALUE);
    long clocks = streams;
    checkClocks(clocks, streams);
    ImmutableList.Builder<Command> commands = ImmutableList.builder();
    for (int i = 0; i < count; i++) {
      int kind = in.index("a command", WAIT + 1);
      int stream = in.index("a command's stream", streams);
      switch (kind) {
        case LAUNCH:
          commands.add(new Command.Launch(stream, node(graph), uses()));
          break;
        case VIEW:
          commands.add(new Command.View(stream, node(graph)));
          break;
        case RECORD:
          clocks++;
          commands.add(new Command.RecordEvent(stream, in.index("an event", events)));
          break;
        default:
          clocks++;
          commands.add(new Command.WaitEvent(stream, in.index("an event", events)));
          break;
      }
      checkClocks(clocks, streams);
    }
    return new ExecutionPlan(graph, kernels, schedule, memory, streams, events, commands.build());
  }

  private void checkClocks(long clocks, int streams) {
    if (clocks * streams * Integer.BYTES > limits.verificationBytes()) {
      throw new InvalidPlanException(
          "has so many streams and events that to verify it would take more than the limit of "
              + limits.verificationBytes()
              + " bytes");
    }
  }

  private ImmutableList<BufferUse> uses() {
    ImmutableList.Builder<BufferUse> uses = ImmutableList.builder();
    for (int i = in.count("uses", Integer.MAX_VALUE); i > 0; i--) {
      uses.add(new BufferUse(ACCESSES[in.index("an access", ACCESSES.length)], slice()));
    }
    return uses.build();
  }
}
