/** The command line: {@link dev.nimble.benchmarks.cli.NimbleCommand}. */
@NullMarked
package dev.nimble.benchmarks.cli;

import org.jspecify.annotations.NullMarked;
