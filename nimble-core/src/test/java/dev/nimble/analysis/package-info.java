@NullMarked
package dev.nimble.analysis;

import org.jspecify.annotations.NullMarked;
