/**
 * Events for JDK Flight Recorder, all named {@code dev.nimble.*}: capture, prepare and its stages,
 * replay. An event costs a test of a flag where no recording asks for it.
 */
@NullMarked
package dev.nimble.jfr;

import org.jspecify.annotations.NullMarked;
