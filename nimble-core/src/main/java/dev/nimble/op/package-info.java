/**
 * The operators: one file each, with attributes, shape rule and reference kernel; and the plain
 * data that a device's kernel selection hands to scheduling and memory planning ({@link
 * dev.nimble.op.KernelChoices}).
 */
@NullMarked
package dev.nimble.op;

import org.jspecify.annotations.NullMarked;
