package dev.nimble.buffer;

/**
 * How a launch uses some bytes.
 *
 * @param access read, write, update in place, or scratch
 * @param slice the bytes
 */
public record BufferUse(Access access, Slice slice) {
  /** The ways to use bytes. */
  public enum Access {
    /** Contents are read and not changed. */
    READ,
    /** Every byte is written; old contents are not read. */
    WRITE,
    /** A variable is read and updated in place. */
    UPDATE,
    /** Written and read back; meaningless before and after. */
    SCRATCH
  }
}
