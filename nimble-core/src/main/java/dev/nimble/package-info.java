/**
 * The door of the library. {@link dev.nimble.Nimble#prepare} does all scheduling of a {@link
 * dev.nimble.graph.Graph} once and returns an {@link dev.nimble.Engine}, which replays the step.
 *
 * <pre>{@code
 * Graph graph = OnnxModel.load(Path.of("model.onnx")).graph(Map.of("batch", 1));
 * try (Engine engine = Nimble.prepare(graph)) {
 *   Map<String, Tensor> outputs = engine.run(Map.of("x", image));
 * }
 * }</pre>
 */
@NullMarked
package dev.nimble;

import org.jspecify.annotations.NullMarked;
