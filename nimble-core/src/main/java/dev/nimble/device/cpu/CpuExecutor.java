package dev.nimble.device.cpu;

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

/** Eager execution on the host. Released memory serves later tensors of the same size. */
final class CpuExecutor implements OperatorExecutor {
  private static final int GRANULE = 256;

  private final AtomicInteger open;
  private final Map<Integer, ArrayDeque<ByteBuffer>> free = new HashMap<>();
  private boolean closed;

  CpuExecutor(AtomicInteger open) {
    this.open = open;
    open.incrementAndGet();
  }

  /**
   * A tensor of this executor; {@code memory} is null once released, or if the tensor is the
   * caller's.
   */
  private static final class CpuOperand implements Operand {
    private final Tensor tensor;
    private @Nullable ByteBuffer memory;

    CpuOperand(Tensor tensor, @Nullable ByteBuffer memory) {
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
    return new CpuOperand(contents, null);
  }

  @Override
  public Operand variable(Tensor initial) {
    checkOpen();
    return new CpuOperand(initial.copy(), null);
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
    CpuOperand workspace =
        workspaceBytes == 0
            ? null
            : allocate(TensorType.of(DataType.U8, Math.toIntExact(workspaceBytes)));
    try {
      kernel.bind(inputs, outputs, workspace == null ? null : workspace.tensor).run();
    } catch (InvalidArgumentException e) {
      throw new InvalidArgumentException(e.what(), location(operator, inputTypes), e);
    } finally {
      if (workspace != null) {
        release(workspace);
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

  private CpuOperand allocate(TensorType type) {
    int size =
        (int) Math.min(Integer.MAX_VALUE, (type.sizeBytes() + GRANULE - 1) / GRANULE * GRANULE);
    ArrayDeque<ByteBuffer> reusable = free.get(size);
    ByteBuffer memory =
        reusable == null || reusable.isEmpty() ? HostMemory.allocate(size) : reusable.pop();
    return new CpuOperand(Tensor.wrap(type, memory), memory);
  }

  private static Tensor tensorOf(Operand operand) {
    if (!(operand instanceof CpuOperand)) {
      throw new InvalidArgumentException("an operand belongs to another device: " + operand);
    }
    return ((CpuOperand) operand).tensor;
  }

  @Override
  public Tensor download(Operand operand) {
    checkOpen();
    return tensorOf(operand).copy();
  }

  @Override
  public void release(Operand operand) {
    if (operand instanceof CpuOperand) {
      CpuOperand own = (CpuOperand) operand;
      ByteBuffer memory = own.memory;
      if (memory != null) {
        own.memory = null;
        free.computeIfAbsent(memory.capacity(), size -> new ArrayDeque<>()).push(memory);
      }
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
