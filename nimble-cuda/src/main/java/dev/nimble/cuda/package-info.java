/**
 * The CUDA device. Empty for now: the device interface that it will implement is {@code
 * dev.nimble.device.DeviceProvider}.
 */
@NullMarked
package dev.nimble.cuda;

import org.jspecify.annotations.NullMarked;
