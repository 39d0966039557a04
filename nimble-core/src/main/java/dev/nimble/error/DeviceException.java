package dev.nimble.error;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A device, its driver or one of its libraries failed. */
public final class DeviceException extends NimbleException {
  private static final long serialVersionUID = 1L;

  private final transient @Nullable LibraryError libraryError;

  /** Says {@code what} failed at {@code location}; {@code cause} may be null. */
  public DeviceException(String what, Location location, @Nullable Throwable cause) {
    super(what, location, cause);
    this.libraryError =
        cause instanceof DeviceException ? ((DeviceException) cause).libraryError : null;
  }

  /** Says {@code what} failed, with no place. */
  public DeviceException(String what) {
    this(what, Location.NOWHERE, null);
  }

  /** Says that a call of a native library failed; {@code advice} may be empty. */
  public DeviceException(LibraryError error, String advice) {
    super(advice.isEmpty() ? error.toString() : error + ": " + advice, Location.NOWHERE, null);
    this.libraryError = error;
  }

  /** This failure, at a place that was not known where it arose. */
  public DeviceException at(Location location) {
    return new DeviceException(what(), location, this);
  }

  /** The native library's error, if one was the reason. */
  public Optional<LibraryError> libraryError() {
    return Optional.ofNullable(libraryError);
  }
}
