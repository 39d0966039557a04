package dev.nimble.planfile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableSortedMap;
import dev.nimble.Engine;
import dev.nimble.EngineOptions;
import dev.nimble.Nimble;
import dev.nimble.device.Device;
import dev.nimble.device.cpu.CpuDeviceProvider;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.error.NimbleException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import dev.nimble.memory.MemoryPlanner;
import dev.nimble.op.KernelChoices;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.plan.PlanAssembler;
import dev.nimble.plan.Tuning;
import dev.nimble.schedule.Policies;
import dev.nimble.schedule.Schedule;
import dev.nimble.testkit.RandomGraphs;
import dev.nimble.testkit.RandomPlans;
import dev.nimble.testkit.RandomTensors;
import dev.nimble.testkit.RealModels;
import dev.nimble.testkit.Seeds;
import dev.nimble.transform.Transforms;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class RoundTripTest {
  private static final ImmutableList<String> WITH_TESTKIT =
      ImmutableList.of("dev.nimble.op", "dev.nimble.graph", "dev.nimble.testkit");

  @TempDir private Path folder = Path.of(".");
  private final Device device = new CpuDeviceProvider(3).open(0);

  @AfterEach
  void nothingIsLeaked() {
    assertThat(device.openResources()).isZero();
    device.close();
  }

  private static EngineOptions options(Random random) {
    return EngineOptions.defaults()
        .withPolicy(
            random.nextInt(4) == 0
                ? Policies.singleStream()
                : random.nextInt(3) == 0
                    ? Policies.nimble(1 + random.nextInt(3))
                    : Policies.nimble())
        .withTransforms(random.nextBoolean() ? Transforms.all() : Transforms.none());
  }

  /** Plans of operators that run: everything is equal, and so are the bytes of a second saving. */
  @Test
  void plansOfRandomGraphsAreEqual() {
    Path file = folder.resolve("a.plan");
    Path again = folder.resolve("b.plan");
    Seeds.forEach(
        150,
        (random, seed) -> {
          RandomGraphs.Style style = RandomGraphs.Style.ofNodes(5 + random.nextInt(40)).withJumps();
          style = random.nextBoolean() ? style.withVariables() : style;
          DataType[] types = {DataType.F32, DataType.F32, DataType.F64, DataType.F16};
          Graph graph = RandomGraphs.of(random, style.in(types[random.nextInt(types.length)]));
          ExecutionPlan plan = Nimble.plan(graph, device, options(random));
          Tuning tuning = new Tuning(ImmutableSortedMap.of("a", "b " + seed, "c", ""));
          SavedPlan saved = new SavedPlan(plan, "cpu and more", tuning);
          PlanFile.write(file, saved, PlanWeights.inline());
          SavedPlan read = PlanFile.read(file);
          PlanText.assertEqual(read.plan(), plan);
          assertThat(read.target()).isEqualTo("cpu and more");
          assertThat(read.deviceKind()).isEqualTo("cpu");
          assertThat(read.tuning()).isEqualTo(tuning);
          PlanFile.write(again, read, PlanWeights.inline());
          assertThat(again).hasSameBinaryContentAs(file);
        });
  }

  /** Plans wilder than any policy makes them: views, in place, workspaces, streams at random. */
  @Test
  void randomPlansAreEqual() {
    Path file = folder.resolve("a.plan");
    Seeds.forEach(
        400,
        (random, seed) -> {
          Graph graph = RandomPlans.graph(random, random.nextInt(40));
          if (graph.outputs().isEmpty()) {
            return;
          }
          KernelChoices kernels = RandomPlans.kernels(graph, random);
          Schedule schedule = RandomPlans.schedule(graph, random, 1 + random.nextInt(5));
          ExecutionPlan plan =
              PlanAssembler.assemble(
                  graph, kernels, schedule, MemoryPlanner.plan(graph, kernels, schedule));
          SavedPlan saved = new SavedPlan(plan, "random", Tuning.NONE);
          PlanFile.write(file, saved, PlanWeights.inline(), new RecordCodec(WITH_TESTKIT));
          SavedPlan read =
              PlanFile.read(file, PlanLimits.defaults(), new RecordCodec(WITH_TESTKIT));
          PlanText.assertEqual(read.plan(), plan);
        });
  }

  @Test
  void operatorsOfOthersCannotBeSaved() {
    Graph graph = RandomPlans.graph(new Random(3), 5);
    KernelChoices kernels = RandomPlans.kernels(graph, new Random(3));
    Schedule schedule = RandomPlans.schedule(graph, new Random(3), 2);
    ExecutionPlan plan =
        PlanAssembler.assemble(
            graph, kernels, schedule, MemoryPlanner.plan(graph, kernels, schedule));
    Path file = folder.resolve("none.plan");
    assertThatThrownBy(
            () ->
                PlanFile.write(
                    file, new SavedPlan(plan, "random", Tuning.NONE), PlanWeights.inline()))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessageContaining("none.plan")
        .hasMessageContaining("node 'n0'")
        .hasMessageContaining("OpaqueOperator");
    assertThat(folder).isEmptyDirectory();
  }

  private static Map<String, Tensor> inputs(Graph graph, Random random) {
    Map<String, Tensor> inputs = new LinkedHashMap<>();
    graph.inputs().forEach(v -> inputs.put(v.name(), RandomTensors.of(v.type(), random)));
    return inputs;
  }

  /** Steps of a loaded engine equal those of the engine that was saved, variables included. */
  @Test
  void loadedEnginesComputeTheSame() {
    Path file = folder.resolve("a.plan");
    Seeds.forEach(
        40,
        (random, seed) -> {
          RandomGraphs.Style style = RandomGraphs.Style.ofNodes(5 + random.nextInt(30)).withJumps();
          Graph graph = RandomGraphs.of(random, style.withVariables());
          try (Engine prepared = Nimble.prepare(graph, device, options(random))) {
            prepared.save(file);
            try (Engine loaded = Nimble.load(file, device)) {
              PlanText.assertEqual(loaded.plan(), prepared.plan());
              for (int step = 0; step < 3; step++) {
                assertSameStep(loaded, prepared, inputs(graph, random));
              }
              for (Value variable : prepared.plan().graph().variables()) {
                String name = variable.name();
                assertThat(loaded.variable(name).bitwiseEquals(prepared.variable(name)))
                    .as(name)
                    .isTrue();
              }
            }
          }
        });
  }

  private static void assertSameStep(Engine loaded, Engine prepared, Map<String, Tensor> inputs) {
    Map<String, Tensor> expected = null;
    String failure = "";
    try {
      expected = prepared.run(inputs);
    } catch (NimbleException e) { // contents that no kernel can use
      failure = e.getMessage();
    }
    if (expected == null) {
      assertThatThrownBy(() -> loaded.run(inputs)).hasMessage(failure);
      return;
    }
    Map<String, Tensor> actual = loaded.run(inputs);
    assertThat(actual.keySet()).containsExactlyElementsOf(expected.keySet());
    expected.forEach(
        (name, tensor) ->
            assertThat(actual.get(name).bitwiseEquals(tensor)).as("output %s", name).isTrue());
  }

  @ParameterizedTest
  @EnumSource(RealModels.class)
  void realModelsComputeTheSame(RealModels model) throws Exception {
    Path weights = folder.resolve("models").resolve("model.onnx");
    Files.createDirectories(weights.getParent());
    Files.write(weights, model.bytes());
    Path own = folder.resolve("own.plan");
    Path referring = folder.resolve("referring.plan");
    Graph graph = model.model().graph(model.dimensions(0));
    Map<String, Tensor> inputs =
        RealModels.inputs(
            graph.inputs().stream().collect(Collectors.toMap(Value::name, Value::type)), 1);
    try (Engine prepared = Nimble.prepare(graph, device, EngineOptions.defaults())) {
      prepared.save(own);
      prepared.save(referring, PlanWeights.referencing(weights));
      for (Path file : new Path[] {own, referring}) {
        try (Engine loaded = Nimble.load(file, device)) {
          PlanText.assertEqual(loaded.plan(), prepared.plan());
          assertSameStep(loaded, prepared, inputs);
          loaded.save(folder.resolve("again.plan"));
          assertThat(folder.resolve("again.plan")).hasSameBinaryContentAs(own);
        }
      }
    }
    System.out.printf(
        "%s: model %,d bytes, plan %,d, plan with weights by reference %,d%n",
        model, Files.size(weights), Files.size(own), Files.size(referring));
    assertThat(Files.size(referring)).isLessThan(Files.size(own));
  }
}
