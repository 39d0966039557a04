@NullMarked
package dev.nimble.view;

import org.jspecify.annotations.NullMarked;
