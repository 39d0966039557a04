package dev.nimble.cuda.op;

import com.google.common.collect.ImmutableList;
import dev.nimble.cuda.driver.DeviceAddress;
import org.jspecify.annotations.Nullable;

/**
 * Where a kernel finds its operands.
 *
 * @param inputs the operands
 * @param outputs the results
 * @param workspace scratch memory as asked for, or null if none was
 * @param node the node's number, for reports of bad contents
 * @param report two 64-bit words that a kernel may write when it meets contents that it cannot use:
 *     the node's number plus 1, and the offending element
 */
public record Operands(
    ImmutableList<DeviceAddress> inputs,
    ImmutableList<DeviceAddress> outputs,
    @Nullable DeviceAddress workspace,
    int node,
    DeviceAddress report) {
  DeviceAddress in(int index) {
    return inputs.get(index);
  }

  DeviceAddress out() {
    return outputs.get(0);
  }
}
