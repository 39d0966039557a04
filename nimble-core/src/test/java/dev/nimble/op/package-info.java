/** Operators: shape rules and reference kernels against independent computation. */
@NullMarked
package dev.nimble.op;

import org.jspecify.annotations.NullMarked;
