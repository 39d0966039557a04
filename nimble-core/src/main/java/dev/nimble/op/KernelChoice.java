package dev.nimble.op;

import com.google.common.collect.ImmutableList;
import java.util.List;

/**
 * The kernel that a device has chosen for one node, as plain data.
 *
 * @param kernel the kernel's name on that device, for reports
 * @param workspaceBytes scratch memory that the kernel needs while it runs; planned into the arena
 * @param inPlaceInputs input positions whose bytes output 0 may overwrite, best first: the kernel
 *     is right when both are the same slice, and sizes are equal. The memory planner decides
 * @param view whether output 0 has the bytes of input 0 unchanged, so that no kernel need run when
 *     both share a slice (reshape, squeeze). The memory planner decides; where it does not share,
 *     the kernel copies
 * @param demand what the kernel asks of the device
 */
public record KernelChoice(
    String kernel,
    long workspaceBytes,
    ImmutableList<Integer> inPlaceInputs,
    boolean view,
    ResourceDemand demand) {

  /** A kernel that needs no workspace and cannot run in place. */
  public static KernelChoice of(String kernel, ResourceDemand demand) {
    return new KernelChoice(kernel, 0, ImmutableList.of(), false, demand);
  }

  /** This choice, with a workspace. */
  public KernelChoice withWorkspace(long bytes) {
    return new KernelChoice(kernel, bytes, inPlaceInputs, view, demand);
  }

  /** This choice, able to overwrite one of these inputs. */
  public KernelChoice inPlaceOver(List<Integer> inputs) {
    return new KernelChoice(kernel, workspaceBytes, ImmutableList.copyOf(inputs), view, demand);
  }

  /** This choice, as a view of input 0. */
  public KernelChoice asView() {
    return new KernelChoice(kernel, workspaceBytes, inPlaceInputs, true, demand);
  }
}
