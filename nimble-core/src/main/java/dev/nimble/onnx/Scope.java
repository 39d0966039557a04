package dev.nimble.onnx;

import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.Value;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The names that the nodes of one graph can see: its own, and those of the graph around it. */
final class Scope {
  private final @Nullable Scope outer;
  private final Map<String, Value> values = new HashMap<>();

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
    return values.containsKey(name) || (outer != null && outer.sees(name));
  }

  /** Whether this graph itself defines {@code name}. */
  boolean defines(String name) {
    return values.containsKey(name);
  }

  void define(String name, Value value) {
    if (values.put(name, value) != null) {
      throw new InvalidModelException("two values are named '" + name + "'");
    }
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
    String why = absent.get(name);
    if (why == null && outer != null) {
      return outer.find(name, role);
    }
    throw new InvalidModelException(
        why == null ? role + " '" + name + "' is not computed by any node" : why);
  }
}
