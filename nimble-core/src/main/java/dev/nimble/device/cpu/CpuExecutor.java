package dev.nimble.device.cpu;

import dev.nimble.error.DeviceException;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.error.InvalidModelException;
import dev.nimble.error.Location;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Operand;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.op.OperatorExecutor;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Eager execution on the host. Released memory serves later tensors of the same size, as in the
 * caching allocators of deep-learning frameworks.
 */
final class CpuExecutor implements OperatorExecutor {
  private static final int GRANULE = 256;

  private final AtomicInteger open;
  private final Map<Long, ArrayDeque<ByteBuffer>> free = new HashMap<>();
  private boolean closed;

  CpuExecutor(AtomicInteger open) {
    this.open = open;
    open.incrementAndGet();
  }

  /** A tensor of an executor; one that the caller gave has no memory to reuse. */
  private static final class CpuOperand implements Operand {
    private final CpuExecutor owner;
    private final Tensor tensor;
    private final @Nullable ByteBuffer memory;
    private boolean released;

    CpuOperand(CpuExecutor owner, Tensor tensor, @Nullable ByteBuffer memory) {
      this.owner = owner;
      this.tensor = tensor;
      this.memory = memory;
    }

    @Override
    public TensorType type() {
      return tensor.type();
    }
  }

  @Override
  public Operand upload(Tensor contents) {
    checkOpen();
    return new CpuOperand(this, contents, null);
  }

  @Override
  public Operand variable(Tensor initial) {
    checkOpen();
    CpuOperand variable = allocate(initial.type());
    variable.tensor.copyFrom(initial);
    return variable;
  }

  @Override
  public List<Operand> execute(Operator operator, List<Operand> operands) {
    checkOpen();
    List<Tensor> inputs = new ArrayList<>(operands.size());
    List<TensorType> inputTypes = new ArrayList<>(operands.size());
    for (Operand operand : operands) {
      inputs.add(tensorOf(operand));
      inputTypes.add(operand.type());
    }
    List<TensorType> outputTypes;
    try {
      outputTypes = operator.infer(inputTypes);
    } catch (InvalidModelException e) {
      throw new InvalidModelException(e.what(), location(operator, inputTypes), e);
    }
    CpuKernel kernel = CpuKernels.of(operator, inputTypes, outputTypes);
    List<Tensor> outputs = new ArrayList<>(outputTypes.size());
    List<Operand> results = new ArrayList<>(outputTypes.size());
    for (TensorType type : outputTypes) {
      CpuOperand result = allocate(type);
      outputs.add(result.tensor);
      results.add(result);
    }
    long workspaceBytes = kernel.choice().workspaceBytes();
    CpuOperand workspace = workspaceBytes == 0 ? null : scratch(workspaceBytes);
    boolean done = false;
    try {
      kernel.bind(inputs, outputs, workspace == null ? null : workspace.tensor).run();
      done = true;
    } catch (InvalidArgumentException e) {
      throw new InvalidArgumentException(e.what(), location(operator, inputTypes), e);
    } catch (RuntimeException e) {
      throw new DeviceException("the kernel failed: " + e, location(operator, inputTypes), e);
    } finally {
      if (workspace != null) {
        release(workspace);
      }
      if (!done) {
        results.forEach(this::release);
      }
    }
    return results;
  }

  private static Location location(Operator operator, List<TensorType> types) {
    return Location.ofNode(
        "eager",
        operator.name(),
        types.stream().map(TensorType::toString).collect(Collectors.joining(", ")));
  }

  private CpuOperand scratch(long bytes) {
    if (bytes > Integer.MAX_VALUE) {
      throw new DeviceException("a kernel's workspace of " + bytes + " bytes exceeds 2 GiB");
    }
    return allocate(TensorType.of(DataType.U8, (int) bytes));
  }

  private CpuOperand allocate(TensorType type) {
    long size = (type.sizeBytes() + GRANULE - 1) / GRANULE * GRANULE;
    ArrayDeque<ByteBuffer> reusable = free.get(size);
    ByteBuffer memory =
        reusable == null || reusable.isEmpty()
            ? HostMemory.allocate(size, "a tensor of " + type)
            : reusable.pop();
    return new CpuOperand(this, Tensor.wrap(type, memory), memory);
  }

  private Tensor tensorOf(Operand operand) {
    if (!(operand instanceof CpuOperand) || ((CpuOperand) operand).owner != this) {
      throw new InvalidArgumentException(
          "an operand of type " + operand.type() + " belongs to another executor");
    }
    CpuOperand own = (CpuOperand) operand;
    if (own.released) {
      throw new InvalidArgumentException(
          "an operand of type " + operand.type() + " was released and may not be used again");
    }
    return own.tensor;
  }

  @Override
  public Tensor download(Operand operand) {
    checkOpen();
    return tensorOf(operand).copy();
  }

  @Override
  public void release(Operand operand) {
    if (operand instanceof CpuOperand && ((CpuOperand) operand).owner == this) {
      CpuOperand own = (CpuOperand) operand;
      ByteBuffer memory = own.memory;
      if (!own.released && memory != null && !closed) {
        free.computeIfAbsent((long) memory.capacity(), size -> new ArrayDeque<>()).push(memory);
      }
      own.released = true;
    }
  }

  private void checkOpen() {
    if (closed) {
      throw new InvalidArgumentException("the eager executor is closed");
    }
  }

  @Override
  public void close() {
    if (!closed) {
      closed = true;
      free.clear();
      open.decrementAndGet();
    }
  }
}
