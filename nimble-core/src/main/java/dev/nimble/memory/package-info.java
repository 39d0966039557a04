/**
 * Memory planning: live ranges under happens-before become a {@link dev.nimble.memory.MemoryPlan},
 * which gives each value its slice of one arena.
 */
@NullMarked
package dev.nimble.memory;

import org.jspecify.annotations.NullMarked;
