/** A room that breaks the rules on purpose. */
@NullMarked
package dev.nimble.planted.analysis;

import org.jspecify.annotations.NullMarked;
