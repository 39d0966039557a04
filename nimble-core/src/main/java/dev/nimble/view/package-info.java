/**
 * Pictures of a plan: {@link dev.nimble.view.Views} draws the schedule as DOT or SVG, the arena as
 * SVG, a replay's timeline as a trace file, and all of it as one HTML page. Text in, text out:
 * nothing here touches a device.
 */
@NullMarked
package dev.nimble.view;

import org.jspecify.annotations.NullMarked;
