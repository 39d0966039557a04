package dev.nimble.device;

import com.google.common.collect.ImmutableSet;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The buffers of one recording's inputs and outputs, for the implementations of devices. */
public final class BoundBuffers {
  private final List<@Nullable Tensor> inputs;
  private final List<@Nullable Tensor> outputs;
  private final Map<Value, DeviceBuffer> resident = new LinkedHashMap<>();

  /**
   * Makes the buffers of {@code graph}.
   *
   * @param residents the inputs and outputs that stay on the device
   * @param input makes the host's side of one that does not
   * @param output likewise
   * @param buffer makes the device's side of one that does
   * @throws InvalidArgumentException if a resident is neither an input nor an output
   */
  public BoundBuffers(
      Graph graph,
      ImmutableSet<Value> residents,
      Function<Value, Tensor> input,
      Function<Value, Tensor> output,
      Function<Value, DeviceBuffer> buffer) {
    for (Value value : residents) {
      if (!graph.inputs().contains(value) && !graph.outputs().contains(value)) {
        throw new InvalidArgumentException(
            value + " is neither an input nor an output, and cannot be resident");
      }
      resident.put(value, buffer.apply(value));
    }
    this.inputs = copied(graph.inputs(), input);
    this.outputs = copied(graph.outputs(), output);
  }

  private List<@Nullable Tensor> copied(List<Value> values, Function<Value, Tensor> made) {
    List<@Nullable Tensor> tensors = new ArrayList<>();
    for (Value value : values) {
      tensors.add(resident.containsKey(value) ? null : made.apply(value));
    }
    return tensors;
  }

  /** As {@link Recording#input}. */
  public Tensor input(int index) {
    return at(inputs, index, "input");
  }

  /** As {@link Recording#output}. */
  public Tensor output(int index) {
    return at(outputs, index, "output");
  }

  private static Tensor at(List<@Nullable Tensor> all, int index, String what) {
    if (index < 0 || index >= all.size()) {
      throw new InvalidArgumentException(
          "there is no " + what + " " + index + "; the recording has " + all.size());
    }
    Tensor tensor = all.get(index);
    if (tensor == null) {
      throw new InvalidArgumentException(
          what + " " + index + " is resident on the device; use its resident buffer");
    }
    return tensor;
  }

  /** As {@link Recording#resident}. */
  public DeviceBuffer resident(Value value) {
    DeviceBuffer buffer = resident.get(value);
    if (buffer == null) {
      throw new InvalidArgumentException(
          value + " is not resident on the device; steps copy it, or it is no input or output");
    }
    return buffer;
  }
}
