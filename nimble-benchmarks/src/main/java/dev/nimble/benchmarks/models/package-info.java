/**
 * Models that the command line and the benchmarks know by name, and any ONNX file: {@link
 * dev.nimble.benchmarks.models.ModelSource}.
 */
@NullMarked
package dev.nimble.benchmarks.models;

import org.jspecify.annotations.NullMarked;
