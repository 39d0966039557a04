package dev.nimble.graph;

import org.jspecify.annotations.Nullable;

/**
 * A typed edge source of a {@link Graph}: a graph input, a constant, a variable, or an output of a
 * node. Compared by identity; {@link #id()} is its position in {@link Graph#values()}.
 */
public final class Value implements Operand {
  /** Where a value's contents come from. */
  public enum Kind {
    /** Given by the caller at each step. */
    INPUT,
    /** Fixed when the graph is built. */
    CONSTANT,
    /** Device-resident state that lives across steps and is updated in place. */
    VARIABLE,
    /** Computed by a node. */
    RESULT
  }

  private final int id;
  private final String name;
  private final TensorType type;
  private final Kind kind;
  private final @Nullable Tensor contents;
  private final @Nullable Node producer;
  private final int outputIndex;

  Value(
      int id,
      String name,
      TensorType type,
      Kind kind,
      @Nullable Tensor contents,
      @Nullable Node producer,
      int outputIndex) {
    this.id = id;
    this.name = name;
    this.type = type;
    this.kind = kind;
    this.contents = contents;
    this.producer = producer;
    this.outputIndex = outputIndex;
  }

  /** Position in {@link Graph#values()}. */
  public int id() {
    return id;
  }

  /** A name, unique within the graph. */
  public String name() {
    return name;
  }

  @Override
  public TensorType type() {
    return type;
  }

  /** Where the contents come from. */
  public Kind kind() {
    return kind;
  }

  /**
   * The contents of a constant, or the initial contents of a variable. Shared, not copied: do not
   * modify.
   *
   * @throws IllegalStateException for an input or a result
   */
  public Tensor contents() {
    if (contents == null) {
      throw new IllegalStateException(this + " has no contents before a step");
    }
    return contents;
  }

  /** The node that computes this result; null for an input, constant or variable. */
  public @Nullable Node producer() {
    return producer;
  }

  /** Which output of {@link #producer()} this is; 0 where there is none. */
  public int outputIndex() {
    return outputIndex;
  }

  @Override
  public String toString() {
    return name + ": " + type;
  }
}
