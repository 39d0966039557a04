/** Tests of {@link dev.nimble.benchmarks.coverage}. */
@NullMarked
package dev.nimble.benchmarks.coverage;

import org.jspecify.annotations.NullMarked;
