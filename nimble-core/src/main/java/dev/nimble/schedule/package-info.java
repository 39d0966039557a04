/**
 * Policies that turn a graph into a {@link dev.nimble.schedule.Schedule}: the stream of each node,
 * the synchronisations, and the launch order. A policy is one class behind {@link
 * dev.nimble.schedule.SchedulingPolicy}.
 */
@NullMarked
package dev.nimble.schedule;

import org.jspecify.annotations.NullMarked;
