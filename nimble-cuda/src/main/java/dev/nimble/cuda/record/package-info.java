/**
 * Plans on a GPU: memory, the prerun, stream capture, the instantiated CUDA graph and its replay;
 * and eager execution on the same kernels.
 */
@NullMarked
package dev.nimble.cuda.record;

import org.jspecify.annotations.NullMarked;
