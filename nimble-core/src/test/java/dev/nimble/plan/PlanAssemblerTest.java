package dev.nimble.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.common.collect.ImmutableList;
import dev.nimble.buffer.BufferUse;
import dev.nimble.buffer.BufferUse.Access;
import dev.nimble.error.InvalidPlanException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Node;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import dev.nimble.memory.MemoryPlan;
import dev.nimble.memory.MemoryPlanner;
import dev.nimble.op.KernelChoice;
import dev.nimble.op.KernelChoices;
import dev.nimble.op.ResourceDemand;
import dev.nimble.schedule.Schedule;
import dev.nimble.schedule.Sync;
import dev.nimble.testkit.OpaqueOperator;
import dev.nimble.testkit.RandomPlans;
import dev.nimble.testkit.Seeds;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class PlanAssemblerTest {
  private static final KernelChoice PLAIN = KernelChoice.of("k", ResourceDemand.NONE);

  private static ExecutionPlan assemble(Graph graph, KernelChoices kernels, Schedule schedule) {
    return PlanAssembler.assemble(
        graph, kernels, schedule, MemoryPlanner.plan(graph, kernels, schedule));
  }

  /** A fork of a into b (same stream), c and d (their own), joined in e. */
  private static Graph fork() {
    GraphBuilder builder = new GraphBuilder("fork");
    OpaqueOperator operator = OpaqueOperator.of("Op", 256);
    Value a = builder.apply("a", operator, builder.input("x", OpaqueOperator.type(256)));
    Value b = builder.apply("b", operator, a);
    Value c = builder.apply("c", operator, a);
    Value d = builder.apply("d", operator, a);
    return builder.output("y", builder.apply("e", operator, b, c, d)).build();
  }

  private static String compact(ExecutionPlan plan) {
    StringBuilder text = new StringBuilder();
    for (Command command : plan.commands()) {
      text.append(command.stream()).append(':');
      if (command instanceof Command.Launch) {
        text.append(((Command.Launch) command).node().name());
      } else if (command instanceof Command.View) {
        text.append("view ").append(((Command.View) command).node().name());
      } else if (command instanceof Command.RecordEvent) {
        text.append("record ").append(((Command.RecordEvent) command).event());
      } else {
        text.append("wait ").append(((Command.WaitEvent) command).event());
      }
      text.append("; ");
    }
    return text.toString();
  }

  @Test
  void waitsStandBeforeTheirNodeAndOneEventServesAllWhoWait() {
    Graph graph = fork();
    Schedule schedule = RandomPlans.schedule(graph, new int[] {0, 0, 1, 2, 0}, graph.nodes(), 3);
    ExecutionPlan plan = assemble(graph, KernelChoices.of("t", graph, n -> PLAIN), schedule);
    assertThat(compact(plan))
        .isEqualTo(
            "0:a; 0:record 0; 0:b; 1:wait 0; 1:c; 1:record 1; 2:wait 0; 2:d; 2:record 2; "
                + "0:wait 1; 0:wait 2; 0:e; ");
    assertThat(plan.events()).isEqualTo(3);
    assertThat(plan.streams()).isEqualTo(3);
  }

  @Test
  void launchesListInputsOutputsAndWorkspace() {
    GraphBuilder builder = new GraphBuilder("uses");
    Value v = builder.variable("v", Tensor.zeros(OpaqueOperator.type(100)));
    Value x = builder.input("x", OpaqueOperator.type(200));
    Node node = builder.add("n", OpaqueOperator.of("N", 300, 400).updating(), List.of(v, x));
    builder.apply("view", OpaqueOperator.of("V", 300), node.outputs().get(0));
    Graph graph = builder.build();
    KernelChoices kernels =
        KernelChoices.of("t", graph, n -> n.id() == 0 ? PLAIN.withWorkspace(500) : PLAIN.asView());
    ExecutionPlan plan =
        assemble(graph, kernels, RandomPlans.schedule(graph, new int[2], graph.nodes(), 1));
    MemoryPlan memory = plan.memory();
    assertThat(plan.commands())
        .containsExactly(
            new Command.Launch(
                0,
                node,
                ImmutableList.of(
                    new BufferUse(Access.UPDATE, memory.of(v)),
                    new BufferUse(Access.READ, memory.of(x)),
                    new BufferUse(Access.WRITE, memory.of(node.outputs().get(0))),
                    new BufferUse(Access.WRITE, memory.of(node.outputs().get(1))),
                    new BufferUse(Access.SCRATCH, memory.workspaces().get(node)))),
            new Command.View(0, graph.nodes().get(1)));
  }

  @Test
  void everyPlanHasTheSchedulesSyncsAndNoMore() {
    Seeds.forEach(
        300,
        (random, seed) -> {
          Graph graph = RandomPlans.graph(random, 1 + random.nextInt(40));
          KernelChoices kernels = RandomPlans.kernels(graph, random);
          Schedule schedule = RandomPlans.schedule(graph, random, 1 + random.nextInt(5));
          ExecutionPlan plan = assemble(graph, kernels, schedule);
          List<Sync> found = new ArrayList<>();
          List<Node> launched = new ArrayList<>();
          Node[] recordedAfter = new Node[plan.events()];
          List<Node> waitedFor = new ArrayList<>();
          Node last = null;
          for (Command command : plan.commands()) {
            if (command instanceof Command.RecordEvent) {
              int event = ((Command.RecordEvent) command).event();
              assertThat(recordedAfter[event]).isNull();
              recordedAfter[event] = last;
            } else if (command instanceof Command.WaitEvent) {
              waitedFor.add(recordedAfter[((Command.WaitEvent) command).event()]);
            } else {
              last =
                  command instanceof Command.Launch
                      ? ((Command.Launch) command).node()
                      : ((Command.View) command).node();
              Node node = last;
              assertThat(command.stream()).isEqualTo(schedule.streamOf(node));
              waitedFor.forEach(from -> found.add(new Sync(from, node)));
              waitedFor.clear();
              launched.add(node);
            }
          }
          assertThat(found).isEqualTo(schedule.syncs());
          assertThat(launched).isEqualTo(schedule.launchOrder());
          assertThat(plan.events())
              .isEqualTo((int) schedule.syncs().stream().map(Sync::from).distinct().count());
        });
  }

  @Test
  void aSyncThatLeadsBackwardsIsRefused() {
    Graph graph = fork();
    KernelChoices kernels = KernelChoices.of("t", graph, n -> PLAIN);
    Schedule right = RandomPlans.schedule(graph, new int[] {0, 0, 1, 2, 0}, graph.nodes(), 3);
    MemoryPlan memory = MemoryPlanner.plan(graph, kernels, right);
    Schedule wrong =
        new Schedule(
            graph,
            "wrong",
            3,
            right.streamOf(),
            right.launchOrder(),
            ImmutableList.of(new Sync(graph.nodes().get(3), graph.nodes().get(2))),
            3,
            "");
    assertThatThrownBy(() -> PlanAssembler.assemble(graph, kernels, wrong, memory))
        .isInstanceOf(InvalidPlanException.class)
        .hasMessageContaining("node 'c'")
        .hasMessageContaining("waits for node 'd'");
  }

  @Test
  void aPlanExplainsItself() {
    GraphBuilder builder = new GraphBuilder("net");
    OpaqueOperator operator = OpaqueOperator.of("Op", 2048);
    Value v = builder.variable("weights", Tensor.zeros(OpaqueOperator.type(2048)));
    Value a = builder.apply("conv", operator, builder.input("x", OpaqueOperator.type(2048)), v);
    Value b = builder.apply("flatten", operator, a);
    Value c = builder.apply("relu", operator, b);
    Value d = builder.apply("side", operator, v);
    builder.output("y", builder.apply("sum", operator, c, d));
    builder.add("step", OpaqueOperator.of("Assign").updating(), List.of(v, d));
    builder.output("z", builder.apply("after", operator, v));
    Graph graph = builder.build();
    List<KernelChoice> choices =
        List.of(
            PLAIN.withWorkspace(1536),
            PLAIN.asView(),
            PLAIN.inPlaceOver(List.of(0)),
            PLAIN,
            PLAIN,
            PLAIN,
            PLAIN);
    KernelChoices kernels = KernelChoices.of("cpu (2 cores)", graph, n -> choices.get(n.id()));
    Schedule schedule =
        RandomPlans.schedule(graph, new int[] {0, 0, 0, 1, 0, 1, 2}, graph.nodes(), 3);
    ExecutionPlan plan = assemble(graph, kernels, schedule);
    assertThat(plan.explain())
        .isEqualTo(
            """
            Plan of graph 'net': 7 nodes and 1 input in, 2 outputs out.
            Commands: 6 launches, 1 view, 3 events recorded, 3 waits.
            Kernels of cpu (2 cores): 1 could be views, 1 could run in place, 1 want a workspace \
            (the largest 1.5 KiB).
            Schedule by RANDOM: 3 streams, 3 syncs, 3 events; at most 1 node can run at once.
              at random
            Memory: an arena of 5.5 KiB: 1.375 times the 4.0 KiB that are live at most when nodes \
            run one after the other, 0.579 times the 9.5 KiB of giving each value its own.
              more than that, since values on streams that nothing orders may be live together
              INPUT region: 2.0 KiB
              OUTPUT region: 4.0 KiB
              VARIABLE region: 2.0 KiB
              views: 1 (flatten)
              in place: 1 (relu over flatten)
              peak: 4.0 KiB while side runs, launch 4 of 7 in launch order; live then:
                2.0 KiB 'conv' u8[2048]
                2.0 KiB 'side' u8[2048]
            Streams:
              stream 0, 4 nodes: conv, flatten, relu, sum
              stream 1, 2 nodes: side, step
              stream 2, 1 node: after
            Syncs:
              stream 0 waits before sum for side on stream 1: it reads 'side'
              stream 1 waits before step for conv on stream 0: it updates variable 'weights', \
            which must be read first
              stream 2 waits before after for step on stream 1: it uses variable 'weights' as \
            updated
            """);
  }

  @Test
  void explanationsOfLargePlansStayShort() {
    Random random = new Random(1);
    Graph graph = RandomPlans.graph(random, 500);
    KernelChoices kernels = RandomPlans.kernels(graph, random);
    ExecutionPlan plan = assemble(graph, kernels, RandomPlans.schedule(graph, random, 40));
    assertThat(plan.explain().lines()).hasSizeLessThan(90);
    assertThat(plan.explain().lines().mapToInt(String::length).max().orElse(0)).isLessThan(400);
    assertThat(plan.explain()).contains("more ...").contains("  and ");
  }
}
