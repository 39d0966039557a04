/** A room that another one imports against the rules. */
@NullMarked
package dev.nimble.planted.graph;

import org.jspecify.annotations.NullMarked;
