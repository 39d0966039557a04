@NullMarked
package dev.nimble;

import org.jspecify.annotations.NullMarked;
