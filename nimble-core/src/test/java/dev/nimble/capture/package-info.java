/** Model code traced and run eagerly. */
@NullMarked
package dev.nimble.capture;

import org.jspecify.annotations.NullMarked;
