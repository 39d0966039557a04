@NullMarked
package dev.nimble.jfr;

import org.jspecify.annotations.NullMarked;
