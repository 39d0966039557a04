/**
 * ONNX's own backend tests, run through an engine: {@link dev.nimble.benchmarks.coverage.Coverage}.
 */
@NullMarked
package dev.nimble.benchmarks.coverage;

import org.jspecify.annotations.NullMarked;
