/** What the tests of all modules share: oracles, random graphs and tensors, real models. */
@NullMarked
package dev.nimble.testkit;

import org.jspecify.annotations.NullMarked;
