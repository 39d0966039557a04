package dev.nimble.error;

import org.jspecify.annotations.Nullable;

/**
 * A call is wrong: an option, the name, type or number of inputs, use after close, or concurrent
 * use. The user's to mend: the command line exits with 2.
 */
public final class InvalidArgumentException extends NimbleException {
  private static final long serialVersionUID = 1L;

  /** Says {@code what} is wrong, with no place. */
  public InvalidArgumentException(String what) {
    this(what, Location.NOWHERE, null);
  }

  /** Says {@code what} is wrong at {@code location}. */
  public InvalidArgumentException(String what, Location location) {
    this(what, location, null);
  }

  /** Says {@code what} is wrong at {@code location}, because of {@code cause}. */
  public InvalidArgumentException(String what, Location location, @Nullable Throwable cause) {
    super(what, location, cause);
  }
}
