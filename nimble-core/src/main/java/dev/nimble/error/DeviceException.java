package dev.nimble.error;

import org.jspecify.annotations.Nullable;

/** A device, its driver or one of its libraries failed. */
public final class DeviceException extends NimbleException {
  private static final long serialVersionUID = 1L;

  /** Says {@code what} failed at {@code location}; {@code cause} may be null. */
  public DeviceException(String what, Location location, @Nullable Throwable cause) {
    super(what, location, cause);
  }

  /** Says {@code what} failed, with no place. */
  public DeviceException(String what) {
    this(what, Location.NOWHERE, null);
  }
}
