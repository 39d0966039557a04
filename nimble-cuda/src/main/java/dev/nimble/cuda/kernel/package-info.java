/**
 * Kernels written in CUDA C: compiled at run time by NVRTC, kept on disk, loaded once a device. The
 * door is {@link dev.nimble.cuda.kernel.Kernels}.
 */
@NullMarked
package dev.nimble.cuda.kernel;

import org.jspecify.annotations.NullMarked;
