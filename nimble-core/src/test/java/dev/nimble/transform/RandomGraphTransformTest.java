package dev.nimble.transform;

import static org.assertj.core.api.Assertions.assertThat;

import dev.nimble.graph.DataType;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import dev.nimble.testkit.RandomGraphs;
import dev.nimble.testkit.RandomTensors;
import dev.nimble.testkit.ReferenceExecutor;
import dev.nimble.testkit.Seeds;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Rewritten graphs equal the graphs they were made from, over several steps, variables included.
 */
class RandomGraphTransformTest {
  private static final Set<Pass> REASSOCIATING =
      EnumSet.of(Pass.PATTERNS, Pass.CONV_BATCH_NORM, Pass.EPILOGUES);
  private static final int STEPS = 3;

  @ParameterizedTest
  @EnumSource(Pass.class)
  void eachPassKeepsResults(Pass pass) {
    int[] changed = {0};
    Seeds.forEach(
        150,
        (random, seed) -> {
          boolean exact = !REASSOCIATING.contains(pass);
          Graph graph = RandomGraphs.of(random, style(random, exact));
          Graph rewritten = pass.apply(graph);
          changed[0] += rewritten == graph ? 0 : 1;
          assertEqualResults(graph, rewritten, exact, random);
          assertSettles(pass, rewritten);
        });
    if (Long.getLong("nimble.seed") == null) {
      assertThat(changed[0]).as("graphs that " + pass + " changed").isGreaterThan(10);
    }
  }

  /** A pass may find more after itself, but soon nothing. */
  private static void assertSettles(Pass pass, Graph graph) {
    Graph current = graph;
    for (int i = 0; i < 4; i++) {
      current = pass.apply(current);
    }
    assertThat(pass.apply(current)).as("%s again on\n%s", pass, current).isSameAs(current);
  }

  @Test
  void anyChoiceOfPassesKeepsResults() {
    Seeds.forEach(
        300,
        (random, seed) -> {
          Transforms chosen = Transforms.all();
          for (Pass pass : Pass.values()) {
            chosen = random.nextBoolean() ? chosen.without(pass) : chosen;
          }
          boolean exact = chosen.passes().stream().noneMatch(REASSOCIATING::contains);
          Graph graph = RandomGraphs.of(random, style(random, exact));
          Graph rewritten = chosen.apply(graph);
          assertEqualResults(graph, rewritten, exact, random);
          assertThat(chosen.apply(rewritten)).as("%s again", chosen).isSameAs(rewritten);
        });
  }

  @Test
  void outputCopiesKeepEveryBit() {
    Seeds.forEach(
        200,
        (random, seed) -> {
          Graph graph = RandomGraphs.of(random, style(random, true));
          Graph copied = OutputCopies.apply(graph);
          assertEqualResults(graph, copied, true, random);
          assertThat(copied.outputs())
              .doesNotHaveDuplicates()
              .allMatch(output -> output.kind() == Value.Kind.RESULT);
          assertThat(OutputCopies.apply(copied)).isSameAs(copied);
        });
  }

  @Test
  void allPassesTogetherKeepResults() {
    Seeds.forEach(
        200,
        (random, seed) -> {
          Graph graph = RandomGraphs.of(random, style(random, false));
          assertEqualResults(graph, Transforms.all().apply(graph), false, random);
        });
  }

  @Test
  void exactPassesTogetherKeepEveryBit() {
    Transforms exact = Transforms.all().without(REASSOCIATING.toArray(new Pass[0]));
    Seeds.forEach(
        200,
        (random, seed) -> {
          Graph graph = RandomGraphs.of(random, style(random, true));
          assertEqualResults(graph, exact.apply(graph), true, random);
          assertEqualResults(graph, Transforms.unfused().apply(graph), true, random);
        });
  }

  @Test
  void applyingAgainChangesNothing() {
    Seeds.forEach(
        100,
        (random, seed) -> {
          Graph once = Transforms.all().apply(RandomGraphs.of(random, style(random, true)));
          Graph twice = Transforms.all().apply(once);
          assertThat(twice).as(once + "\nagain:\n" + twice).isSameAs(once);
        });
  }

  private static RandomGraphs.Style style(Random random, boolean jumps) {
    DataType[] types = {DataType.F32, DataType.F32, DataType.F64, DataType.F16};
    DataType type = types[random.nextInt(jumps ? 4 : 3)];
    return new RandomGraphs.Style(1 + random.nextInt(40), jumps, random.nextBoolean(), type);
  }

  private static void assertEqualResults(
      Graph graph, Graph rewritten, boolean exact, Random random) {
    assertThat(rewritten.outputNames()).isEqualTo(graph.outputNames());
    assertThat(names(rewritten.inputs())).isEqualTo(names(graph.inputs()));
    assertThat(names(rewritten.variables())).isEqualTo(names(graph.variables()));
    ReferenceExecutor original = new ReferenceExecutor(graph);
    ReferenceExecutor transformed = new ReferenceExecutor(rewritten);
    for (int step = 0; step < STEPS; step++) {
      List<Tensor> inputs = RandomGraphs.inputs(graph, random);
      assertEqual(original.step(inputs), transformed.step(inputs), exact, graph, rewritten);
    }
    assertEqual(original.variables(), transformed.variables(), exact, graph, rewritten);
  }

  private static List<String> names(List<Value> values) {
    return values.stream().map(Value::toString).toList();
  }

  private static void assertEqual(
      List<Tensor> expected, List<Tensor> actual, boolean exact, Graph graph, Graph rewritten) {
    for (int i = 0; i < expected.size(); i++) {
      String place = "result " + i + " of\n" + graph + "\nbecame\n" + rewritten;
      if (exact) {
        assertThat(actual.get(i).bitwiseEquals(expected.get(i)))
            .as("%s: %s, not %s", place, actual.get(i), expected.get(i))
            .isTrue();
      } else {
        assertThat(RandomTensors.largestDifference(actual.get(i), expected.get(i)))
            .as(place)
            .isLessThan(1e-4);
      }
    }
  }
}
