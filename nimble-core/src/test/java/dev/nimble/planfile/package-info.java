@NullMarked
package dev.nimble.planfile;

import org.jspecify.annotations.NullMarked;
