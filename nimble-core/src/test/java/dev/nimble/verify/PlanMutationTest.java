package dev.nimble.verify;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import dev.nimble.buffer.BufferUse;
import dev.nimble.buffer.BufferUse.Access;
import dev.nimble.buffer.Slice;
import dev.nimble.buffer.Slice.Region;
import dev.nimble.error.InvalidPlanException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Value;
import dev.nimble.memory.MemoryPlan;
import dev.nimble.memory.MemoryPlanner;
import dev.nimble.op.KernelChoices;
import dev.nimble.plan.Command;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.plan.PlanAssembler;
import dev.nimble.schedule.Policies;
import dev.nimble.schedule.Schedule;
import dev.nimble.testkit.RandomPlans;
import dev.nimble.testkit.Seeds;
import dev.nimble.testkit.SymbolicReplay;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** Right plans are accepted, and every way of spoiling one is caught. */
class PlanMutationTest {
  private static void forSeeds(int count, BiConsumer<ExecutionPlan, Random> property) {
    Seeds.forEach(count, (random, seed) -> property.accept(plan(random), random));
  }

  private static ExecutionPlan plan(Random random) {
    Graph graph = RandomPlans.graph(random, 1 + random.nextInt(25));
    KernelChoices kernels = RandomPlans.kernels(graph, random);
    Schedule schedule = schedule(graph, kernels, random);
    return PlanAssembler.assemble(
        graph, kernels, schedule, MemoryPlanner.plan(graph, kernels, schedule));
  }

  /** By a policy, or wilder than any policy makes it. */
  private static Schedule schedule(Graph graph, KernelChoices kernels, Random random) {
    switch (random.nextInt(6)) {
      case 0:
        return Policies.nimble().schedule(graph, kernels);
      case 1:
        return Policies.nimble(1 + random.nextInt(4)).schedule(graph, kernels);
      default:
        return RandomPlans.schedule(graph, random, 1 + random.nextInt(5));
    }
  }

  private static boolean accepted(ExecutionPlan plan) {
    try {
      PlanVerifier.verify(plan);
      return true;
    } catch (InvalidPlanException e) {
      return false;
    }
  }

  private static void assertRejected(ExecutionPlan mutant, String what) {
    assertThat(accepted(mutant)).as("accepts after: " + what).isFalse();
  }

  /**
   * The verifier is exact: it rejects what can go wrong or leaves a dependency open, and no more.
   */
  private static void assertJudgedExactly(ExecutionPlan mutant, String what) {
    String fault = RaceOracle.harm(mutant);
    if (fault == null) {
      fault = RaceOracle.openDependency(mutant);
    }
    assertThat(accepted(mutant)).as(what + ", fault: " + fault).isEqualTo(fault == null);
  }

  private static void assertHarmCaught(ExecutionPlan mutant, String what) {
    String fault = RaceOracle.harm(mutant);
    if (fault != null) {
      assertThat(accepted(mutant)).as(what + ", fault: " + fault).isFalse();
    }
  }

  private static ExecutionPlan with(ExecutionPlan plan, List<Command> commands) {
    return RandomPlans.withCommands(plan, commands);
  }

  private static ExecutionPlan with(ExecutionPlan plan, MemoryPlan memory) {
    return PlanAssembler.assemble(plan.graph(), plan.kernels(), plan.schedule(), memory);
  }

  private static MemoryPlan moved(MemoryPlan memory, Map<Value, Slice> slices) {
    List<Slice> changed = new ArrayList<>(memory.slices());
    slices.forEach((value, slice) -> changed.set(value.id(), slice));
    return new MemoryPlan(
        ImmutableList.copyOf(changed),
        memory.workspaces(),
        memory.views(),
        memory.regionBytes(),
        memory.lowerBoundBytes(),
        memory.naiveBytes());
  }

  private static MemoryPlan resized(MemoryPlan memory, Region region, long bytes) {
    Map<Region, Long> sizes = new HashMap<>(memory.regionBytes());
    sizes.put(region, bytes);
    return new MemoryPlan(
        memory.slices(),
        memory.workspaces(),
        memory.views(),
        ImmutableMap.copyOf(sizes),
        memory.lowerBoundBytes(),
        memory.naiveBytes());
  }

  private static List<Integer> places(ExecutionPlan plan, Class<? extends Command> kind) {
    List<Integer> places = new ArrayList<>();
    for (int i = 0; i < plan.commands().size(); i++) {
      if (kind.isInstance(plan.commands().get(i))) {
        places.add(i);
      }
    }
    return places;
  }

  @Test
  void rightPlansAreAcceptedAndEveryInterleavingIsRight() {
    forSeeds(
        1000,
        (plan, random) -> {
          PlanVerifier.verify(plan);
          assertThat(RaceOracle.harm(plan)).isNull();
          for (int i = 0; i < 5; i++) {
            assertThat(SymbolicReplay.run(plan, random)).isNull();
          }
        });
  }

  @Test
  void whatAnInterleavingShowsToBeWrongIsRejected() {
    int[] shown = {0};
    forSeeds(
        150,
        (plan, random) -> {
          for (int place : places(plan, Command.WaitEvent.class)) {
            List<Command> commands = new ArrayList<>(plan.commands());
            commands.remove(place);
            shown[0] += shownAndRejected(with(plan, commands), random);
          }
          for (Set<Value> group : groups(plan)) {
            Slice old = plan.sliceOf(group.iterator().next());
            long places = (plan.memory().arenaBytes() - old.size()) / 256 + 1;
            Slice slice = new Slice(Region.ARENA, 256L * random.nextInt((int) places), old.size());
            Map<Value, Slice> changes = new HashMap<>();
            group.forEach(v -> changes.put(v, slice));
            shown[0] += shownAndRejected(with(plan, moved(plan.memory(), changes)), random);
          }
        });
    if (Long.getLong("nimble.seed") == null) {
      assertThat(shown[0]).as("mutants that an interleaving showed to be wrong").isGreaterThan(500);
    }
  }

  private static int shownAndRejected(ExecutionPlan mutant, Random random) {
    for (int i = 0; i < 10; i++) {
      String fault = SymbolicReplay.run(mutant, random);
      if (fault != null) {
        assertThat(accepted(mutant)).as(fault).isFalse();
        return 1;
      }
    }
    return 0;
  }

  @Test
  void everyDroppedSyncIsCaught() {
    forSeeds(
        400,
        (plan, random) -> {
          assertThat(places(plan, Command.WaitEvent.class)).hasSize(plan.schedule().syncs().size());
          for (int place : places(plan, Command.WaitEvent.class)) {
            List<Command> commands = new ArrayList<>(plan.commands());
            Command dropped = commands.remove(place);
            assertRejected(with(plan, commands), "dropping " + dropped);
          }
          for (int place : places(plan, Command.RecordEvent.class)) {
            List<Command> commands = new ArrayList<>(plan.commands());
            Command dropped = commands.remove(place);
            assertRejected(with(plan, commands), "dropping " + dropped);
          }
        });
  }

  @Test
  void everySwapOfDependentLaunchesIsCaughtAndHarmlessSwapsAreNot() {
    forSeeds(
        150,
        (plan, random) -> {
          boolean[][] depends = dependencies(plan.graph());
          List<Command> commands = plan.commands();
          for (int i = 0; i < commands.size(); i++) {
            for (int j = i + 1; j < commands.size(); j++) {
              Node first = RaceOracle.nodeOf(commands.get(i));
              Node second = RaceOracle.nodeOf(commands.get(j));
              if (first != null
                  && second != null
                  && commands.get(i).stream() == commands.get(j).stream()) {
                List<Command> swapped = new ArrayList<>(commands);
                Collections.swap(swapped, i, j);
                ExecutionPlan mutant = with(plan, swapped);
                String what = "swapping " + first.name() + " and " + second.name();
                if (depends[first.id()][second.id()]) {
                  assertRejected(mutant, what);
                } else if (random.nextInt(4) == 0) {
                  assertJudgedExactly(mutant, what);
                }
              }
            }
          }
        });
  }

  private static boolean[][] dependencies(Graph graph) {
    boolean[][] depends = new boolean[graph.nodes().size()][graph.nodes().size()];
    for (Node node : graph.nodes()) {
      for (Node predecessor : graph.predecessors(node)) {
        depends[predecessor.id()][node.id()] = true;
        for (int i = 0; i < node.id(); i++) {
          depends[i][node.id()] |= depends[i][predecessor.id()];
        }
      }
    }
    return depends;
  }

  @Test
  void everyRetargetedWaitIsJudgedExactly() {
    forSeeds(
        300,
        (plan, random) -> {
          for (int place : places(plan, Command.WaitEvent.class)) {
            int event = random.nextInt(plan.events());
            int stream = random.nextInt(plan.streams());
            Command.WaitEvent wait = (Command.WaitEvent) plan.commands().get(place);
            List<Command> commands = new ArrayList<>(plan.commands());
            commands.set(place, new Command.WaitEvent(wait.stream(), event));
            ExecutionPlan mutant = with(plan, commands);
            boolean recorded =
                commands.subList(0, place).stream()
                    .anyMatch(
                        c ->
                            c instanceof Command.RecordEvent
                                && ((Command.RecordEvent) c).event() == event);
            if (recorded) {
              assertJudgedExactly(mutant, "making " + wait + " wait for " + event);
            } else {
              assertRejected(mutant, "making " + wait + " wait for the later " + event);
            }
            commands.set(place, new Command.WaitEvent(stream, wait.event()));
            assertJudgedExactly(with(plan, commands), "moving " + wait + " to " + stream);
          }
        });
  }

  @Test
  void everyMovedLaunchIsJudgedExactly() {
    forSeeds(
        300,
        (plan, random) -> {
          for (int place = 0; place < plan.commands().size(); place++) {
            Command command = plan.commands().get(place);
            Node node = RaceOracle.nodeOf(command);
            if (node == null) {
              continue;
            }
            int stream = random.nextInt(plan.streams());
            List<Command> commands = new ArrayList<>(plan.commands());
            commands.set(
                place,
                command instanceof Command.View
                    ? new Command.View(stream, node)
                    : new Command.Launch(stream, node, ((Command.Launch) command).uses()));
            assertJudgedExactly(with(plan, commands), "moving " + node + " to " + stream);
            commands.remove(place);
            assertRejected(with(plan, commands), "dropping " + node);
            commands = new ArrayList<>(plan.commands());
            commands.add(command);
            assertRejected(with(plan, commands), "launching twice " + node);
          }
        });
  }

  /** Values that share bytes on purpose: views and in-place results; a group moves as a whole. */
  private static List<Set<Value>> groups(ExecutionPlan plan) {
    Map<Value, Set<Value>> groupOf = new HashMap<>();
    List<Set<Value>> groups = new ArrayList<>();
    for (Node node : plan.schedule().launchOrder()) {
      for (Value output : node.outputs()) {
        Set<Value> group = null;
        for (Value input : node.inputs()) {
          boolean shares =
              output.outputIndex() == 0
                  && (plan.memory().views().contains(node)
                      || plan.sliceOf(input).overlaps(plan.sliceOf(output)));
          group = shares && group == null ? groupOf.get(input) : group;
        }
        if (group == null) {
          group = new HashSet<>();
          groups.add(group);
        }
        group.add(output);
        groupOf.put(output, group);
      }
    }
    groups.removeIf(
        group -> {
          Slice slice = plan.sliceOf(group.iterator().next());
          return slice.region() != Region.ARENA || slice.size() == 0;
        });
    return groups;
  }

  /**
   * The launches from the first definition to the last reading of a group, in launch order. Two
   * that meet in one launch may be its operand and its result, in place.
   */
  private static int[] interval(ExecutionPlan plan, Set<Value> group) {
    int[] interval = {Integer.MAX_VALUE, -1};
    List<Node> order = plan.schedule().launchOrder();
    for (int i = 0; i < order.size(); i++) {
      boolean runs = !plan.memory().views().contains(order.get(i));
      if (runs && order.get(i).outputs().stream().anyMatch(group::contains)) {
        interval[0] = Math.min(interval[0], i);
        interval[1] = i;
      }
      if (runs && order.get(i).inputs().stream().anyMatch(group::contains)) {
        interval[1] = i;
      }
    }
    return interval;
  }

  @Test
  void everyOverlapOfLiveBuffersIsCaughtAndHarmlessOnesAreNot() {
    forSeeds(
        100,
        (plan, random) -> {
          List<Set<Value>> groups = groups(plan);
          for (Set<Value> a : groups) {
            for (Set<Value> b : groups) {
              if (a == b) {
                continue;
              }
              Slice target = plan.sliceOf(a.iterator().next());
              Slice old = plan.sliceOf(b.iterator().next());
              long offset =
                  target.offset() + 256 * random.nextInt((int) (target.size() + 255) / 256);
              Slice slice = new Slice(Region.ARENA, offset, old.size());
              Map<Value, Slice> changes = new HashMap<>();
              b.forEach(v -> changes.put(v, slice));
              MemoryPlan memory = moved(plan.memory(), changes);
              memory = resized(memory, Region.ARENA, Math.max(memory.arenaBytes(), slice.end()));
              ExecutionPlan mutant = with(plan, memory);
              int[] p = interval(plan, a);
              int[] q = interval(plan, b);
              String what = "moving " + b + " over " + a;
              if (p[0] < q[1] && q[0] < p[1]) {
                assertRejected(mutant, what);
              } else {
                assertJudgedExactly(mutant, what);
              }
            }
          }
        });
  }

  @Test
  void harmfulMovesOfOneSliceAreCaught() {
    forSeeds(
        300,
        (plan, random) -> {
          for (Value value : plan.graph().values()) {
            Slice slice = plan.sliceOf(value);
            if (slice.size() == 0) {
              continue;
            }
            Region region =
                random.nextInt(4) == 0 ? Region.values()[random.nextInt(5)] : slice.region();
            long places = (plan.bytesOf(region) - slice.size()) / 256 + 1;
            if (places > 0 && plan.bytesOf(region) >= slice.size()) {
              Slice other = new Slice(region, 256 * random.nextInt((int) places), slice.size());
              assertHarmCaught(
                  with(plan, moved(plan.memory(), Map.of(value, other))),
                  "moving " + value + " to " + other);
            }
            Slice crooked = new Slice(slice.region(), slice.offset() + 8, slice.size());
            assertRejected(
                with(plan, moved(plan.memory(), Map.of(value, crooked))), "moving to " + crooked);
            Slice shorter = new Slice(slice.region(), slice.offset(), slice.size() - 1);
            assertRejected(
                with(plan, moved(plan.memory(), Map.of(value, shorter))), "cutting " + slice);
            Slice before = new Slice(slice.region(), -256, slice.size());
            MemoryPlan negative = moved(plan.memory(), Map.of(value, before));
            assertRejected(with(plan, negative), "moving to " + before);
          }
        });
  }

  @Test
  void everyMovedWorkspaceIsJudgedExactly() {
    forSeeds(
        300,
        (plan, random) ->
            plan.memory()
                .workspaces()
                .forEach(
                    (node, slice) -> {
                      long places = (plan.memory().arenaBytes() - slice.size()) / 256 + 1;
                      Slice other =
                          new Slice(Region.ARENA, 256 * random.nextInt((int) places), slice.size());
                      assertJudgedExactly(
                          withWorkspace(plan, node, other), "moving the workspace of " + node);
                      Slice shorter = new Slice(Region.ARENA, slice.offset(), slice.size() - 1);
                      assertRejected(withWorkspace(plan, node, shorter), "cutting " + slice);
                    }));
  }

  private static ExecutionPlan withWorkspace(ExecutionPlan plan, Node node, Slice slice) {
    MemoryPlan memory = plan.memory();
    Map<Node, Slice> workspaces = new HashMap<>(memory.workspaces());
    workspaces.put(node, slice);
    return with(
        plan,
        new MemoryPlan(
            memory.slices(),
            ImmutableMap.copyOf(workspaces),
            memory.views(),
            memory.regionBytes(),
            memory.lowerBoundBytes(),
            memory.naiveBytes()));
  }

  @Test
  void everyShrunkRegionIsCaught() {
    forSeeds(
        300,
        (plan, random) -> {
          for (Region region : Region.values()) {
            long used =
                LongStream.concat(
                        plan.memory().slices().stream()
                            .filter(s -> s.region() == region)
                            .mapToLong(Slice::end),
                        plan.memory().workspaces().values().stream()
                            .filter(s -> s.region() == region)
                            .mapToLong(Slice::end))
                    .max()
                    .orElse(0);
            if (used > 0) {
              assertRejected(
                  with(plan, resized(plan.memory(), region, used - 1)), "shrinking " + region);
            }
          }
        });
  }

  @Test
  void harmfulViewsAreCaught() {
    forSeeds(
        300,
        (plan, random) -> {
          MemoryPlan memory = plan.memory();
          for (Node node : plan.graph().nodes()) {
            Set<Node> views = new HashSet<>(memory.views());
            if (!views.remove(node)) {
              views.add(node);
            }
            MemoryPlan flipped =
                new MemoryPlan(
                    memory.slices(),
                    memory.workspaces(),
                    ImmutableSet.copyOf(views),
                    memory.regionBytes(),
                    memory.lowerBoundBytes(),
                    memory.naiveBytes());
            if (node.outputs().size() == 1
                && node.output().type().sizeBytes() == node.inputs().get(0).type().sizeBytes()
                && node.operator().mutatedInputs().isEmpty()) {
              assertHarmCaught(with(plan, flipped), "flipping the view of " + node);
            } else if (views.contains(node)) {
              assertRejected(with(plan, flipped), "making a view of " + node);
            }
          }
        });
  }

  @Test
  void everyForgedUseIsCaught() {
    forSeeds(
        200,
        (plan, random) -> {
          for (int place : places(plan, Command.Launch.class)) {
            Command.Launch launch = (Command.Launch) plan.commands().get(place);
            for (int i = 0; i < launch.uses().size(); i++) {
              Slice slice = launch.uses().get(i).slice();
              Access access = launch.uses().get(i).access();
              int operands = launch.node().inputs().size() + launch.node().outputs().size();
              if (i < operands) {
                Slice other = new Slice(slice.region(), slice.offset() + 256, slice.size());
                assertRejected(
                    with(plan, forged(plan, place, i, new BufferUse(access, other))), "forging");
              }
              Access wrong = Access.values()[(access.ordinal() + 1) % Access.values().length];
              assertRejected(
                  with(plan, forged(plan, place, i, new BufferUse(wrong, slice))), "forging");
            }
          }
        });
  }

  private static List<Command> forged(ExecutionPlan plan, int place, int index, BufferUse use) {
    Command.Launch launch = (Command.Launch) plan.commands().get(place);
    List<BufferUse> uses = new ArrayList<>(launch.uses());
    uses.set(index, use);
    List<Command> commands = new ArrayList<>(plan.commands());
    commands.set(
        place, new Command.Launch(launch.stream(), launch.node(), ImmutableList.copyOf(uses)));
    return commands;
  }
}
