package dev.nimble.benchmarks.coverage;

import com.google.common.collect.ImmutableSortedSet;

/**
 * What became of one backend test.
 *
 * @param name the case's folder
 * @param status whether it passed
 * @param detail why it did not; empty for one that passed
 * @param missing what was missing, in a word, for one that was rejected; else empty
 * @param constants the inputs that had to be given as constants
 */
public record CaseResult(
    String name,
    Status status,
    String detail,
    String missing,
    ImmutableSortedSet<String> constants) {
  /** Whether a case passed. */
  public enum Status {
    /** Every output is as expected. */
    PASS,
    /** The importer refused the model, saying why. */
    REJECTED,
    /** An output is wrong, or something other than the importer refused. */
    FAIL
  }
}
