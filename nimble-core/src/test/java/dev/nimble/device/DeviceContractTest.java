package dev.nimble.device;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.common.collect.ImmutableList;
import dev.nimble.device.cpu.CpuDeviceProvider;
import dev.nimble.graph.Graph;
import dev.nimble.graph.Node;
import dev.nimble.graph.Operand;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.KernelChoices;
import dev.nimble.op.OperatorExecutor;
import dev.nimble.plan.Command;
import dev.nimble.plan.ExecutionPlan;
import dev.nimble.plan.Timeline;
import dev.nimble.testkit.RandomPlans;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Shows that the contract bites: a device with a planted fault fails it, and where it should. */
class DeviceContractTest {
  /** What can be wrong with a device, and the test that must notice. */
  enum Fault {
    IGNORES_WAITS("waitsHoldAStreamBackUntilItsOperandsAreThere"),
    IGNORES_WAITS_FOR_READERS("anUpdateWaitsForThoseWhoReadTheOldValue"),
    RUNS_TWICE("aReplayRunsEveryStepOnce"),
    RUNS_EVERY_OTHER_TIME("manyReplaysOfAWideGraphStayRight"),
    ROUNDS_OTHERWISE("aReplayEqualsEagerExecutionUnderEveryPolicy"),
    WRITES_INPUTS("aReplayEqualsEagerExecutionUnderEveryPolicy"),
    IS_INEXACT("aReplayIsCloseToTheReferenceKernels"),
    IS_INEXACT_EAGERLY("eagerExecutionIsCloseToTheReferenceKernels"),
    MOVES_OUTPUTS("buffersStayWhereTheyAre"),
    FORGETS_RESIDENTS("residentBuffersKeepTheirContentsAndAreNotCopied"),
    COPIES_RESIDENTS("residentBuffersOfTwoRecordingsAreCopiedWithinTheDevice"),
    LEAVES_THE_PRERUN("aVariableStartsWithItsInitialContentsBitForBit"),
    SHARES_RECORDINGS("recordingsOfOnePlanShareNothing"),
    TIMES_BACKWARDS("aTimedReplayIsAReplayAndItsTimesRespectDependencies"),
    TIMES_WITHOUT_RUNNING("aTimedReplayIsAReplayAndItsTimesRespectDependencies"),
    LEAKS("whatIsOpenIsCountedUntilItIsClosed"),
    STAYS_OPEN("aClosedRecordingRefusesEveryCall"),
    KEEPS_OLD_VARIABLES("aVariableCanBeReadAndWrittenBetweenReplays"),
    TAKES_ANY_OPERAND("eagerErrorsNameOperatorAndTypes"),
    REUSES_TOO_SOON("eagerResultsOutliveTheReleaseOfOthers"),
    COPIES_VARIABLES("eagerExecutionUpdatesVariablesInPlace");

    final String test;

    Fault(String test) {
      this.test = test;
    }
  }

  private static Throwable failureOf(Device device, String test) throws Exception {
    DeviceContract contract =
        new DeviceContract() {
          @Override
          protected Device open() {
            return device;
          }

          @Override
          protected int randomGraphs() {
            return 4;
          }
        };
    Method method = DeviceContract.class.getMethod(test);
    contract.openDevice();
    Throwable failure = null;
    try {
      method.invoke(contract);
    } catch (InvocationTargetException e) {
      failure = e.getCause();
    }
    try {
      contract.closeDevice();
    } catch (AssertionError e) {
      failure = failure == null ? e : failure;
    }
    return failure;
  }

  @ParameterizedTest
  @EnumSource
  void aDeviceWithAFaultFails(Fault fault) throws Exception {
    assertThat(failureOf(new FaultyDevice(fault), fault.test))
        .as(fault + " in " + fault.test)
        .isNotNull();
  }

  @Test
  void theSameDeviceWithoutAFaultPasses() throws Exception {
    Set<String> tests = new TreeSet<>();
    for (Fault fault : Fault.values()) {
      tests.add(fault.test);
    }
    for (String test : tests) {
      assertThat(failureOf(new FaultyDevice(null), test)).as(test).isNull();
    }
  }

  /** The CPU device, with a fault or none. */
  private static final class FaultyDevice implements Device {
    private final Fault fault;
    private final Device device = new CpuDeviceProvider(2).open(0);
    private final Map<ExecutionPlan, Recording> recorded = new HashMap<>();

    FaultyDevice(Fault fault) {
      this.fault = fault;
    }

    private boolean has(Fault... faults) {
      return fault != null && EnumSet.copyOf(List.of(faults)).contains(fault);
    }

    @Override
    public String name() {
      return "faulty";
    }

    @Override
    public int concurrency() {
      return device.concurrency();
    }

    @Override
    public KernelChoices select(Graph graph) {
      return device.select(graph);
    }

    /** As if the streams ran one after the other and nobody waited: the last one first. */
    private static ExecutionPlan lastStreamFirst(ExecutionPlan plan) {
      List<Integer> order = new ArrayList<>();
      for (int stream = plan.streams() - 1; stream >= 0; stream--) {
        order.add(stream);
      }
      return inOrder(plan, order);
    }

    /** As if a stream that updates variables overtook all others. */
    private static ExecutionPlan updatesFirst(ExecutionPlan plan) {
      Set<Integer> order = new LinkedHashSet<>();
      for (Node node : plan.graph().nodes()) {
        if (!node.mutatedVariables().isEmpty()) {
          order.add(plan.schedule().streamOf(node));
        }
      }
      for (int stream = 0; stream < plan.streams(); stream++) {
        order.add(stream);
      }
      return inOrder(plan, order);
    }

    private static ExecutionPlan inOrder(ExecutionPlan plan, Iterable<Integer> streams) {
      List<Command> commands = new ArrayList<>();
      for (int stream : streams) {
        for (Command command : plan.commands()) {
          if (command.stream() == stream && !(command instanceof Command.WaitEvent)) {
            commands.add(command);
          }
        }
      }
      return RandomPlans.withCommands(plan, commands);
    }

    @Override
    public Recording record(ExecutionPlan plan, RecordOptions options) {
      if (has(Fault.SHARES_RECORDINGS)) {
        return recorded.computeIfAbsent(plan, device::record);
      }
      UnaryOperator<ExecutionPlan> change =
          has(Fault.IGNORES_WAITS)
              ? FaultyDevice::lastStreamFirst
              : has(Fault.IGNORES_WAITS_FOR_READERS)
                  ? FaultyDevice::updatesFirst
                  : UnaryOperator.identity();
      Recording recording = device.record(change.apply(plan), options);
      if (has(Fault.LEAVES_THE_PRERUN)) {
        recording.replay();
      }
      return new FaultyRecording(recording, plan.graph(), options.resident());
    }

    @Override
    public OperatorExecutor eager() {
      return new FaultyExecutor(device.eager());
    }

    @Override
    public int openResources() {
      return device.openResources() + (has(Fault.LEAKS) ? 1 : 0);
    }

    @Override
    public void close() {
      device.close();
    }

    /** Memory that no recording sees. */
    private record DetachedBuffer(Tensor contents) implements DeviceBuffer {
      @Override
      public TensorType type() {
        return contents.type();
      }

      @Override
      public void write(Tensor source) {
        contents.copyFrom(source);
      }

      @Override
      public void read(Tensor destination) {
        destination.copyFrom(contents);
      }

      @Override
      public void copyFrom(DeviceBuffer source) {
        source.read(contents);
      }
    }

    private final class FaultyRecording implements Recording {
      private final Recording recording;
      private final Graph graph;
      private final Set<Value> resident;
      private int replays;

      FaultyRecording(Recording recording, Graph graph, Set<Value> resident) {
        this.recording = recording;
        this.graph = graph;
        this.resident = resident;
      }

      @Override
      public Tensor input(int index) {
        return recording.input(index);
      }

      @Override
      public Tensor output(int index) {
        Tensor output = recording.output(index);
        return has(Fault.MOVES_OUTPUTS) ? output.copy() : output;
      }

      @Override
      public DeviceBuffer resident(Value value) {
        DeviceBuffer buffer = recording.resident(value);
        if (has(Fault.COPIES_RESIDENTS)) {
          return new DetachedBuffer(Tensor.zeros(value.type()));
        }
        return buffer;
      }

      @Override
      public void replay() {
        if (has(Fault.RUNS_EVERY_OTHER_TIME) && replays++ % 2 == 1) {
          return;
        }
        recording.replay();
        if (has(Fault.RUNS_TWICE)) {
          recording.replay();
        }
        if (has(Fault.ROUNDS_OTHERWISE, Fault.IS_INEXACT)) {
          for (int i = 0; i < graph.outputs().size(); i++) {
            spoil(recording.output(i), Fault.ROUNDS_OTHERWISE, Fault.IS_INEXACT);
          }
        }
        if (has(Fault.FORGETS_RESIDENTS)) {
          for (Value value : resident) {
            recording.resident(value).write(Tensor.zeros(value.type()));
          }
        }
        if (has(Fault.WRITES_INPUTS)) {
          for (int i = 0; i < graph.inputs().size(); i++) {
            spoil(recording.input(i), Fault.WRITES_INPUTS, Fault.WRITES_INPUTS);
          }
        }
      }

      private void spoil(Tensor tensor, Fault little, Fault much) {
        if (tensor.type().elements() > 0 && tensor.type().dataType().isFloating()) {
          double element = tensor.getDouble(0);
          if (has(little)) {
            tensor.setDouble(0, (double) Math.nextUp((float) element));
          } else if (has(much)) {
            tensor.setDouble(0, element + 0.01 + Math.abs(element) / 100);
          }
        }
      }

      @Override
      public Timeline replayTimed() {
        Timeline timeline = recording.replayTimed();
        if (has(Fault.TIMES_WITHOUT_RUNNING)) {
          for (int i = 0; i < graph.outputs().size(); i++) {
            Tensor output = recording.output(i);
            output.copyFrom(Tensor.zeros(output.type()));
          }
        }
        if (!has(Fault.TIMES_BACKWARDS)) {
          return timeline;
        }
        long total = timeline.totalNanos();
        List<Timeline.Span> spans = new ArrayList<>();
        for (Timeline.Span span : timeline.spans()) {
          spans.add(
              0,
              new Timeline.Span(
                  span.node(),
                  span.stream(),
                  span.worker(),
                  total - span.endNanos(),
                  total - span.startNanos()));
        }
        return new Timeline(ImmutableList.copyOf(spans), total);
      }

      @Override
      public void readVariable(int index, Tensor destination) {
        recording.readVariable(index, destination);
      }

      @Override
      public void writeVariable(int index, Tensor source) {
        if (!has(Fault.KEEPS_OLD_VARIABLES)) {
          recording.writeVariable(index, source);
        }
      }

      @Override
      public void close() {
        if (!has(Fault.STAYS_OPEN)) {
          recording.close();
        }
      }
    }

    private final class FaultyExecutor implements OperatorExecutor {
      private final OperatorExecutor executor;
      private final List<Tensor> results = new ArrayList<>();

      FaultyExecutor(OperatorExecutor executor) {
        this.executor = executor;
      }

      /** Remembers what it shows only by its copy. */
      private record Copy(Tensor tensor) implements Operand {
        @Override
        public dev.nimble.graph.TensorType type() {
          return tensor.type();
        }
      }

      private boolean copies() {
        return has(Fault.COPIES_VARIABLES, Fault.TAKES_ANY_OPERAND, Fault.REUSES_TOO_SOON);
      }

      @Override
      public Operand upload(Tensor contents) {
        return copies() ? new Copy(contents.copy()) : executor.upload(contents);
      }

      @Override
      public Operand variable(Tensor initial) {
        return copies() ? new Copy(initial.copy()) : executor.variable(initial);
      }

      @Override
      public List<Operand> execute(Operator operator, List<Operand> operands) {
        if (!copies()) {
          List<Operand> made = executor.execute(operator, operands);
          return has(Fault.IS_INEXACT_EAGERLY) ? made.stream().map(this::inexact).toList() : made;
        }
        List<Operand> uploaded = new ArrayList<>();
        for (Operand operand : operands) {
          uploaded.add(executor.upload(((Copy) operand).tensor.copy()));
        }
        List<Operand> copies = new ArrayList<>();
        for (Operand result : executor.execute(operator, uploaded)) {
          Tensor tensor = executor.download(result);
          if (has(Fault.REUSES_TOO_SOON) && results.size() > 1) {
            results.get(0).copyFrom(tensor);
            tensor = results.get(0);
          }
          results.add(tensor);
          copies.add(new Copy(tensor));
        }
        return copies;
      }

      private Operand inexact(Operand operand) {
        Tensor tensor = executor.download(operand);
        for (int i = 0; i < tensor.type().elements(); i++) {
          if (tensor.type().dataType().isFloating()) {
            tensor.setDouble(i, tensor.getDouble(i) * 1.01 + 0.01);
          }
        }
        return executor.upload(tensor);
      }

      @Override
      public Tensor download(Operand operand) {
        return copies() ? ((Copy) operand).tensor.copy() : executor.download(operand);
      }

      @Override
      public void release(Operand operand) {
        executor.release(operand);
      }

      @Override
      public void close() {
        executor.close();
      }
    }
  }
}
