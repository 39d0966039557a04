package dev.nimble.error;

import org.jspecify.annotations.Nullable;

/**
 * A model, graph or model file is wrong or uses something that is not supported. The user's to
 * mend: the command line exits with 2.
 */
public sealed class InvalidModelException extends NimbleException permits UnknownInputException {
  private static final long serialVersionUID = 1L;

  /** Says {@code what} is wrong, with no place. */
  public InvalidModelException(String what) {
    this(what, Location.NOWHERE, null);
  }

  /** Says {@code what} is wrong at {@code location}. */
  public InvalidModelException(String what, Location location) {
    this(what, location, null);
  }

  /** Says {@code what} is wrong at {@code location}, because of {@code cause}. */
  public InvalidModelException(String what, Location location, @Nullable Throwable cause) {
    super(what, location, cause);
  }

  /** The same error, with the file in which it was found. */
  public final InvalidModelException in(String file) {
    return at(location().withFile(file));
  }

  /** The same error at another place. */
  public InvalidModelException at(Location place) {
    return new InvalidModelException(what(), place, this);
  }
}
