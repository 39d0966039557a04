package dev.nimble.planfile;

import static org.assertj.core.api.Assertions.assertThat;

import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Value;
import dev.nimble.plan.ExecutionPlan;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * All of a plan but the contents of its weights, as lines of text: two plans are equal if these
 * are.
 */
final class PlanText {
  private PlanText() {}

  static List<String> of(ExecutionPlan plan) {
    List<String> lines = new ArrayList<>();
    Graph graph = plan.graph();
    lines.add("graph " + graph.name());
    for (Value value : graph.values()) {
      lines.add(
          value.id()
              + " "
              + value.kind()
              + " "
              + value
              + " "
              + id(value.producer())
              + " "
              + value.outputIndex()
              + " in "
              + plan.sliceOf(value));
    }
    for (Node node : graph.nodes()) {
      lines.add(
          node.id()
              + " "
              + node
              + " "
              + node.inputs().stream().map(Value::id).toList()
              + node.outputs()
              + " kernel "
              + plan.kernels().of(node)
              + " workspace "
              + plan.memory().workspaceOf(node)
              + " predecessors "
              + Arrays.toString(graph.predecessorIds()[node.id()]));
    }
    lines.add(graph.inputs() + " " + graph.variables() + " " + graph.outputNames());
    lines.add("outputs " + graph.outputs().stream().map(Value::id).toList());
    lines.add("kernels " + plan.kernels().device());
    lines.add(plan.schedule().toString().replace(graph.toString(), ""));
    lines.add(plan.memory().toString());
    lines.add("views " + plan.memory().views());
    lines.add(plan.streams() + " streams, " + plan.events() + " events");
    plan.commands().forEach(command -> lines.add(command.toString()));
    return lines;
  }

  private static int id(@org.jspecify.annotations.Nullable Node node) {
    return node == null ? -1 : node.id();
  }

  /** Asserts that two plans are equal, weights included, and share no object of their graphs. */
  static void assertEqual(ExecutionPlan actual, ExecutionPlan expected) {
    assertThat(of(actual)).isEqualTo(of(expected));
    for (Value value : expected.graph().values()) {
      Value other = actual.graph().values().get(value.id());
      assertThat(other).isNotSameAs(value);
      if (value.kind() == Value.Kind.CONSTANT || value.kind() == Value.Kind.VARIABLE) {
        assertThat(other.contents().bitwiseEquals(value.contents())).as("%s", value).isTrue();
      }
    }
    assertThat(actual.explain()).isEqualTo(expected.explain());
  }
}
