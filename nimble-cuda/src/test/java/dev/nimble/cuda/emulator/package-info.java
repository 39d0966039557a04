/**
 * An emulator of CUDA's driver and libraries, for tests on machines without a GPU: built by g++
 * when the tests start, and loaded under the names that JCuda's natives ask for. The door is {@link
 * dev.nimble.cuda.emulator.Emulator}.
 */
@NullMarked
package dev.nimble.cuda.emulator;

import org.jspecify.annotations.NullMarked;
