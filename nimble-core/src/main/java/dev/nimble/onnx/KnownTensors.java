package dev.nimble.onnx;

import com.google.common.collect.ImmutableSortedSet;
import dev.nimble.error.InvalidModelException;
import dev.nimble.error.NimbleException;
import dev.nimble.error.UnknownInputException;
import dev.nimble.graph.Node;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import dev.nimble.graph.Value;
import dev.nimble.op.ShapeOf;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The contents of values that follow from constants and shapes alone, worked out on demand by the
 * reference kernels and remembered. Bounded: what is worked out is charged to {@link
 * ImportLimits#computedBytes()}.
 */
final class KnownTensors {
  private final long limitBytes;
  private long chargedBytes;
  private final Map<Value, Tensor> computed = new HashMap<>();
  private final Set<Value> unknown = new HashSet<>();

  KnownTensors(ImportLimits limits) {
    this.limitBytes = limits.computedBytes();
  }

  /**
   * The contents of {@code value}, or null if they depend on an input.
   *
   * @throws InvalidModelException if they take more memory than allowed, or a kernel refuses its
   *     operands
   */
  @Nullable Tensor contents(Value value) {
    Deque<Value> open = new ArrayDeque<>(); // a stack of our own: chains may be long
    open.push(value);
    while (!open.isEmpty()) {
      Value next = open.peek();
      Node producer = next.producer();
      if (of(next) != null || unknown.contains(next)) {
        open.pop();
      } else if (producer == null) {
        unknown.add(next);
      } else if (producer.operator() instanceof ShapeOf) {
        computed.put(next, extents(producer));
      } else if (producer.inputs().stream().anyMatch(unknown::contains)) {
        unknown.addAll(producer.outputs());
      } else {
        int before = open.size();
        producer.inputs().stream().filter(input -> of(input) == null).forEach(open::push);
        if (open.size() == before) {
          compute(producer);
        }
      }
    }
    return of(value);
  }

  /** What to say of {@code value}, whose contents are not known: on which inputs it depends. */
  UnknownInputException unknown(Value value, String what) {
    ImmutableSortedSet.Builder<String> inputs = ImmutableSortedSet.naturalOrder();
    Deque<Value> open = new ArrayDeque<>();
    Set<Value> seen = new HashSet<>();
    open.push(value);
    while (!open.isEmpty()) {
      Value next = open.pop();
      Node producer = next.producer();
      if (!seen.add(next) || of(next) != null) {
        continue;
      }
      if (producer != null) {
        producer.inputs().forEach(open::push);
      } else {
        inputs.add(next.name());
      }
    }
    return new UnknownInputException(
        what
            + " (operand '"
            + value.name()
            + "') depends on the input "
            + String.join(", ", inputs.build())
            + "; it must follow from constants and shapes, or the input be given as a constant",
        inputs.build());
  }

  private @Nullable Tensor of(Value value) {
    return value.kind() == Value.Kind.CONSTANT ? value.contents() : computed.get(value);
  }

  private static Tensor extents(Node shapeOf) {
    Tensor extents = Tensor.zeros(shapeOf.output().type());
    ShapeOf.write(shapeOf.inputs().get(0).type().shape(), extents);
    return extents;
  }

  private void compute(Node node) {
    List<Tensor> operands = new ArrayList<>();
    for (Value input : node.inputs()) {
      Tensor contents = of(input);
      if (contents == null) {
        throw new IllegalStateException(input + " is not known");
      }
      operands.add(contents);
    }
    List<Tensor> results = new ArrayList<>();
    for (Value output : node.outputs()) {
      results.add(allocate(output.type()));
    }
    try {
      node.operator().bind(operands, results).run();
    } catch (NimbleException e) {
      throw new InvalidModelException(e.what(), node.location(), e);
    }
    for (int i = 0; i < results.size(); i++) {
      computed.put(node.outputs().get(i), results.get(i));
    }
  }

  /** A tensor of zeros, charged to the limit before it is allocated. */
  Tensor allocate(TensorType type) {
    charge(type);
    return Tensor.zeros(type);
  }

  /** Charges a tensor of that type to the limit. */
  void charge(TensorType type) {
    if (type.sizeBytes() > limitBytes - chargedBytes) {
      throw new InvalidModelException(
          "working out a constant of "
              + type
              + " exceeds the limit of "
              + limitBytes
              + " bytes for all such constants");
    }
    chargedBytes += type.sizeBytes();
  }
}
