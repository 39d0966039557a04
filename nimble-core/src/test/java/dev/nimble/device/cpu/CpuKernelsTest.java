package dev.nimble.device.cpu;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.common.collect.ImmutableList;
import com.google.common.primitives.ImmutableDoubleArray;
import com.google.common.primitives.ImmutableIntArray;
import com.sun.management.ThreadMXBean;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Operator;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.op.BatchNormalization;
import dev.nimble.op.Binary;
import dev.nimble.op.BinaryFunction;
import dev.nimble.op.Conv;
import dev.nimble.op.ConvTranspose;
import dev.nimble.op.Expand;
import dev.nimble.op.FusedElementwise;
import dev.nimble.op.Gemm;
import dev.nimble.op.GlobalPool;
import dev.nimble.op.LayerNormalization;
import dev.nimble.op.MatMul;
import dev.nimble.op.Pool;
import dev.nimble.op.Reduce;
import dev.nimble.op.Resize;
import dev.nimble.op.Softmax;
import dev.nimble.op.StridedSlice;
import dev.nimble.op.Transpose;
import dev.nimble.op.Unary;
import dev.nimble.op.UnaryFunction;
import dev.nimble.op.Window;
import dev.nimble.testkit.RandomTensors;
import dev.nimble.testkit.Seeds;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Every fast kernel against the operator's reference kernel. */
class CpuKernelsTest {
  private static final double TOLERANCE = 2e-5;

  private static TensorType f32(int... extents) {
    return TensorType.f32(extents);
  }

  /** Runs both kernels on random operands; in place as well where the kernel says that it can. */
  private static void check(Operator operator, Random random, TensorType... inputs) {
    List<TensorType> types = List.of(inputs);
    List<TensorType> results = operator.infer(types);
    CpuKernel kernel = CpuKernels.of(operator, types, results);
    assertThat(kernel.choice().kernel())
        .as("a fast kernel for %s of %s", operator, types)
        .doesNotStartWith("reference");
    List<Tensor> operands = new ArrayList<>();
    for (TensorType type : types) {
      Tensor tensor = RandomTensors.of(type, random);
      if (operator instanceof BatchNormalization && operands.size() == 4) {
        for (int i = 0; i < type.elements(); i++) { // a variance is not negative
          tensor.setDouble(i, Math.abs(tensor.getDouble(i)));
        }
      }
      operands.add(tensor);
    }
    Tensor expected = Tensor.zeros(results.get(0));
    operator.bind(operands, List.of(expected)).run();
    Tensor actual = RandomTensors.of(results.get(0), random);
    Runnable bound = kernel.bind(operands, List.of(actual), workspace(kernel));
    bound.run();
    assertClose(actual, expected, operator, types);
    bound.run();
    assertClose(actual, expected, operator, types);
    for (int overwritten : kernel.choice().inPlaceInputs()) {
      List<Tensor> own = new ArrayList<>(operands);
      Tensor shared = operands.get(overwritten).copy();
      own.set(overwritten, shared);
      kernel.bind(own, List.of(shared.reshaped(results.get(0).shape())), workspace(kernel)).run();
      assertClose(shared.reshaped(results.get(0).shape()), expected, operator, types);
    }
  }

  private static @Nullable Tensor workspace(CpuKernel kernel) {
    long bytes = kernel.choice().workspaceBytes();
    return bytes == 0 ? null : Tensor.zeros(TensorType.of(DataType.U8, Math.toIntExact(bytes)));
  }

  private static void assertClose(
      Tensor actual, Tensor expected, Operator operator, List<TensorType> types) {
    assertThat(RandomTensors.largestDifference(actual, expected))
        .as("%s of %s", operator, types)
        .isLessThanOrEqualTo(TOLERANCE);
  }

  private static int between(Random random, int least, int most) {
    return least + random.nextInt(most - least + 1);
  }

  private static @Nullable Unary activation(Random random) {
    switch (random.nextInt(4)) {
      case 0:
        return Unary.of(UnaryFunction.RELU);
      case 1:
        return new Unary(UnaryFunction.CLIP, -0.5f, 0.5f);
      case 2:
        return Unary.of(UnaryFunction.GELU);
      default:
        return null;
    }
  }

  @Test
  void everyUnaryFunctionAtOddSizes() {
    Seeds.forEach(
        1,
        (random, seed) -> {
          for (UnaryFunction function : UnaryFunction.values()) {
            for (int n : new int[] {1, 7, 64, 65, 1023, 1024, 1025, 3000}) {
              check(new Unary(function, 0.25f, 0.75f), random, f32(n));
            }
          }
        });
  }

  @Test
  void binaryFunctionsBroadcastInEveryWay() {
    Seeds.forEach(
        300,
        (random, seed) -> {
          int rank = between(random, 1, 4);
          int[] a = new int[rank];
          int[] b = new int[rank];
          for (int axis = 0; axis < rank; axis++) {
            int extent = between(random, 1, axis == rank - 1 ? 40 : 6);
            a[axis] = random.nextInt(3) == 0 ? 1 : extent;
            b[axis] = random.nextInt(3) == 0 ? 1 : extent;
          }
          int drop = random.nextInt(rank);
          TensorType second = f32(Arrays.copyOfRange(b, drop, rank));
          BinaryFunction[] functions = {
            BinaryFunction.ADD,
            BinaryFunction.SUB,
            BinaryFunction.MUL,
            BinaryFunction.MAX,
            BinaryFunction.MIN,
            BinaryFunction.PRELU
          };
          Binary operator = new Binary(functions[random.nextInt(functions.length)]);
          if (random.nextBoolean()) {
            check(operator, random, f32(a), second);
          } else {
            check(operator, random, second, f32(a));
          }
        });
  }

  @Test
  void fusedElementwise() {
    Seeds.forEach(
        100,
        (random, seed) -> {
          int c = between(random, 1, 5);
          int h = between(random, 1, 300);
          FusedElementwise.Step add =
              new FusedElementwise.Step(new Binary(BinaryFunction.ADD), ImmutableIntArray.of(0, 1));
          FusedElementwise.Step tanh =
              new FusedElementwise.Step(Unary.of(UnaryFunction.TANH), ImmutableIntArray.of(3));
          FusedElementwise.Step multiply =
              new FusedElementwise.Step(new Binary(BinaryFunction.MUL), ImmutableIntArray.of(4, 2));
          FusedElementwise.Step subtract =
              new FusedElementwise.Step(new Binary(BinaryFunction.SUB), ImmutableIntArray.of(5, 3));
          check(
              new FusedElementwise(ImmutableList.of(add, tanh, multiply, subtract), 3),
              random,
              f32(2, c, h),
              f32(1, c, 1),
              f32(h));
        });
  }

  @Test
  void matrixProducts() {
    Seeds.forEach(
        120,
        (random, seed) -> {
          int m = between(random, 1, 19);
          int k = between(random, 1, 37);
          int n = between(random, 1, seed % 5 == 0 ? 600 : 40);
          int batch = between(random, 1, 3);
          MatMul operator = new MatMul(activation(random));
          switch (random.nextInt(5)) {
            case 0:
              check(operator, random, f32(batch, m, k), f32(k, n));
              break;
            case 1:
              check(operator, random, f32(batch, 1, m, k), f32(2, k, n));
              break;
            case 2:
              check(operator, random, f32(k), f32(batch, k, n));
              break;
            case 3:
              check(operator, random, f32(m, k), f32(k));
              break;
            default:
              check(operator, random, f32(m, k), f32(k, n), random.nextBoolean() ? f32(n) : f32(1));
              break;
          }
          boolean transA = random.nextBoolean();
          boolean transB = random.nextBoolean();
          Gemm gemm = new Gemm(0.5f, 2f, transA, transB, activation(random));
          check(
              gemm, random, transA ? f32(k, m) : f32(m, k), transB ? f32(n, k) : f32(k, n), f32(n));
        });
  }

  /** With a column B the last axis of the result is A's rows, along which a bias then lies. */
  @Test
  void productsWithAColumnAndABias() {
    Seeds.forEach(
        60,
        (random, seed) -> {
          int m = between(random, 1, 9);
          int k = between(random, 1, 9);
          int n = between(random, 1, 9);
          MatMul operator = new MatMul(activation(random));
          checkChosen(operator, random, f32(m, k), f32(k), f32(m));
          checkChosen(operator, random, f32(3, m, k), f32(k), f32(m));
          checkChosen(operator, random, f32(3, m, k), f32(k), f32(3, 1));
          checkChosen(operator, random, f32(k), f32(k, n), f32(n));
          checkChosen(operator, random, f32(k), f32(k), f32());
          checkChosen(operator, random, f32(3, m, k), f32(k, n), f32(3, 1, n));
          checkChosen(operator, random, f32(m, k), f32(k, n), f32(m, 1));
          checkChosen(operator, random, f32(m, k), f32(k, n), f32(m, n));
        });
  }

  /** Whichever kernel is chosen, it must equal the reference. */
  private static void checkChosen(Operator operator, Random random, TensorType... inputs) {
    List<TensorType> types = List.of(inputs);
    List<TensorType> results = operator.infer(types);
    CpuKernel kernel = CpuKernels.of(operator, types, results);
    List<Tensor> operands = types.stream().map(type -> RandomTensors.of(type, random)).toList();
    Tensor expected = Tensor.zeros(results.get(0));
    operator.bind(operands, List.of(expected)).run();
    Tensor actual = RandomTensors.of(results.get(0), random);
    kernel.bind(operands, List.of(actual), workspace(kernel)).run();
    assertClose(actual, expected, operator, types);
  }

  private static Window window(Random random, int kernelH, int kernelW) {
    return new Window(
        ImmutableIntArray.of(between(random, 1, 3), between(random, 1, 3)),
        ImmutableIntArray.of(between(random, 1, 2), between(random, 1, 2)),
        ImmutableIntArray.of(between(random, 0, 2 * kernelH), between(random, 0, 2 * kernelW)),
        ImmutableIntArray.of(between(random, 0, 2), between(random, 0, 2)));
  }

  @Test
  void convolutions() {
    Seeds.forEach(
        300,
        (random, seed) -> {
          int kernelH = between(random, 1, 5);
          int kernelW = between(random, 1, 6);
          int group = between(random, 1, 3);
          boolean depthwise = random.nextInt(3) == 0;
          int channels = depthwise ? group : group * between(random, 1, 4);
          int filters = depthwise ? channels : group * between(random, 1, 6);
          int h = between(random, 2 * kernelH, 2 * kernelH + 8);
          int w = between(random, 2 * kernelW, 2 * kernelW + (seed % 9 == 0 ? 1100 : 20));
          Conv conv = new Conv(window(random, kernelH, kernelW), group, activation(random));
          List<TensorType> types =
              new ArrayList<>(
                  List.of(
                      f32(between(random, 1, 2), channels, h, w),
                      f32(filters, channels / group, kernelH, kernelW)));
          if (random.nextBoolean()) {
            types.add(f32(filters));
          }
          check(conv, random, types.toArray(TensorType[]::new));
        });
  }

  @Test
  void pointwiseAndOneDimensionalConvolutions() {
    Seeds.forEach(
        60,
        (random, seed) -> {
          int channels = between(random, 1, 9);
          int filters = between(random, 1, 9);
          int w = between(random, 1, 400);
          check(
              new Conv(Window.square(1, 0), 1, activation(random)),
              random,
              f32(2, channels, 2, w),
              f32(filters, channels, 1, 1),
              f32(filters));
          Window line =
              new Window(
                  ImmutableIntArray.of(2),
                  ImmutableIntArray.of(1),
                  ImmutableIntArray.of(1),
                  ImmutableIntArray.of(2));
          check(new Conv(line, 1), random, f32(1, channels, w), f32(filters, channels, 3));
        });
  }

  @Test
  void transposedConvolutionsWithoutOverlap() {
    Seeds.forEach(
        60,
        (random, seed) -> {
          int h = between(random, 1, 3);
          int w = between(random, 1, 3);
          int channels = between(random, 1, 6);
          int filters = between(random, 1, 6);
          ImmutableIntArray zeros = ImmutableIntArray.of(0, 0);
          Window window =
              new Window(ImmutableIntArray.of(h, w), ImmutableIntArray.of(1, 1), zeros, zeros);
          check(
              new ConvTranspose(window, zeros, 1, activation(random)),
              random,
              f32(2, channels, between(random, 1, 9), between(random, 1, 60)),
              f32(channels, filters, h, w),
              f32(filters));
        });
  }

  @Test
  void pools() {
    Seeds.forEach(
        150,
        (random, seed) -> {
          int kernelH = between(random, 1, 4);
          int kernelW = between(random, 1, 4);
          Window window =
              new Window(
                  ImmutableIntArray.of(between(random, 1, 3), between(random, 1, 3)),
                  ImmutableIntArray.of(between(random, 1, 2), between(random, 1, 2)),
                  ImmutableIntArray.of(random.nextInt(kernelH), random.nextInt(kernelW)),
                  ImmutableIntArray.of(random.nextInt(kernelH), random.nextInt(kernelW)));
          Pool.Function function = random.nextBoolean() ? Pool.Function.MAX : Pool.Function.AVERAGE;
          check(
              new Pool(
                  function,
                  ImmutableIntArray.of(kernelH, kernelW),
                  window,
                  random.nextBoolean(),
                  random.nextBoolean()),
              random,
              f32(2, 3, between(random, 8, 14), between(random, 8, 14)));
          check(
              new GlobalPool(Pool.Function.AVERAGE),
              random,
              f32(2, 3, between(random, 1, 9), between(random, 1, 9)));
        });
  }

  @Test
  void rows() {
    Seeds.forEach(
        100,
        (random, seed) -> {
          int n = between(random, 1, seed % 4 == 0 ? 3000 : 70);
          int rows = between(random, 1, 5);
          check(new Softmax(-1, false), random, f32(2, rows, n));
          check(new LayerNormalization(-1, 1e-5f), random, f32(rows, n), f32(n), f32(n));
          check(new LayerNormalization(1, 1e-5f), random, f32(rows, n), f32(n));
          check(
              new BatchNormalization(0.5f),
              random,
              f32(2, rows, n),
              f32(rows),
              f32(rows),
              f32(rows),
              f32(rows));
          for (Reduce.Function function : List.of(Reduce.Function.MEAN, Reduce.Function.SUM)) {
            check(
                new Reduce(function, ImmutableIntArray.of(1, 2), random.nextBoolean()),
                random,
                f32(rows, 3, n));
          }
        });
  }

  @Test
  void moves() {
    Seeds.forEach(
        150,
        (random, seed) -> {
          int rank = between(random, 1, 4);
          int[] extents = IntStream.range(0, rank).map(i -> between(random, 1, 7)).toArray();
          List<Integer> axes = new ArrayList<>(IntStream.range(0, rank).boxed().toList());
          java.util.Collections.shuffle(axes, random);
          check(new Transpose(ImmutableIntArray.copyOf(axes)), random, f32(extents));

          int[] starts = new int[rank];
          int[] counts = new int[rank];
          int[] steps = new int[rank];
          for (int axis = 0; axis < rank; axis++) {
            steps[axis] = random.nextBoolean() ? 1 : random.nextBoolean() ? 2 : -1;
            starts[axis] = random.nextInt(extents[axis]);
            int room = steps[axis] > 0 ? extents[axis] - 1 - starts[axis] : starts[axis];
            counts[axis] = 1 + random.nextInt(room / Math.abs(steps[axis]) + 1);
          }
          check(
              new StridedSlice(
                  ImmutableIntArray.copyOf(starts),
                  ImmutableIntArray.copyOf(counts),
                  ImmutableIntArray.copyOf(steps)),
              random,
              f32(extents));

          int[] target = extents.clone();
          int wide = random.nextInt(rank);
          extents[wide] = 1;
          target[wide] = between(random, 1, 9);
          check(new Expand(Shape.of(target)), random, f32(extents));

          int factor = between(random, 1, 3);
          check(
              new Resize(
                  Resize.Mode.NEAREST,
                  Resize.Transform.ASYMMETRIC,
                  Resize.Rounding.FLOOR,
                  -0.75f,
                  false,
                  Shape.of(1, 2, 3 * factor, 5 * factor),
                  ImmutableDoubleArray.of(1, 1, factor, factor)),
              random,
              f32(1, 2, 3, 5));
        });
  }

  /** A broken kernel would be noticed: the check itself fails on a result that is off. */
  @Test
  void theCheckBites() {
    Tensor one = Tensor.of(Shape.of(2), 1f, 2f);
    Tensor other = Tensor.of(Shape.of(2), 1f, 2.001f);
    org.assertj.core.api.Assertions.assertThatThrownBy(
            () -> assertClose(one, other, Unary.of(UnaryFunction.RELU), List.of()))
        .isInstanceOf(AssertionError.class);
  }

  @Test
  void runningAllocatesNothing() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    Random random = new Random(5);
    List<Runnable> kernels = new ArrayList<>();
    kernels.add(bound(new MatMul(), random, f32(2, 9, 33), f32(33, 300)));
    kernels.add(
        bound(new Conv(Window.square(2, 1), 1), random, f32(1, 5, 20, 20), f32(7, 5, 3, 3)));
    kernels.add(
        bound(new Conv(Window.square(1, 1), 5), random, f32(1, 5, 20, 20), f32(5, 1, 3, 3)));
    kernels.add(bound(new Softmax(-1, false), random, f32(4, 400)));
    kernels.add(bound(new Binary(BinaryFunction.ADD), random, f32(3, 4, 500), f32(4, 1)));
    kernels.add(bound(new Transpose(ImmutableIntArray.of(1, 0)), random, f32(30, 40)));
    for (Runnable kernel : kernels) {
      for (int i = 0; i < 500; i++) {
        kernel.run();
      }
      long least = Long.MAX_VALUE;
      for (int attempt = 0; attempt < 8; attempt++) { // the JIT may still be at work in the first
        long before = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
        for (int i = 0; i < 100; i++) {
          kernel.run();
        }
        long after = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
        least = Math.min(least, after - before);
      }
      assertThat(least).isZero();
    }
  }

  private static Runnable bound(Operator operator, Random random, TensorType... types) {
    List<TensorType> inputs = List.of(types);
    List<TensorType> outputs = operator.infer(inputs);
    CpuKernel kernel = CpuKernels.of(operator, inputs, outputs);
    return kernel.bind(
        inputs.stream().map(type -> RandomTensors.of(type, random)).toList(),
        outputs.stream().map(Tensor::zeros).toList(),
        workspace(kernel));
  }
}
