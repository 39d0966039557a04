/**
 * Mathematics of directed acyclic graphs on {@code int} arrays: transitive reduction, bipartite
 * matching, the path cover behind Nimble's stream assignment, width, critical path.
 *
 * <p>Nodes are numbers from 0; in a {@link dev.nimble.analysis.Dag} every edge goes from a lower
 * number to a higher one. Nothing here knows of operators, streams or devices.
 */
@NullMarked
package dev.nimble.analysis;

import org.jspecify.annotations.NullMarked;
