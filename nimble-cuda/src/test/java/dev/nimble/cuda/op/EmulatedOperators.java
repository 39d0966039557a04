package dev.nimble.cuda.op;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.common.collect.ImmutableList;
import dev.nimble.cuda.driver.CudaContext;
import dev.nimble.cuda.driver.CudaStream;
import dev.nimble.cuda.driver.DeviceAddress;
import dev.nimble.cuda.driver.DeviceMemory;
import dev.nimble.cuda.kernel.DiskCache;
import dev.nimble.cuda.kernel.Kernels;
import dev.nimble.cuda.library.Libraries;
import dev.nimble.cuda.library.LibraryStream;
import dev.nimble.cuda.record.CudaExecutor;
import dev.nimble.graph.Operand;
import dev.nimble.graph.Tensor;
import dev.nimble.op.OperatorExecutor;
import java.util.ArrayList;
import java.util.List;

/**
 * Operators run eagerly on the emulated GPU, as {@code Device.eager()} runs them, but that the
 * generated kernels of many are compiled together.
 */
final class EmulatedOperators implements AutoCloseable {
  private final CudaContext context = new CudaContext(0);
  private final Kernels kernels = new Kernels(context, DiskCache.ofUser());
  private final CudaKernels operators;
  private final OperatorExecutor eager;

  EmulatedOperators(Libraries libraries) {
    boolean token = context.enter();
    try {
      operators = new CudaKernels(context, kernels, DiskCache.ofUser(), libraries, false);
      eager = new CudaExecutor(context, operators, () -> {});
    } finally {
      context.leave(token);
    }
  }

  /** Compiles what the cases need. */
  void compile(List<OperatorCase> cases) {
    boolean token = context.enter();
    try {
      operators.compile(cases.stream().map(this::kernel).toList());
    } finally {
      context.leave(token);
    }
  }

  private CudaKernel kernel(OperatorCase of) {
    return operators.of(of.operator(), of.inputTypes(), of.outputTypes());
  }

  /** The outputs, then the operands that the operator changes. */
  List<Tensor> run(OperatorCase of) {
    List<Operand> operands = new ArrayList<>();
    of.operands().forEach(tensor -> operands.add(eager.upload(tensor)));
    List<Operand> results = new ArrayList<>(eager.execute(of.operator(), operands));
    of.operator().mutatedInputs().forEach(k -> results.add(operands.get(k)));
    List<Tensor> contents = new ArrayList<>();
    results.forEach(result -> contents.add(eager.download(result)));
    operands.forEach(eager::release);
    results.forEach(eager::release);
    return contents;
  }

  /** Compiles and runs the cases, each of which must give what the reference kernel gives. */
  void check(List<OperatorCase> cases) {
    compile(cases);
    List<String> wrong = new ArrayList<>();
    for (OperatorCase one : cases) {
      List<Tensor> expected = one.reference();
      List<Tensor> actual = run(one);
      for (int k = 0; k < expected.size(); k++) {
        if (!one.agrees(actual.get(k), expected.get(k))) {
          wrong.add(
              one
                  + ": result "
                  + k
                  + " is "
                  + actual.get(k)
                  + ", not "
                  + expected.get(k)
                  + "; operands "
                  + one.operands());
        }
      }
    }
    assertThat(wrong).as("%s of %s cases", wrong.size(), cases.size()).isEmpty();
  }

  /**
   * Runs each case whose kernel may overwrite an operand so, by launches of its own; the result
   * must be that of the reference kernel.
   *
   * @return how many kernels ran in place
   */
  int checkInPlace(List<OperatorCase> cases) {
    compile(cases);
    int ran = 0;
    boolean token = context.enter();
    try {
      for (OperatorCase one : cases) {
        CudaKernel kernel = kernel(one);
        for (int input : kernel.choice().inPlaceInputs()) {
          if (one.outputTypes().get(0).sizeBytes() == one.inputTypes().get(input).sizeBytes()) {
            Tensor actual = inPlace(one, kernel, input);
            assertThat(one.agrees(actual, one.reference().get(0)))
                .as("%s over operand %s: %s", one, input, actual)
                .isTrue();
            ran++;
          }
        }
      }
    } finally {
      context.leave(token);
    }
    return ran;
  }

  private Tensor inPlace(OperatorCase one, CudaKernel kernel, int input) {
    List<DeviceMemory> owned = new ArrayList<>();
    CudaStream stream = new CudaStream(context);
    LibraryStream on = new LibraryStream(stream);
    try {
      for (Tensor operand : one.operands()) {
        owned.add(new DeviceMemory(context, Math.max(1, operand.type().sizeBytes())));
        owned.get(owned.size() - 1).write(0, operand.bytes());
      }
      ImmutableList<DeviceAddress> inputs =
          owned.stream().map(memory -> memory.at(0)).collect(ImmutableList.toImmutableList());
      owned.add(new DeviceMemory(context, 16)); // the report
      owned.add(new DeviceMemory(context, Math.max(1, kernel.choice().workspaceBytes())));
      List<Launch> launches =
          kernel.bind(
              new Operands(
                  inputs,
                  ImmutableList.of(inputs.get(input)),
                  owned.get(owned.size() - 1).at(0),
                  0,
                  owned.get(owned.size() - 2).at(0)));
      launches.forEach(launch -> launch.enqueue(on));
      stream.synchronize();
      launches.forEach(Launch::close);
      Tensor result = Tensor.zeros(one.outputTypes().get(0));
      owned.get(input).read(0, result.bytes());
      return result;
    } finally {
      on.close();
      stream.close();
      owned.forEach(DeviceMemory::close);
    }
  }

  @Override
  public void close() {
    eager.close();
    boolean token = context.enter();
    try {
      kernels.close();
    } finally {
      context.leave(token);
    }
    context.close();
  }
}
