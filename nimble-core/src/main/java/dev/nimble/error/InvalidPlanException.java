package dev.nimble.error;

import org.jspecify.annotations.Nullable;

/**
 * An execution plan breaks an invariant: a missing wait, bytes reused too early, a swapped launch.
 * A fault of the planner, never of the model; or, if its place names one, of a plan file: damaged,
 * for another device, or of another version.
 */
public final class InvalidPlanException extends NimbleException {
  private static final long serialVersionUID = 1L;

  /** Says {@code what} is wrong, with no place. */
  public InvalidPlanException(String what) {
    this(what, Location.NOWHERE, null);
  }

  /** Says {@code what} is wrong at {@code location}. */
  public InvalidPlanException(String what, Location location) {
    this(what, location, null);
  }

  /** Says {@code what} is wrong at {@code location}, because of {@code cause}. */
  public InvalidPlanException(String what, Location location, @Nullable Throwable cause) {
    super(what, location, cause);
  }

  /** The same error, with the file in which it was found. */
  public InvalidPlanException in(String file) {
    return new InvalidPlanException(what(), location().withFile(file), this);
  }
}
