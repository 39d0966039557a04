/**
 * Bytes of an engine's memory: where they lie ({@link dev.nimble.buffer.Slice}) and how a launch
 * uses them ({@link dev.nimble.buffer.BufferUse}). Plain data below the planner, so that devices
 * and the verifier need not know it.
 */
@NullMarked
package dev.nimble.buffer;

import org.jspecify.annotations.NullMarked;
