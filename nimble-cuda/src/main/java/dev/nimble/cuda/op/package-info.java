/**
 * How each operator runs on a GPU: which kernel or library call, with which arguments. The door is
 * {@link dev.nimble.cuda.op.CudaKernels}.
 */
@NullMarked
package dev.nimble.cuda.op;

import org.jspecify.annotations.NullMarked;
