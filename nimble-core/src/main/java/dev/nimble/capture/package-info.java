/**
 * Model code that runs two ways: eagerly, operator by operator on a device, and traced into a
 * {@link dev.nimble.graph.Graph}. {@link dev.nimble.capture.Capture} is the one door.
 *
 * <p>Models are written as {@link dev.nimble.capture.Module}s over {@link dev.nimble.capture.Ops}:
 *
 * <pre>{@code
 * final class Block extends Layer {
 *   private final Conv2d conv = child("conv", new Conv2d(64, 64, kernel(3).pad(1)));
 *   private final BatchNorm norm = child("norm", new BatchNorm(64));
 *
 *   protected Operand forward(Ops f, Operand x) {
 *     return f.relu(f.add(x, norm.apply(f, conv.apply(f, x))));
 *   }
 * }
 *
 * Capture capture = Capture.of(new Block()).input("x", TensorType.f32(1, 64, 56, 56));
 * Graph graph = capture.graph();                                   // nodes conv, norm, Add, Relu
 * try (Eager eager = capture.eager(device.eager())) {
 *   Map<String, Tensor> outputs = eager.run(Map.of("x", image));   // the same, at once
 * }
 * }</pre>
 *
 * <p>Shapes are static: Java code may decide anything by {@link dev.nimble.graph.Operand#type()},
 * nothing by contents. Loops unroll; whatever Java computes while it traces becomes fixed.
 */
@NullMarked
package dev.nimble.capture;

import org.jspecify.annotations.NullMarked;
