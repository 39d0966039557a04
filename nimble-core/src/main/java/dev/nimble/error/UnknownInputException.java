package dev.nimble.error;

import com.google.common.collect.ImmutableSortedSet;
import org.jspecify.annotations.Nullable;

/**
 * A graph cannot be built because an operand that decides a shape, or which node runs, depends on
 * inputs. It can be built where those are given as constants.
 */
public final class UnknownInputException extends InvalidModelException {
  private static final long serialVersionUID = 1L;

  private final transient @Nullable ImmutableSortedSet<String> inputs;

  /** Says {@code what} depends on the inputs of these names. */
  public UnknownInputException(String what, ImmutableSortedSet<String> inputs) {
    this(what, Location.NOWHERE, null, inputs);
  }

  private UnknownInputException(
      String what,
      Location location,
      @Nullable Throwable cause,
      ImmutableSortedSet<String> inputs) {
    super(what, location, cause);
    this.inputs = inputs;
  }

  /** The names of the inputs; empty after deserialisation. */
  public ImmutableSortedSet<String> inputs() {
    ImmutableSortedSet<String> known = inputs;
    return known == null ? ImmutableSortedSet.of() : known;
  }

  @Override
  public InvalidModelException at(Location place) {
    return new UnknownInputException(what(), place, this, inputs());
  }
}
