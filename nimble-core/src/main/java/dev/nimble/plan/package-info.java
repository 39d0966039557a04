/**
 * The {@link dev.nimble.plan.ExecutionPlan}: everything that a device needs to record a step, as a
 * flat list of commands in issue order, each on one stream.
 */
@NullMarked
package dev.nimble.plan;

import org.jspecify.annotations.NullMarked;
