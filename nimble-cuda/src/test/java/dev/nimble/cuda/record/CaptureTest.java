package dev.nimble.cuda.record;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.nimble.cuda.TestDevice;
import dev.nimble.cuda.TestGraphs;
import dev.nimble.cuda.driver.CudaGraph;
import dev.nimble.cuda.emulator.Emulator;
import dev.nimble.cuda.emulator.OnEmulator;
import dev.nimble.cuda.op.Launch;
import dev.nimble.device.Device;
import dev.nimble.device.Devices;
import dev.nimble.device.Recording;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Tensor;
import dev.nimble.plan.Command;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.schedule.Policies;
import dev.nimble.schedule.SchedulingPolicy;
import dev.nimble.testkit.RandomGraphs;
import dev.nimble.testkit.RandomPlans;
import dev.nimble.testkit.RandomTensors;
import dev.nimble.testkit.ReferenceExecutor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What stream capture makes of a plan: as many nodes and edges as the plan says, and no more. */
@OnEmulator
class CaptureTest {
  private static final List<SchedulingPolicy> POLICIES =
      List.of(Policies.singleStream(), Policies.nimble(), Policies.nimble(2));

  @Test
  void nodesAndEdgesAreThePlans() {
    List<Graph> graphs =
        new ArrayList<>(
            List.of(
                TestGraphs.columns(12, 1), TestGraphs.columns(30, 5), TestGraphs.columns(40, 9)));
    for (int seed = 0; seed < 6; seed++) {
      graphs.add(RandomGraphs.of(new Random(seed), 25));
    }
    try (Device device = TestDevice.withoutLibraries(CudaRecording.Mode.GRAPH)) {
      for (Graph graph : graphs) {
        for (SchedulingPolicy policy : POLICIES) {
          ExecutionPlan plan = TestGraphs.plan(device, graph, policy);
          try (CudaRecording recording = (CudaRecording) device.record(plan)) {
            assertThat(recording.contents())
                .as("%s, %s", graph.name(), policy.name())
                .isEqualTo(expected(plan, recording));
          }
        }
      }
    }
  }

  /**
   * A library's call may become several nodes in a row: then a plan of one stream is one row.
   * Nothing else may appear, above all no memory node.
   */
  @Test
  void aPlanWithLibraryCallsIsOneRowOnOneStream() {
    try (Device device = TestDevice.of(CudaRecording.Mode.GRAPH)) {
      ExecutionPlan plan = TestGraphs.plan(device, TestGraphs.libraries(), Policies.singleStream());
      try (CudaRecording recording = (CudaRecording) device.record(plan)) {
        var contents = Objects.requireNonNull(recording.contents());
        int own = recording.launches(Launch.Kind.KERNEL) + recording.launches(Launch.Kind.COPY);
        int calls = recording.launches(Launch.Kind.BLAS) + recording.launches(Launch.Kind.DNN);
        assertThat(calls).as("calls of cuBLAS and cuDNN").isGreaterThanOrEqualTo(5);
        assertThat(contents.nodes()).isGreaterThanOrEqualTo(own + calls + 2L);
        assertThat(contents.edges()).isEqualTo(contents.nodes() - 1);
      }
    }
  }

  @Test
  void streamsHaveThePriorityThatIsAskedFor() {
    Graph graph = TestGraphs.columns(12, 3);
    for (String wanted : List.of("normal", "high")) {
      System.setProperty("nimble.cuda.priority", wanted);
      try (Device device = Devices.open("cuda");
          CudaRecording recording =
              (CudaRecording) device.record(TestGraphs.plan(device, graph, Policies.nimble()))) {
        assertThat(recording.priority()).isEqualTo(wanted.equals("high") ? -5 : 0);
      } finally {
        System.clearProperty("nimble.cuda.priority");
      }
    }
    System.setProperty("nimble.cuda.priority", "utmost");
    try {
      assertThatThrownBy(() -> Devices.open("cuda"))
          .isInstanceOf(InvalidArgumentException.class)
          .hasMessageContaining("must be normal or high, not 'utmost'");
    } finally {
      System.clearProperty("nimble.cuda.priority");
    }
  }

  /** The rules of stream capture, applied to the plan's commands between the two copies. */
  private static Object expected(ExecutionPlan plan, CudaRecording recording) {
    Counter counter = new Counter(Math.max(1, plan.streams()));
    counter.enqueue(0);
    Map<Integer, Command> first = new HashMap<>();
    Map<Integer, Command> last = new HashMap<>();
    Set<Integer> waited = new HashSet<>();
    for (Command command : plan.commands()) {
      if (!(command instanceof Command.View)) {
        first.putIfAbsent(command.stream(), command);
        last.put(command.stream(), command);
      }
      if (command instanceof Command.WaitEvent) {
        waited.add(((Command.WaitEvent) command).event());
      }
    }
    first.forEach(
        (stream, command) -> {
          if (!(command instanceof Command.WaitEvent)) {
            counter.tails.get(stream).addAll(counter.tails.get(0));
          }
        });
    Map<Integer, Set<Integer>> events = new HashMap<>();
    for (Command command : plan.commands()) {
      Set<Integer> tail = counter.tails.get(command.stream());
      if (command instanceof Command.Launch) {
        for (int i = recording.launchesOf(((Command.Launch) command).node()); i > 0; i--) {
          counter.enqueue(command.stream());
        }
      } else if (command instanceof Command.RecordEvent) {
        events.put(((Command.RecordEvent) command).event(), new HashSet<>(tail));
      } else if (command instanceof Command.WaitEvent) {
        tail.addAll(events.get(((Command.WaitEvent) command).event()));
      }
    }
    last.forEach(
        (stream, command) -> {
          boolean awaited =
              command instanceof Command.RecordEvent
                  && waited.contains(((Command.RecordEvent) command).event());
          if (!awaited) {
            counter.tails.get(0).addAll(counter.tails.get(stream));
          }
        });
    counter.enqueue(0);
    return new CudaGraph.Contents(counter.nodes, counter.edges);
  }

  /** Nodes and edges so far, and the nodes that each stream's next one depends on. */
  private static final class Counter {
    private final List<Set<Integer>> tails = new ArrayList<>();
    private int nodes;
    private int edges;

    Counter(int streams) {
      for (int s = 0; s < streams; s++) {
        tails.add(new HashSet<>());
      }
    }

    void enqueue(int stream) {
      Set<Integer> tail = tails.get(stream);
      edges += tail.size();
      tail.clear();
      tail.add(nodes++);
    }
  }

  /** With any one of the plan's waits removed, some order of the rest gives a wrong result. */
  @Test
  void everyWaitIsNeeded() {
    Graph graph = TestGraphs.columns(26, 4);
    for (CudaRecording.Mode mode : CudaRecording.Mode.values()) {
      try (Device device = TestDevice.withoutLibraries(mode)) {
        ExecutionPlan plan = TestGraphs.plan(device, graph, Policies.nimble());
        assertThat(firstWrongSeed(device, plan)).as("the plan as it is, %s", mode).isNegative();
        int waits = 0;
        for (Command command : plan.commands()) {
          if (command instanceof Command.WaitEvent) {
            waits++;
            List<Command> fewer = new ArrayList<>(plan.commands());
            fewer.remove(command);
            assertThat(firstWrongSeed(device, RandomPlans.withCommands(plan, fewer)))
                .as("without %s, %s", command, mode)
                .isNotNegative();
          }
        }
        assertThat(waits).isGreaterThanOrEqualTo(3);
      }
    }
  }

  /** The first seed of delays by which a step gives a wrong result; -1 if none does. */
  private static int firstWrongSeed(Device device, ExecutionPlan plan) {
    Emulator.reset();
    try (Recording recording = device.record(plan)) {
      for (int seed = 0; seed < 60; seed++) {
        List<Tensor> inputs = RandomGraphs.inputs(plan.graph(), new Random(seed)); // none is stale
        Tensor expected = ReferenceExecutor.run(plan.graph(), inputs).get(0);
        Emulator.delays(seed, 200);
        recording.input(0).copyFrom(inputs.get(0));
        recording.replay();
        if (RandomTensors.largestDifference(recording.output(0), expected) > 1e-4) {
          return seed;
        }
      }
      return -1;
    } finally {
      Emulator.reset();
    }
  }
}
