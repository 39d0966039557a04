package dev.nimble.op;

import dev.nimble.graph.Operator;

/**
 * An operator each of whose output elements depends only on the elements of the operands at the
 * same (broadcast) position. It has one output, and may be a step of {@link FusedElementwise}.
 */
public sealed interface Elementwise extends Operator
    permits Unary, Binary, Compare, Logical, Not, Where, Cast {}
