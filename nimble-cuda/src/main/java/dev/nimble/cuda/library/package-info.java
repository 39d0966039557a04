/**
 * cuBLAS and cuDNN: handles bound to streams, descriptors, calls with every status checked, and the
 * choice of convolution algorithms. The only caller of JCuda's library bindings.
 */
@NullMarked
package dev.nimble.cuda.library;

import org.jspecify.annotations.NullMarked;
