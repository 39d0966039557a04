package dev.nimble.memory;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.common.collect.ImmutableSet;
import dev.nimble.buffer.Slice;
import dev.nimble.graph.Node;
import dev.nimble.graph.Value;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Where every value and workspace lives. Immutable.
 *
 * @param slices the slice of each value, by value id
 * @param workspaces the arena slice of each node whose kernel needs a workspace
 * @param views the nodes whose output shares the slice of input 0, so that no kernel need run
 * @param regionBytes the size of each region
 * @param lowerBoundBytes the most bytes of intermediate values and workspaces live at once when
 *     nodes run one after the other in launch order, each rounded up to the alignment, in-place and
 *     view sharing as planned: no single-stream arena is smaller
 * @param naiveBytes the sum of all intermediate values and workspaces, each with memory of its own
 */
public record MemoryPlan(
    ImmutableList<Slice> slices,
    ImmutableMap<Node, Slice> workspaces,
    ImmutableSet<Node> views,
    ImmutableMap<Slice.Region, Long> regionBytes,
    long lowerBoundBytes,
    long naiveBytes) {

  /** Every slice starts at a multiple of this many bytes. */
  public static final int ALIGNMENT = Slice.ALIGNMENT;

  /** The slice of {@code value}. */
  public Slice of(Value value) {
    return slices.get(value.id());
  }

  /** The workspace of {@code node}, or null if its kernel needs none. */
  public @Nullable Slice workspaceOf(Node node) {
    return workspaces.get(node);
  }

  /** The size of {@code region} in bytes. */
  public long bytesOf(Slice.Region region) {
    Long bytes = ((Map<Slice.Region, Long>) regionBytes).get(region);
    return bytes == null ? 0 : bytes;
  }

  /** The size of the arena in bytes. */
  public long arenaBytes() {
    return bytesOf(Slice.Region.ARENA);
  }
}
