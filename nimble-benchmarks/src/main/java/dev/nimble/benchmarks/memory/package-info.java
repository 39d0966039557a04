/** How long memory planning takes. */
@NullMarked
package dev.nimble.benchmarks.memory;

import org.jspecify.annotations.NullMarked;
