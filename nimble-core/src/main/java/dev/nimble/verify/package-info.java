/**
 * The proof that a plan is right before it runs: {@link dev.nimble.verify.PlanVerifier} rebuilds
 * happens-before from the commands alone and shares nothing with the scheduler and the memory
 * planner.
 */
@NullMarked
package dev.nimble.verify;

import org.jspecify.annotations.NullMarked;
