/**
 * Plans as files: {@link dev.nimble.planfile.PlanFile} writes a plan with all that was decided, so
 * that another process records it without scheduling again, and reads it back as untrusted input,
 * verified. The format is described in {@code docs/plan-file.md}.
 */
@NullMarked
package dev.nimble.planfile;

import org.jspecify.annotations.NullMarked;
