package dev.nimble.planfile;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.google.common.collect.ImmutableSortedMap;
import dev.nimble.Engine;
import dev.nimble.EngineOptions;
import dev.nimble.Nimble;
import dev.nimble.device.Device;
import dev.nimble.device.cpu.CpuDeviceProvider;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.error.InvalidPlanException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.Binary;
import dev.nimble.op.BinaryFunction;
import dev.nimble.op.KernelChoice;
import dev.nimble.op.KernelChoices;
import dev.nimble.op.MatMul;
import dev.nimble.op.ResourceDemand;
import dev.nimble.op.Unary;
import dev.nimble.op.UnaryFunction;
import dev.nimble.plan.Command;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.plan.Tuning;
import dev.nimble.testkit.RandomPlans;
import dev.nimble.transform.Transforms;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files that are no plan, are damaged, or were made elsewhere: each error names file and fault. */
class DamagedFileTest {
  @TempDir private Path folder = Path.of(".");
  private Path file = Path.of("some.plan");
  private final Device device = new CpuDeviceProvider(2).open(0);

  @BeforeEach
  void nameFile() {
    file = folder.resolve("some.plan");
  }

  @AfterEach
  void nothingIsLeaked() throws IOException {
    assertThat(device.openResources()).isZero();
    device.close();
    try (var left = Files.list(folder)) {
      assertThat(left.filter(f -> f.getFileName().toString().startsWith(".")))
          .as("unfinished files")
          .isEmpty();
    }
  }

  /** Two branches and weights: y = tanh(x w) + sin(x) + c. */
  private static Graph graph() {
    Random random = new Random(1);
    float[] weights = new float[16];
    for (int i = 0; i < weights.length; i++) {
      weights[i] = random.nextFloat();
    }
    GraphBuilder g = new GraphBuilder("small");
    Value x = g.input("x", TensorType.f32(4, 4));
    Value w = g.constant("w", Tensor.of(Shape.of(4, 4), weights));
    Value a = g.apply(Unary.of(UnaryFunction.TANH), g.apply(new MatMul(null), x, w));
    Value b = g.apply(Unary.of(UnaryFunction.SIN), x);
    Value c = g.constant("c", Tensor.of(Shape.of(1), 3));
    Binary add = new Binary(BinaryFunction.ADD);
    return g.output("y", g.apply(add, g.apply(add, a, b), c)).build();
  }

  private ExecutionPlan plan() {
    return Nimble.plan(graph(), device, EngineOptions.defaults().withTransforms(Transforms.none()));
  }

  private byte[] saved() throws IOException {
    PlanFile.write(file, new SavedPlan(plan(), "cpu", Tuning.NONE), PlanWeights.inline());
    return Files.readAllBytes(file);
  }

  private void assertRefused(byte[] bytes, String... parts) throws IOException {
    Files.write(file, bytes);
    assertRefused(parts);
  }

  private void assertRefused(String... parts) {
    assertThatThrownBy(() -> Nimble.load(file, device).close())
        .isInstanceOf(InvalidPlanException.class)
        .hasMessageContaining("some.plan")
        .hasMessageContainingAll(parts);
  }

  @Test
  void whatIsNoPlanFileIsSaidToBeNone() throws IOException {
    assertRefused("there is no such file");
    assertRefused(new byte[0], "is empty");
    assertRefused("this is no plan".getBytes(StandardCharsets.UTF_8), "is not a plan file");
    assertRefused(new byte[10_000], "is not a plan file");
    byte[] bytes = saved();
    assertRefused(
        new String(bytes, StandardCharsets.ISO_8859_1)
            .replace("\r\n", "\n")
            .getBytes(StandardCharsets.ISO_8859_1),
        "text-mode transfer");
    Files.delete(file);
    Files.createDirectory(file);
    assertRefused("is not a file");
  }

  @Test
  void everyTruncationIsFound() throws IOException {
    byte[] bytes = saved();
    for (int length = 8; length < bytes.length; length++) {
      assertRefused(Arrays.copyOf(bytes, length), "truncated");
    }
    assertRefused(Arrays.copyOf(bytes, bytes.length + 1), "has bytes added to it");
  }

  @Test
  void everyChangedByteIsFound() throws IOException {
    byte[] bytes = saved();
    for (int i = 0; i < bytes.length; i++) {
      byte[] changed = bytes.clone();
      changed[i] ^= (byte) (1 << i % 8);
      assertRefused(changed, i < 8 ? "" : i < 12 ? "version" : "damaged");
    }
    byte[] weights = bytes.clone();
    weights[bytes.length - 5] ^= 1;
    assertRefused(weights, "damaged", "weights", "checksum");
    weights = bytes.clone();
    weights[100] ^= 1;
    assertRefused(weights, "damaged", "structure", "checksum");
  }

  @Test
  void anotherVersionIsNamed() throws IOException {
    byte[] bytes = saved();
    bytes[8] = 2;
    PlanBytes.seal(bytes);
    assertRefused(bytes, "version 2", "reads version 1");
  }

  @Test
  void anotherDeviceIsNamed() {
    PlanFile.write(
        file, new SavedPlan(plan(), "abacus 12 beads", Tuning.NONE), PlanWeights.inline());
    assertRefused("'abacus 12 beads'", "'cpu'");
    assertThatThrownBy(() -> Nimble.load(file).close())
        .isInstanceOf(InvalidPlanException.class)
        .hasMessageContainingAll("some.plan", "'abacus 12 beads'", "there is no device 'abacus'");
    assertThatThrownBy(() -> Nimble.load(file, "cpu").close())
        .isInstanceOf(InvalidPlanException.class)
        .hasMessageContainingAll("some.plan", "'abacus 12 beads'", "'cpu'");
  }

  @Test
  void aLoadedEngineClosesTheDeviceThatItOpened() {
    PlanFile.write(file, new SavedPlan(plan(), "cpu", Tuning.NONE), PlanWeights.inline());
    try (Engine engine = Nimble.load(file)) {
      Map<String, Tensor> outputs = engine.run(Map.of("x", Tensor.zeros(TensorType.f32(4, 4))));
      assertThat(outputs.get("y").floats().get(0)).isEqualTo(3);
      assertThat(engine.capturedGraph()).isSameAs(engine.plan().graph());
    }
  }

  @Test
  void otherKernelsAreNamed() {
    ExecutionPlan plan = plan();
    KernelChoices others =
        KernelChoices.of(
            "cpu", plan.graph(), n -> KernelChoice.of("of the future", ResourceDemand.NONE));
    ExecutionPlan changed =
        new ExecutionPlan(
            plan.graph(),
            others,
            plan.schedule(),
            dev.nimble.memory.MemoryPlanner.plan(plan.graph(), others, plan.schedule()),
            plan.streams(),
            plan.events(),
            plan.commands());
    ExecutionPlan assembled =
        dev.nimble.plan.PlanAssembler.assemble(
            plan.graph(), others, plan.schedule(), changed.memory());
    PlanFile.write(file, new SavedPlan(assembled, "cpu", Tuning.NONE), PlanWeights.inline());
    assertRefused("node 'MatMul'", "'of the future'");
  }

  @Test
  void plansThatAreNotSafeAreRefused() {
    ExecutionPlan plan = plan();
    assertThat(plan.streams()).isEqualTo(2);
    List<Command> unordered =
        plan.commands().stream().filter(c -> !(c instanceof Command.WaitEvent)).toList();
    PlanFile.write(
        file,
        new SavedPlan(RandomPlans.withCommands(plan, unordered), "cpu", Tuning.NONE),
        PlanWeights.inline());
    assertRefused("not safe to run", "may start before");
  }

  @Test
  void tuningIsCheckedAndThatOfAnotherMachineIsNotUsed() {
    for (String wrong : List.of("", "0", "0 2", "0 1 0", "0 -1", "0 x", "0 99999999999")) {
      Tuning tuning = new Tuning(ImmutableSortedMap.of("cpu.placement", wrong, "cpu.workers", "2"));
      PlanFile.write(file, new SavedPlan(plan(), "cpu", tuning), PlanWeights.inline());
      assertRefused("cpu.placement", "2 streams", "2 workers");
    }
    Tuning elsewhere =
        new Tuning(ImmutableSortedMap.of("cpu.placement", "0 7", "cpu.workers", "8"));
    PlanFile.write(file, new SavedPlan(plan(), "cpu", elsewhere), PlanWeights.inline());
    Nimble.load(file, device).close();
  }

  // Weights in another file.

  private Path referring() throws IOException {
    Path weights = folder.resolve("weights.bin");
    byte[] bytes = new byte[1000];
    new Random(5).nextBytes(bytes);
    graph().valueNamed("w").contents().bytes().duplicate().get(bytes, 321, 64);
    Files.write(weights, bytes);
    PlanFile.write(
        file, new SavedPlan(plan(), "cpu", Tuning.NONE), PlanWeights.referencing(weights));
    return weights;
  }

  @Test
  void weightsAreFoundInTheOtherFileWhereverItLies() throws IOException {
    Path weights = referring();
    PlanText.assertEqual(PlanFile.read(file).plan(), plan());
    Path moved = Files.createDirectory(folder.resolve("moved"));
    Files.move(file, moved.resolve("some.plan"));
    Files.move(weights, moved.resolve("weights.bin"));
    PlanText.assertEqual(PlanFile.read(moved.resolve("some.plan")).plan(), plan());
  }

  @Test
  void changedOrMissingWeightsAreNamed() throws IOException {
    Path weights = referring();
    byte[] bytes = Files.readAllBytes(weights);
    bytes[0] ^= 1; // not used
    Files.write(weights, bytes);
    Nimble.load(file, device).close();
    bytes[321] ^= 1;
    Files.write(weights, bytes);
    assertRefused("'weights.bin' is not the file that it was saved with", "321");
    Files.write(weights, Arrays.copyOf(bytes, 350));
    assertRefused("weights in 'weights.bin' are missing", "321", "385", "350");
    Files.delete(weights);
    assertRefused("'weights.bin'", "not there");
    Files.createDirectory(weights);
    assertRefused("'weights.bin'", "not there");
  }

  @Test
  void weightsOutsideTheFolderAreNeverRead() throws IOException {
    Path weights = referring();
    PlanBytes bytes = PlanBytes.of(Files.readAllBytes(file));
    String structure = new String(bytes.structure(), StandardCharsets.ISO_8859_1);
    for (String path : List.of("../abc/x.bi", "/etc/passwd", "a/../../b.c", "a/../../../")) {
      assertThat(path).hasSize("weights.bin".length());
      byte[] other = structure.replace("weights.bin", path).getBytes(StandardCharsets.ISO_8859_1);
      assertRefused(bytes.withStructure(other).toFile(), "outside its own folder");
    }
    byte[] nul =
        structure.replace("weights.bin", "weights\0bin").getBytes(StandardCharsets.ISO_8859_1);
    assertRefused(bytes.withStructure(nul).toFile(), "impossible name");
    Path outside = Files.createTempFile("nimble", ".bin");
    try {
      Files.copy(weights, outside, java.nio.file.StandardCopyOption.REPLACE_EXISTING);
      Files.delete(weights);
      Files.write(file, bytes.toFile());
      try {
        Files.createSymbolicLink(weights, outside);
      } catch (IOException | UnsupportedOperationException e) {
        assumeTrue(false, "no symbolic links here");
      }
      assertRefused("link out of its own folder");
      assertThatThrownBy(
              () ->
                  PlanFile.write(
                      file,
                      new SavedPlan(plan(), "cpu", Tuning.NONE),
                      PlanWeights.referencing(outside)))
          .isInstanceOf(InvalidArgumentException.class)
          .hasMessageContainingAll("some.plan", outside.toString(), "in the plan file's folder");
    } finally {
      Files.delete(outside);
    }
  }

  @Test
  void whatCannotBeWrittenIsNamed() throws IOException {
    SavedPlan saved = new SavedPlan(plan(), "cpu", Tuning.NONE);
    Path nowhere = folder.resolve("none").resolve("a.plan");
    assertThatThrownBy(() -> PlanFile.write(nowhere, saved, PlanWeights.inline()))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessageContainingAll("a.plan", "there is no folder");
    assertThatThrownBy(() -> PlanFile.write(folder, saved, PlanWeights.inline()))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessageContaining("is a folder");
    Path none = folder.resolve("none.bin");
    assertThatThrownBy(() -> PlanFile.write(file, saved, PlanWeights.referencing(none)))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessageContainingAll("no weights file", "none.bin");
    byte[] before = saved();
    assertThatThrownBy(() -> PlanFile.write(file, saved, PlanWeights.referencing(file)))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessageContaining("another file");
    assertThat(file).hasBinaryContent(before);
    PlanFile.write(file, saved, PlanWeights.inline());
    assertThat(file).as("replaced").hasBinaryContent(before);
  }

  @Test
  void limitsAreKept() throws IOException {
    saved();
    PlanLimits limits = PlanLimits.defaults();
    for (PlanLimits strict :
        List.of(
            limits.withNodes(4),
            limits.withStructureBytes(100),
            limits.withWeightBytes(67),
            limits.withVerificationBytes(31))) {
      assertThatThrownBy(() -> PlanFile.read(file, strict))
          .isInstanceOf(InvalidPlanException.class)
          .hasMessageContaining("some.plan")
          .hasMessageContaining("more than");
    }
    PlanFile.read(file, new PlanLimits(10_000, 5, 68, 32));
  }

  @Test
  void enginesThatAreClosedSaveNothing() {
    Engine engine = Nimble.prepare(graph(), device, EngineOptions.defaults());
    engine.close();
    assertThatThrownBy(() -> engine.save(file))
        .isInstanceOf(InvalidArgumentException.class)
        .hasMessageContaining("closed");
    assertThat(file).doesNotExist();
  }
}
