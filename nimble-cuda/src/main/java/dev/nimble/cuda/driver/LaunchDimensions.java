package dev.nimble.cuda.driver;

/**
 * How many blocks of how many threads a launch has.
 *
 * @param gridX blocks along x, at least 1
 * @param gridY blocks along y, 1 to 65,535
 * @param gridZ blocks along z, 1 to 65,535
 * @param blockX threads of a block along x
 * @param blockY threads of a block along y; x times y is at most 1,024
 * @param sharedMemoryBytes dynamic shared memory of a block
 */
public record LaunchDimensions(
    int gridX, int gridY, int gridZ, int blockX, int blockY, int sharedMemoryBytes) {
  private static final int BLOCK = 256;
  private static final int MOST_BLOCKS = 1 << 20;

  /** Blocks along x only. */
  public static LaunchDimensions of(int blocks, int threads) {
    return new LaunchDimensions(blocks, 1, 1, threads, 1, 0);
  }

  /**
   * Enough threads for {@code elements}, one each, in blocks of 256; for kernels that step by the
   * whole grid until all elements are done.
   */
  public static LaunchDimensions forElements(long elements) {
    long blocks = Math.max(1, (elements + BLOCK - 1) / BLOCK);
    return of((int) Math.min(blocks, MOST_BLOCKS), BLOCK);
  }
}
