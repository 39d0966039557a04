@NullMarked
package dev.nimble.onnx;

import org.jspecify.annotations.NullMarked;
