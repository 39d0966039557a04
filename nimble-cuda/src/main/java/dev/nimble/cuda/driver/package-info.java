/**
 * The CUDA driver: one owner for each handle, every status checked. The only caller of JCuda's
 * driver API. Handles belong to a {@link dev.nimble.cuda.driver.CudaContext}, which counts what is
 * open.
 */
@NullMarked
package dev.nimble.cuda.driver;

import org.jspecify.annotations.NullMarked;
