/**
 * The one exception family: what went wrong, where (file, node, operator, shapes), and what to do.
 *
 * <p>Everything a user can cause surfaces as a {@link dev.nimble.error.NimbleException}; its
 * message is one line that is fit to be shown without a stack trace.
 */
@NullMarked
package dev.nimble.error;

import org.jspecify.annotations.NullMarked;
