/**
 * The CUDA device of nimble-java: it records a plan by stream capture and replays it as one CUDA
 * graph. The door is {@link dev.nimble.cuda.CudaDeviceProvider}, found by {@link
 * java.util.ServiceLoader}; {@link dev.nimble.cuda.Doctor} says what a machine has and lacks.
 */
@NullMarked
package dev.nimble.cuda;

import org.jspecify.annotations.NullMarked;
