@NullMarked
package dev.nimble.benchmarks.models;

import org.jspecify.annotations.NullMarked;
