/** How long stream assignment takes, against a general graph library. */
@NullMarked
package dev.nimble.benchmarks.schedule;

import org.jspecify.annotations.NullMarked;
