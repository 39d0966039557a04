package dev.nimble.cuda.record;

import com.google.common.collect.ImmutableList;
import dev.nimble.cuda.driver.CudaContext;
import dev.nimble.cuda.driver.CudaStream;
import dev.nimble.cuda.driver.DeviceAddress;
import dev.nimble.cuda.driver.DeviceMemory;
import dev.nimble.cuda.driver.Resources;
import dev.nimble.cuda.library.LibraryStream;
import dev.nimble.cuda.op.CudaKernel;
import dev.nimble.cuda.op.CudaKernels;
import dev.nimble.cuda.op.Launch;
import dev.nimble.cuda.op.Operands;
import dev.nimble.error.DeviceException;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.error.InvalidModelException;
import dev.nimble.error.Location;
import dev.nimble.graph.Operand;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.op.OperatorExecutor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Eager execution on a GPU: every call infers, selects, allocates and launches, on one stream.
 * Released memory serves later tensors of the same size, as in the caching allocators of
 * deep-learning frameworks; since all work is in one stream, it may do so at once.
 */
public final class CudaExecutor implements OperatorExecutor {
  private static final int GRANULE = 512;
  private static final int REPORT_BYTES = 16;

  private final CudaContext context;
  private final CudaKernels kernels;
  private final Runnable onClose;
  private final CudaStream stream;
  private final LibraryStream on;
  private final DeviceMemory report;
  private final Resources owned = new Resources();
  private final Map<Long, ArrayDeque<DeviceMemory>> free = new HashMap<>();
  private final List<Location> ran = new ArrayList<>();
  private boolean closed;

  /** Opens an executor; the context must be current. {@code onClose} is called once. */
  public CudaExecutor(CudaContext context, CudaKernels kernels, Runnable onClose) {
    this.context = context;
    this.kernels = kernels;
    this.onClose = onClose;
    try {
      this.stream = owned.own(new CudaStream(context));
      this.on = owned.own(new LibraryStream(stream));
      this.report = owned.own(new DeviceMemory(context, REPORT_BYTES));
      report.clear(0, REPORT_BYTES);
    } catch (Throwable failure) {
      owned.closeAfter(failure);
      throw failure;
    }
  }

  /** A tensor of an executor. */
  private static final class CudaOperand implements Operand {
    private final CudaExecutor owner;
    private final TensorType type;
    private final DeviceMemory memory;
    private boolean released;

    CudaOperand(CudaExecutor owner, TensorType type, DeviceMemory memory) {
      this.owner = owner;
      this.type = type;
      this.memory = memory;
    }

    @Override
    public TensorType type() {
      return type;
    }
  }

  private <T> T inContext(Supplier<T> body) {
    if (closed) {
      throw new InvalidArgumentException("the eager executor is closed");
    }
    return context.within(body);
  }

  @Override
  public Operand upload(Tensor contents) {
    return inContext(
        () -> {
          CudaOperand operand = allocate(contents.type());
          stream.synchronize(); // what used this memory before must be done
          operand.memory.write(0, contents.bytes());
          return operand;
        });
  }

  @Override
  public Operand variable(Tensor initial) {
    return upload(initial);
  }

  @Override
  public List<Operand> execute(Operator operator, List<Operand> operands) {
    return inContext(() -> launch(operator, operands));
  }

  private List<Operand> launch(Operator operator, List<Operand> operands) {
    List<TensorType> inputTypes = new ArrayList<>(operands.size());
    ImmutableList.Builder<DeviceAddress> inputs = ImmutableList.builder();
    for (Operand operand : operands) {
      inputs.add(memoryOf(operand).at(0));
      inputTypes.add(operand.type());
    }
    List<TensorType> outputTypes;
    CudaKernel kernel;
    try {
      outputTypes = operator.infer(inputTypes);
      kernel = kernels.of(operator, inputTypes, outputTypes);
    } catch (InvalidModelException e) {
      throw new InvalidModelException(e.what(), location(operator, inputTypes), e);
    }
    List<Operand> results = new ArrayList<>(outputTypes.size());
    ImmutableList.Builder<DeviceAddress> outputs = ImmutableList.builder();
    @Nullable DeviceMemory workspace = null;
    boolean done = false;
    try {
      for (TensorType type : outputTypes) {
        CudaOperand result = allocate(type);
        results.add(result);
        outputs.add(result.memory.at(0));
      }
      long workspaceBytes = kernel.choice().workspaceBytes();
      workspace = workspaceBytes == 0 ? null : memory(workspaceBytes);
      enqueue(
          kernel.bind(
              new Operands(
                  inputs.build(),
                  outputs.build(),
                  workspace == null ? null : workspace.at(0),
                  ran.size(),
                  report.at(0))));
      ran.add(location(operator, inputTypes));
      done = true;
    } catch (DeviceException e) {
      throw e.at(location(operator, inputTypes));
    } finally {
      if (workspace != null) {
        recycle(workspace);
      }
      if (!done) {
        results.forEach(this::release);
      }
    }
    return results;
  }

  private void enqueue(List<Launch> launches) {
    Resources bound = Resources.of(launches.toArray(Launch[]::new));
    try {
      for (Launch launch : launches) {
        launch.enqueue(on);
      }
    } catch (Throwable failure) {
      bound.closeAfter(failure);
      throw failure;
    }
    bound.close();
  }

  private static Location location(Operator operator, List<TensorType> types) {
    return Location.ofNode(
        "eager",
        operator.name(),
        types.stream().map(TensorType::toString).collect(Collectors.joining(", ")));
  }

  private CudaOperand allocate(TensorType type) {
    return new CudaOperand(this, type, memory(type.sizeBytes()));
  }

  private DeviceMemory memory(long bytes) {
    long size = Math.max(1, (bytes + GRANULE - 1) / GRANULE) * GRANULE;
    ArrayDeque<DeviceMemory> reusable = free.get(size);
    if (reusable != null && !reusable.isEmpty()) {
      return reusable.pop();
    }
    return owned.own(new DeviceMemory(context, size));
  }

  private void recycle(DeviceMemory memory) {
    free.computeIfAbsent(memory.sizeBytes(), size -> new ArrayDeque<>()).push(memory);
  }

  private DeviceMemory memoryOf(Operand operand) {
    if (!(operand instanceof CudaOperand) || ((CudaOperand) operand).owner != this) {
      throw new InvalidArgumentException(
          "an operand of type " + operand.type() + " belongs to another executor");
    }
    CudaOperand own = (CudaOperand) operand;
    if (own.released) {
      throw new InvalidArgumentException(
          "an operand of type " + operand.type() + " was released and may not be used again");
    }
    return own.memory;
  }

  @Override
  public Tensor download(Operand operand) {
    return inContext(
        () -> {
          DeviceMemory memory = memoryOf(operand);
          stream.synchronize();
          checkReport();
          Tensor copy = Tensor.zeros(operand.type());
          memory.read(0, copy.bytes());
          return copy;
        });
  }

  private void checkReport() {
    ByteBuffer words = ByteBuffer.allocateDirect(REPORT_BYTES).order(ByteOrder.nativeOrder());
    report.read(0, words);
    long reported = words.getLong(0);
    if (reported != 0) {
      report.clear(0, REPORT_BYTES);
      Location location = ran.get((int) (reported - 1));
      ran.clear();
      throw new InvalidArgumentException(
          "index " + words.getLong(Long.BYTES) + " is outside the axis", location, null);
    }
    ran.clear();
  }

  @Override
  public void release(Operand operand) {
    if (operand instanceof CudaOperand && ((CudaOperand) operand).owner == this) {
      CudaOperand own = (CudaOperand) operand;
      if (!own.released && !closed) {
        recycle(own.memory);
      }
      own.released = true;
    }
  }

  @Override
  public void close() {
    if (closed) {
      return;
    }
    closed = true;
    Resources steps = Resources.of(onClose::run, owned);
    if (!context.isPoisoned()) {
      steps.own(stream::synchronize);
    }
    context.closing(steps::close);
  }
}
