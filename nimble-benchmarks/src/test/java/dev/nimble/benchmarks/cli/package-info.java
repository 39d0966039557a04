@NullMarked
package dev.nimble.benchmarks.cli;

import org.jspecify.annotations.NullMarked;
