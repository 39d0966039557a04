package dev.nimble.planfile;

import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * Where a plan file keeps the contents of constants and variables.
 *
 * @param file a file that holds some of them already; null if the plan file holds all
 */
public record PlanWeights(@Nullable Path file) {
  /** Within the plan file, which then needs no other. */
  public static PlanWeights inline() {
    return new PlanWeights(null);
  }

  /**
   * In {@code file}, usually the model's, wherever their bytes occur there (place, length and
   * checksum are kept); those that do not, because a transform made them, are within the plan file.
   * {@code file} must lie in the plan file's folder or below, and must stay there, unchanged.
   */
  public static PlanWeights referencing(Path file) {
    return new PlanWeights(file);
  }
}
