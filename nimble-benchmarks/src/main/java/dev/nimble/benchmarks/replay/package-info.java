/** What a step costs besides its kernels. */
@NullMarked
package dev.nimble.benchmarks.replay;

import org.jspecify.annotations.NullMarked;
