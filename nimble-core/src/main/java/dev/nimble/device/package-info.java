/**
 * The device interface: a {@link dev.nimble.device.DeviceProvider} is found by {@link
 * java.util.ServiceLoader} and opens a {@link dev.nimble.device.Device}, which selects kernels for
 * a graph and records a plan; a {@link dev.nimble.device.Recording} is replayed.
 */
@NullMarked
package dev.nimble.device;

import org.jspecify.annotations.NullMarked;
