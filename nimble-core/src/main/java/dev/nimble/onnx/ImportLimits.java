package dev.nimble.onnx;

/**
 * Bounds on what a model file may ask for, checked before anything is allocated.
 *
 * @param fileBytes size of the file
 * @param nodes number of nodes
 * @param tensorBytes size of any one tensor, constant or computed
 * @param computedBytes size of all tensors together that the importer works out: what
 *     ConstantOfShape and Range become, and what shapes follow from
 * @param rank axes of any one tensor
 * @param nameLength characters of any one name
 * @param nestingDepth nesting of protobuf messages
 */
public record ImportLimits(
    long fileBytes,
    int nodes,
    long tensorBytes,
    long computedBytes,
    int rank,
    int nameLength,
    int nestingDepth) {

  /**
   * 2 GiB files and tensors, a million nodes, 512 MiB worked out, 32 axes, names of 4,096
   * characters, 64 levels.
   */
  public static ImportLimits defaults() {
    return new ImportLimits(
        Integer.MAX_VALUE, 1_000_000, Integer.MAX_VALUE, 1L << 29, 32, 4096, 64);
  }

  /** These limits with another on the size of the file. */
  public ImportLimits withFileBytes(long bytes) {
    return new ImportLimits(
        bytes, nodes, tensorBytes, computedBytes, rank, nameLength, nestingDepth);
  }

  /** These limits with another on the number of nodes. */
  public ImportLimits withNodes(int count) {
    return new ImportLimits(
        fileBytes, count, tensorBytes, computedBytes, rank, nameLength, nestingDepth);
  }

  /** These limits with another on the size of one tensor. */
  public ImportLimits withTensorBytes(long bytes) {
    return new ImportLimits(fileBytes, nodes, bytes, computedBytes, rank, nameLength, nestingDepth);
  }

  /** These limits with another on the size of what the importer works out. */
  public ImportLimits withComputedBytes(long bytes) {
    return new ImportLimits(fileBytes, nodes, tensorBytes, bytes, rank, nameLength, nestingDepth);
  }
}
