package dev.nimble.error;

import org.jspecify.annotations.Nullable;

/**
 * The root of every exception that this library throws on purpose. Its message is one line: the
 * {@linkplain #location() place}, what is wrong, and where possible what to do about it.
 */
public abstract class NimbleException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final transient Location location;
  private final String what;

  NimbleException(String what, Location location, @Nullable Throwable cause) {
    super(oneLine(location.toString().isEmpty() ? what : location + ": " + what), cause);
    this.what = what;
    this.location = location;
  }

  /** Where it was found; {@link Location#NOWHERE} after deserialisation. */
  public final Location location() {
    Location known = location;
    return known == null ? Location.NOWHERE : known;
  }

  /** What is wrong, without the place. */
  public final String what() {
    return what;
  }

  private static String oneLine(String message) {
    return message.replaceAll("\\s*[\\r\\n]+\\s*", " ");
  }
}
