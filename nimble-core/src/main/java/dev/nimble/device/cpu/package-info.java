/**
 * The embedded device: host threads as streams, direct memory, kernels in plain Java. Its one door
 * is {@link dev.nimble.device.cpu.CpuDeviceProvider}.
 */
@NullMarked
package dev.nimble.device.cpu;

import org.jspecify.annotations.NullMarked;
