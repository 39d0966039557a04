/** Other runtimes that run the same model file, for comparison. */
@NullMarked
package dev.nimble.benchmarks.peers;

import org.jspecify.annotations.NullMarked;
