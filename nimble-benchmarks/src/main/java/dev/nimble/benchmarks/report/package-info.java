/** Measuring several things in turn, and printing tables. */
@NullMarked
package dev.nimble.benchmarks.report;

import org.jspecify.annotations.NullMarked;
