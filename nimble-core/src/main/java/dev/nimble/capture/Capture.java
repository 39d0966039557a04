package dev.nimble.capture;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.GraphBuilder;
import dev.nimble.graph.Operand;
import dev.nimble.graph.TensorType;
import dev.nimble.jfr.CaptureEvent;
import dev.nimble.op.OperatorExecutor;
import java.util.ArrayList;
import java.util.List;

/**
 * A model with the names and types of its inputs: what is needed to trace it into a {@link Graph},
 * or to run it eagerly. Immutable; each method returns a changed capture.
 *
 * <p>A model may return an input, a parameter, a constant, or one value several times, and may
 * ignore inputs. In inference learned parameters and buffers become constants; {@linkplain
 * #training() in training} they become variables; state is always a variable. Only those that the
 * model uses are part of the graph.
 */
public final class Capture {
  private final String name;
  private final Model model;
  private final ImmutableMap<String, TensorType> inputs;
  private final ImmutableList<String> outputs;
  private final boolean training;

  private Capture(
      String name,
      Model model,
      ImmutableMap<String, TensorType> inputs,
      ImmutableList<String> outputs,
      boolean training) {
    this.name = name;
    this.model = model;
    this.inputs = inputs;
    this.outputs = outputs;
    this.training = training;
  }

  /** A model without inputs, captured for inference; the graph is named after its class. */
  public static Capture of(Model model) {
    String name = model instanceof Module ? ((Module) model).kind() : "model";
    return of(name, model);
  }

  /** As {@link #of(Model)}, with a name for the graph. */
  public static Capture of(String name, Model model) {
    return new Capture(name, model, ImmutableMap.of(), ImmutableList.of(), false);
  }

  /**
   * With a further input.
   *
   * @throws InvalidArgumentException if there is one of that name
   */
  public Capture input(String inputName, TensorType type) {
    if (inputs.containsKey(inputName)) {
      throw new InvalidArgumentException("two inputs are named '" + inputName + "'");
    }
    ImmutableMap<String, TensorType> more =
        ImmutableMap.<String, TensorType>builder().putAll(inputs).put(inputName, type).build();
    return new Capture(name, model, more, outputs, training);
  }

  /**
   * With names for the outputs. Without them the only output is {@code output}, and several are
   * {@code output0, output1, ...}.
   */
  public Capture outputs(String... names) {
    return new Capture(name, model, inputs, ImmutableList.copyOf(names), training);
  }

  /** For training: learned parameters and buffers become variables, and modules are told. */
  public Capture training() {
    return new Capture(name, model, inputs, outputs, true);
  }

  /** The inputs by name. */
  public ImmutableMap<String, TensorType> inputs() {
    return inputs;
  }

  /**
   * Traces the model. Parameters without contents are initialised from seed 0.
   *
   * @throws InvalidModelException if operands do not fit; names the module's path, the operator and
   *     the types
   */
  public Graph graph() {
    CaptureEvent event = CaptureEvent.start();
    initialise();
    GraphBuilder builder = new GraphBuilder(name);
    TracingOps ops = new TracingOps(builder, new Paths(model), training);
    List<Operand> given = new ArrayList<>();
    inputs.forEach((inputName, type) -> given.add(builder.input(inputName, type)));
    List<Operand> results = model.run(ops, given);
    List<String> names = outputNames(results.size());
    for (int i = 0; i < results.size(); i++) {
      ops.output(names.get(i), results.get(i));
    }
    Graph graph = builder.build();
    event.done("java", name, graph.nodes().size());
    return graph;
  }

  /**
   * Prepares eager execution, which takes over {@code executor}: closing the result closes it.
   * Parameters without contents are initialised from seed 0.
   */
  public Eager eager(OperatorExecutor executor) {
    initialise();
    return new Eager(this, model, new EagerOps(executor, new Paths(model), training), executor);
  }

  private void initialise() {
    if (model instanceof Module) {
      ((Module) model).initialise(0);
    }
  }

  /** The names of that many outputs. */
  List<String> outputNames(int count) {
    if (!outputs.isEmpty() && outputs.size() != count) {
      throw new InvalidModelException(
          name + " has " + count + " outputs, but " + outputs.size() + " names: " + outputs);
    }
    if (!outputs.isEmpty()) {
      return outputs;
    }
    if (count == 1) {
      return List.of("output");
    }
    List<String> names = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      names.add("output" + i);
    }
    return names;
  }

  @Override
  public String toString() {
    return name + inputs + (training ? " for training" : "");
  }
}
