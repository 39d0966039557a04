package dev.nimble.verify;

import dev.nimble.error.InvalidPlanException;
import dev.nimble.error.Location;
import dev.nimble.graph.Node;
import java.util.ArrayList;
import java.util.List;

/** What was found wrong with a plan: the first few in words, the rest counted. */
final class Violations {
  private static final int NAMED = 8;

  private final List<String> named = new ArrayList<>();
  private Location first = Location.NOWHERE;
  private int count;

  /** Notes a violation at {@code node}. */
  void add(Node node, String what) {
    if (count == 0) {
      first = node.location();
    }
    add("node '" + node.name() + "' " + what);
  }

  /** Notes a violation that belongs to no node. */
  void add(String what) {
    count++;
    if (named.size() < NAMED) {
      named.add(what);
    }
  }

  boolean isEmpty() {
    return count == 0;
  }

  /** Throws if there is any. */
  void check() {
    if (count > 0) {
      String rest = count > named.size() ? "; and " + (count - named.size()) + " more" : "";
      throw new InvalidPlanException(
          "the plan is not safe to run, "
              + count
              + (count == 1 ? " violation: " : " violations: ")
              + String.join("; ", named)
              + rest,
          first);
    }
  }
}
