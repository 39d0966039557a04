/** The room above. */
@NullMarked
package dev.nimble.planted.schedule;

import org.jspecify.annotations.NullMarked;
