package dev.nimble.schedule;

import dev.nimble.graph.Node;

/**
 * A cross-stream synchronisation: an event recorded right after {@code from} on its stream, and
 * waited for right before {@code to} on its own.
 *
 * @param from the node that must have finished
 * @param to the node that must not have started
 */
public record Sync(Node from, Node to) {}
