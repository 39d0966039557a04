package dev.nimble.buffer;

/**
 * A run of bytes within one region of an engine's memory.
 *
 * @param region which region
 * @param offset the first byte, a multiple of {@link #ALIGNMENT}
 * @param size the number of bytes; may be 0
 */
public record Slice(Region region, long offset, long size) {
  /** Every slice starts at a multiple of this many bytes. */
  public static final int ALIGNMENT = 256;

  /** The regions of an engine's memory; each is one contiguous range of bytes. */
  public enum Region {
    /** Intermediate values and workspaces, reused within a step. */
    ARENA,
    /** Graph inputs, kept until the caller changes them. */
    INPUT,
    /** Graph outputs, kept until the next step. */
    OUTPUT,
    /** Constants. */
    CONSTANT,
    /** Variables, kept across steps. */
    VARIABLE
  }

  /** One past the last byte. */
  public long end() {
    return offset + size;
  }

  /** Whether some byte belongs to both; an empty slice overlaps nothing. */
  public boolean overlaps(Slice other) {
    return region == other.region
        && size > 0
        && other.size > 0
        && offset < other.end()
        && other.offset < end();
  }

  /** For example {@code ARENA[512, 1024)}. */
  @Override
  public String toString() {
    return region + "[" + offset + ", " + end() + ")";
  }
}
