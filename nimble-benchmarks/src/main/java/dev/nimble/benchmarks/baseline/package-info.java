/** What would be spent if nothing were scheduled at all. */
@NullMarked
package dev.nimble.benchmarks.baseline;

import org.jspecify.annotations.NullMarked;
