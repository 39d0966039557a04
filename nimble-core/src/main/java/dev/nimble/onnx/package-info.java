/**
 * ONNX import: {@link dev.nimble.onnx.OnnxModel} reads a model file, which is untrusted, and makes
 * a graph of it once its symbolic dimensions are bound.
 */
@NullMarked
package dev.nimble.onnx;

import org.jspecify.annotations.NullMarked;
