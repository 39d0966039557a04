/** Each pass, alone and with the others, against the graph as it was. */
@NullMarked
package dev.nimble.transform;

import org.jspecify.annotations.NullMarked;
