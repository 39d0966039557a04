package dev.nimble.onnx;

import com.google.common.collect.ImmutableList;
import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.Value;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The names that the nodes of one graph can see: its own, and those of the graph around it. */
final class Scope {
  private final @Nullable Scope outer;
  private final Map<String, Value> values = new HashMap<>();

  /** Sequences exist only while a graph is built: here they are lists of values. */
  private final Map<String, ImmutableList<Value>> sequences = new HashMap<>();

  /** Outputs that have no value here, by name: an error only where one is read. */
  private final Map<String, String> absent = new HashMap<>();

  Scope(@Nullable Scope outer) {
    this.outer = outer;
  }

  /** Whether there is a graph around this one. */
  boolean isNested() {
    return outer != null;
  }

  boolean sees(String name) {
    return defines(name) || (outer != null && outer.sees(name));
  }

  /** Whether this graph itself defines {@code name}. */
  boolean defines(String name) {
    return values.containsKey(name) || sequences.containsKey(name);
  }

  void define(String name, Value value) {
    checkNew(name);
    values.put(name, value);
  }

  void define(String name, ImmutableList<Value> sequence) {
    checkNew(name);
    sequences.put(name, sequence);
  }

  private void checkNew(String name) {
    if (defines(name)) {
      throw new InvalidModelException("two values are named '" + name + "'");
    }
  }

  /** The sequence of that name, or null if it is none. */
  @Nullable ImmutableList<Value> sequence(String name) {
    ImmutableList<Value> own = sequences.get(name);
    return own == null && outer != null && !defines(name) ? outer.sequence(name) : own;
  }

  /** Says why {@code name} has no value. */
  void leaveOut(String name, String why) {
    absent.put(name, why);
  }

  /** The value of that name; fails if there is none. */
  Value find(String name, String role) {
    Value value = values.get(name);
    if (value != null) {
      return value;
    }
    if (sequence(name) != null) {
      throw new InvalidModelException(role + " '" + name + "' is a sequence, not a tensor");
    }
    String why = absent.get(name);
    if (why == null && outer != null) {
      return outer.find(name, role);
    }
    throw new InvalidModelException(
        why == null ? role + " '" + name + "' is not computed by any node" : why);
  }
}
