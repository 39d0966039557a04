package dev.nimble.onnx;

/**
 * Bounds on what a model file may ask for, checked before anything is allocated.
 *
 * @param fileBytes size of the file
 * @param nodes number of nodes
 * @param tensorBytes size of any one tensor, constant or computed
 * @param nameLength characters of any one name
 * @param nestingDepth nesting of protobuf messages
 */
public record ImportLimits(
    long fileBytes, int nodes, long tensorBytes, int nameLength, int nestingDepth) {
  /** 2 GiB files and tensors, a million nodes, names of 4,096 characters, 64 levels. */
  public static ImportLimits defaults() {
    return new ImportLimits(Integer.MAX_VALUE, 1_000_000, Integer.MAX_VALUE, 4096, 64);
  }
}
