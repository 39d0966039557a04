package dev.nimble.device.cpu;

import com.google.common.collect.ImmutableList;
import dev.nimble.buffer.Slice;
import dev.nimble.error.DeviceException;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.error.NimbleException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.KernelChoice;
import dev.nimble.plan.Command;
import dev.nimble.plan.ExecutionPlan;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** A plan's values in memory, and its kernels bound to them. Constants are used where they are. */
final class BoundStep {
  private final Graph graph;
  private final Map<Slice.Region, ByteBuffer> regions = new EnumMap<>(Slice.Region.class);
  private final Tensor[] tensors;
  private final Launch[] launches;

  /**
   * A kernel with its operands.
   *
   * @param node for reports
   * @param stream the plan's stream
   * @param kernel runs it
   */
  record Launch(Node node, int stream, Runnable kernel) {}

  /**
   * Allocates and binds.
   *
   * @throws InvalidArgumentException if the plan has other kernels than this device selects
   * @throws DeviceException if memory runs out, or a kernel cannot be bound; names the node
   */
  BoundStep(ExecutionPlan plan) {
    this.graph = plan.graph();
    CpuKernel[] kernels = kernels(plan);
    for (Slice.Region region : Slice.Region.values()) {
      if (region != Slice.Region.CONSTANT) {
        regions.put(region, HostMemory.allocate(plan.bytesOf(region), "the region " + region));
      }
    }
    this.tensors = tensors(plan);
    initializeVariables();
    this.launches = launches(plan, kernels);
  }

  private static CpuKernel[] kernels(ExecutionPlan plan) {
    ImmutableList<Node> nodes = plan.graph().nodes();
    CpuKernel[] kernels = new CpuKernel[nodes.size()];
    for (Node node : nodes) {
      CpuKernel kernel = CpuKernels.of(node);
      KernelChoice own = kernel.choice();
      KernelChoice planned = plan.kernels().of(node);
      if (!own.kernel().equals(planned.kernel())
          || own.workspaceBytes() != planned.workspaceBytes()
          || own.view() != planned.view()
          || !own.inPlaceInputs().equals(planned.inPlaceInputs())) {
        throw new InvalidArgumentException(
            "the plan has kernel '"
                + planned.kernel()
                + "', where this device has '"
                + own.kernel()
                + "'; plan with the kernels that this device selects",
            node.location());
      }
      kernels[node.id()] = kernel;
    }
    return kernels;
  }

  private Tensor[] tensors(ExecutionPlan plan) {
    Map<Slice, Tensor> constants = new HashMap<>();
    for (Value value : graph.values()) {
      if (value.kind() == Value.Kind.CONSTANT) {
        constants.put(plan.sliceOf(value), value.contents());
      }
    }
    Tensor[] all = new Tensor[graph.values().size()];
    for (Value value : graph.values()) {
      Slice slice = plan.sliceOf(value);
      if (slice.region() == Slice.Region.CONSTANT) {
        Tensor contents = constants.get(slice); // a value of this region may also be a view of one
        if (contents == null) {
          throw new IllegalStateException(value + " shows no constant");
        }
        all[value.id()] = Tensor.wrap(value.type(), contents.bytes());
      } else {
        all[value.id()] = at(slice, value.type());
      }
    }
    return all;
  }

  private Launch[] launches(ExecutionPlan plan, CpuKernel[] kernels) {
    List<Launch> all = new ArrayList<>();
    for (Command command : plan.commands()) {
      if (command instanceof Command.Launch) {
        Node node = ((Command.Launch) command).node();
        Slice workspace = plan.memory().workspaceOf(node);
        Tensor scratch =
            workspace == null
                ? null
                : at(workspace, TensorType.of(DataType.U8, Math.toIntExact(workspace.size())));
        all.add(new Launch(node, command.stream(), bind(kernels[node.id()], node, scratch)));
      }
    }
    return all.toArray(Launch[]::new);
  }

  private Runnable bind(CpuKernel kernel, Node node, @Nullable Tensor workspace) {
    try {
      return kernel.bind(tensorsOf(node.inputs()), tensorsOf(node.outputs()), workspace);
    } catch (NimbleException e) {
      throw e;
    } catch (RuntimeException e) {
      throw new DeviceException("the kernel cannot be bound: " + e, node.location(), e);
    }
  }

  private Tensor at(Slice slice, TensorType type) {
    return Tensor.wrap(
        type, memoryOf(slice.region()).duplicate().position(Math.toIntExact(slice.offset())));
  }

  private ByteBuffer memoryOf(Slice.Region region) {
    return Objects.requireNonNull(regions.get(region), region::name);
  }

  /** Where {@code value} lives. */
  Tensor tensorOf(Value value) {
    return tensors[value.id()];
  }

  /** Where these values live. */
  List<Tensor> tensorsOf(List<Value> values) {
    return values.stream().map(this::tensorOf).toList();
  }

  /** The kernels in issue order. */
  Launch[] launches() {
    return launches;
  }

  /**
   * Gives variables their initial contents and clears what a step computes, so that nothing of an
   * earlier run is left for a later one to read.
   */
  void reset() {
    initializeVariables();
    clear(memoryOf(Slice.Region.ARENA).duplicate());
    clear(memoryOf(Slice.Region.OUTPUT).duplicate());
  }

  private void initializeVariables() {
    for (Value variable : graph.variables()) {
      tensors[variable.id()].copyFrom(variable.contents());
    }
  }

  private static void clear(ByteBuffer memory) {
    while (memory.remaining() >= Long.BYTES) {
      memory.putLong(0);
    }
    while (memory.hasRemaining()) {
      memory.put((byte) 0);
    }
  }
}
