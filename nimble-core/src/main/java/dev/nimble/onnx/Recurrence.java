package dev.nimble.onnx;

import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import dev.nimble.op.Unary;
import dev.nimble.op.UnaryFunction;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * RNN, GRU and LSTM, unrolled over the sequence. The products of all inputs with W are taken at
 * once; what remains of a step is one product with R and some elementwise operators.
 */
final class Recurrence {
  private final NodeImport n;
  private final Composition c;
  private final int gates;
  private final int hidden;
  private final int time;
  private final int batch;
  private final int directions;
  private final boolean batchFirst;
  private final Value x;
  private final @Nullable Value lengths;
  private final List<UnaryOperator<Value>> activations = new ArrayList<>();
  private final float clip;

  private Recurrence(NodeImport n, int gates, int operands, String... defaults) {
    n.count(3, operands);
    this.n = n;
    this.c = new Composition(n);
    this.gates = gates;
    Attributes attributes = n.attributes();
    batchFirst = attributes.integer("layout", 0) != 0;
    attributes.ignore("output_sequence");
    if (n.shape(0).rank() != 3 || n.shape(1).rank() != 3 || n.shape(2).rank() != 3) {
      throw new InvalidModelException("needs X, W and R of rank 3");
    }
    x = batchFirst ? c.transpose(n.operand(0), 1, 0, 2) : n.operand(0);
    time = x.type().shape().extent(0);
    batch = x.type().shape().extent(1);
    hidden = n.shape(2).extent(2);
    directions = n.shape(1).extent(0);
    if (attributes.small("hidden_size", hidden) != hidden
        || !n.shape(1).equals(Shape.of(directions, gates * hidden, x.type().shape().extent(2)))
        || !n.shape(2).equals(Shape.of(directions, gates * hidden, hidden))) {
      throw new InvalidModelException("X, W, R and hidden_size do not fit");
    }
    String direction = attributes.text("direction", "forward").toLowerCase(Locale.ROOT);
    if (!List.of("forward", "reverse", "bidirectional").contains(direction)
        || directions != (direction.equals("bidirectional") ? 2 : 1)) {
      throw new InvalidModelException(
          "direction '" + direction + "' does not fit W of " + directions + " directions");
    }
    clip = attributes.real("clip", Float.POSITIVE_INFINITY);
    lengths = lengths();
    activations(defaults);
  }

  /** The lengths of the sequences as [batch, 1], or null if all are the whole. */
  private @Nullable Value lengths() {
    if (!n.has(4)) {
      return null;
    }
    if (!n.shape(4).equals(Shape.of(batch))) {
      throw new InvalidModelException("sequence_lens must be [" + batch + "], not " + n.shape(4));
    }
    if (n.isKnown(4)) {
      Tensor known = n.known(n.operand(4), "sequence_lens");
      if (Arrays.stream(known.toLongArray()).allMatch(length -> length == time)) {
        return null;
      }
    }
    return c.reshape(c.cast(n.operand(4), DataType.I64), batch, 1);
  }

  private void activations(String[] defaults) {
    List<String> names = n.attributes().texts("activations");
    float[] alphas = n.attributes().reals("activation_alpha");
    float[] betas = n.attributes().reals("activation_beta");
    int count = defaults.length * directions;
    if (names.isEmpty()) {
      for (int i = 0; i < directions; i++) {
        names = new ArrayList<>(names);
        names.addAll(List.of(defaults));
      }
    }
    if (names.size() != count) {
      throw new InvalidModelException("needs " + count + " activations, not " + names);
    }
    int nextAlpha = 0; // alphas and betas are listed for the functions that have them
    int nextBeta = 0;
    for (String name : names) {
      String lower = name.toLowerCase(Locale.ROOT);
      boolean hasAlpha =
          List.of("affine", "leakyrelu", "thresholdedrelu", "scaledtanh", "hardsigmoid", "elu")
              .contains(lower);
      boolean hasBeta = List.of("affine", "scaledtanh", "hardsigmoid").contains(lower);
      Float alpha =
          hasAlpha && alphas != null && nextAlpha < alphas.length ? alphas[nextAlpha++] : null;
      Float beta = hasBeta && betas != null && nextBeta < betas.length ? betas[nextBeta++] : null;
      activations.add(activation(lower, alpha, beta));
    }
  }

  private UnaryOperator<Value> activation(String name, @Nullable Float a, @Nullable Float b) {
    switch (name) {
      case "relu":
        return v -> c.unary(UnaryFunction.RELU, v);
      case "tanh":
        return v -> c.unary(UnaryFunction.TANH, v);
      case "sigmoid":
        return v -> c.unary(UnaryFunction.SIGMOID, v);
      case "softsign":
        return v -> c.unary(UnaryFunction.SOFTSIGN, v);
      case "softplus":
        return v -> c.unary(UnaryFunction.SOFTPLUS, v);
      case "leakyrelu":
        return with(UnaryFunction.LEAKY_RELU, a == null ? 0.01f : a, 0);
      case "thresholdedrelu":
        return with(UnaryFunction.THRESHOLDED_RELU, a == null ? 1 : a, 0);
      case "elu":
        return with(UnaryFunction.ELU, a == null ? 1 : a, 0);
      case "hardsigmoid":
        return with(UnaryFunction.HARD_SIGMOID, a == null ? 0.2f : a, b == null ? 0.5f : b);
      case "affine":
        return v -> c.add(c.mul(v, c.scalar(v, a == null ? 1 : a)), c.scalar(v, b == null ? 0 : b));
      case "scaledtanh":
        return v ->
            c.mul(
                c.unary(UnaryFunction.TANH, c.mul(v, c.scalar(v, b == null ? 1 : b))),
                c.scalar(v, a == null ? 1 : a));
      default:
        throw new InvalidModelException("activation '" + name + "' is not supported");
    }
  }

  private UnaryOperator<Value> with(UnaryFunction function, float alpha, float beta) {
    return v -> c.apply(new Unary(function, alpha, beta), v);
  }

  private Value activate(int direction, int index, Value v) {
    Value clipped =
        Float.isInfinite(clip) ? v : c.apply(new Unary(UnaryFunction.CLIP, -clip, clip), v);
    return activations.get(direction * (activations.size() / directions) + index).apply(clipped);
  }

  /** What one step makes of the states (H, and C of an LSTM). */
  private interface Step {
    Value[] next(Value input, Value[] states);
  }

  /** The tensors of one direction. */
  private Value part(int operand, int direction) {
    return c.pick(n.operand(operand), 0, direction);
  }

  /** Columns of gate {@code index} of [..., gates * hidden]. */
  private Value gate(Value all, int index) {
    return c.slice(all, all.type().shape().rank() - 1, index * hidden, hidden, 1);
  }

  /** Bias of W (first) or R, of one direction, [gates * hidden]; null if there is none. */
  private @Nullable Value bias(int direction, boolean first) {
    if (!n.has(3)) {
      return null;
    }
    if (!n.shape(3).equals(Shape.of(directions, 2 * gates * hidden))) {
      throw new InvalidModelException("B does not fit: " + n.shape(3));
    }
    return c.slice(part(3, direction), 0, first ? 0 : gates * hidden, gates * hidden, 1);
  }

  private Value initial(int operand, int direction) {
    if (!n.has(operand)) {
      return c.full(x.type().dataType(), Shape.of(batch, hidden), 0);
    }
    Value given = batchFirst ? c.transpose(n.operand(operand), 1, 0, 2) : n.operand(operand);
    if (!given.type().shape().equals(Shape.of(directions, batch, hidden))) {
      throw new InvalidModelException("an initial state does not fit: " + n.shape(operand));
    }
    return c.pick(given, 0, direction);
  }

  private static Value plus(Composition c, Value a, @Nullable Value b) {
    return b == null ? a : c.add(a, b);
  }

  /** Runs every direction; outputs Y, then the last of each state. */
  private List<Value> run(int states, java.util.function.IntFunction<Step> steps) {
    List<List<Value>> sequences = new ArrayList<>();
    List<List<Value>> last = new ArrayList<>();
    for (int s = 0; s < states; s++) {
      last.add(new ArrayList<>());
    }
    for (int d = 0; d < directions; d++) {
      String direction = n.attributes().text("direction", "forward").toLowerCase(Locale.ROOT);
      boolean reverse = d == 1 || direction.equals("reverse");
      Value w = c.transpose(part(1, d), 1, 0);
      Value inputs = plus(c, c.matMul(x, w), bias(d, true));
      Value[] state = new Value[states];
      for (int s = 0; s < states; s++) {
        state[s] = initial(5 + s, d);
      }
      Step step = steps.apply(d);
      Value[] results = new Value[time];
      for (int i = 0; i < time; i++) {
        int t = reverse ? time - 1 - i : i;
        Value[] next = step.next(c.pick(inputs, 0, t), state);
        results[t] = next[0];
        if (lengths != null) { // a sequence that has ended keeps its state, and gives zeros
          Value runs = c.less(c.scalar(DataType.I64, t), lengths);
          results[t] = c.where(runs, next[0], c.scalar(next[0], 0));
          for (int s = 0; s < states; s++) {
            next[s] = c.where(runs, next[s], state[s]);
          }
        }
        state = next;
      }
      List<Value> rows = new ArrayList<>();
      for (Value result : results) {
        rows.add(c.reshape(result, 1, 1, batch, hidden));
      }
      sequences.add(rows);
      for (int s = 0; s < states; s++) {
        last.get(s).add(c.reshape(state[s], 1, batch, hidden));
      }
    }
    List<Value> outputs = new ArrayList<>();
    outputs.add(sequence(sequences));
    for (List<Value> state : last) {
      Value all = c.concat(0, state);
      outputs.add(batchFirst ? c.transpose(all, 1, 0, 2) : all);
    }
    return outputs;
  }

  private Value sequence(List<List<Value>> directionsOfRows) {
    if (time == 0) {
      throw new InvalidModelException("the sequence is empty");
    }
    List<Value> all = new ArrayList<>();
    for (List<Value> rows : directionsOfRows) {
      all.add(c.concat(0, rows));
    }
    Value y = c.concat(1, all);
    return batchFirst ? c.transpose(y, 2, 0, 1, 3) : y;
  }

  static List<Value> rnn(NodeImport n) {
    Recurrence r = new Recurrence(n, 1, 6, "Tanh");
    Composition c = r.c;
    return r.run(
        1,
        d -> {
          Value transposed = c.transpose(r.part(2, d), 1, 0);
          Value bias = r.bias(d, false);
          return (input, states) -> {
            Value sum = c.add(input, plus(c, c.matMul(states[0], transposed), bias));
            return new Value[] {r.activate(d, 0, sum)};
          };
        });
  }

  static List<Value> gru(NodeImport n) {
    boolean linearFirst = n.attributes().integer("linear_before_reset", 0) != 0;
    Recurrence r = new Recurrence(n, 3, 6, "Sigmoid", "Tanh");
    Composition c = r.c;
    int hidden = r.hidden;
    return r.run(
        1,
        d -> {
          Value all = c.transpose(r.part(2, d), 1, 0);
          Value gates = c.slice(all, 1, 0, 2 * hidden, 1);
          Value candidates = r.gate(all, 2);
          Value bias = r.bias(d, false);
          Value gateBias = bias == null ? null : c.slice(bias, 0, 0, 2 * hidden, 1);
          Value candidateBias = bias == null ? null : r.gate(bias, 2);
          return (input, states) -> {
            Value h = states[0];
            Value sum =
                c.add(c.slice(input, 1, 0, 2 * hidden, 1), plus(c, c.matMul(h, gates), gateBias));
            Value z = r.activate(d, 0, r.gate(sum, 0));
            Value reset = r.activate(d, 0, r.gate(sum, 1));
            Value memory =
                linearFirst
                    ? c.mul(reset, plus(c, c.matMul(h, candidates), candidateBias))
                    : plus(c, c.matMul(c.mul(reset, h), candidates), candidateBias);
            Value candidate = r.activate(d, 1, c.add(r.gate(input, 2), memory));
            Value kept = c.mul(z, h);
            return new Value[] {c.add(c.mul(c.sub(c.scalar(z, 1), z), candidate), kept)};
          };
        });
  }

  static List<Value> lstm(NodeImport n) {
    boolean coupled = n.attributes().integer("input_forget", 0) != 0;
    Recurrence r = new Recurrence(n, 4, 8, "Sigmoid", "Tanh", "Tanh");
    Composition c = r.c;
    return r.run(
        2,
        d -> {
          Value transposed = c.transpose(r.part(2, d), 1, 0);
          Value bias = r.bias(d, false);
          Value peepholes = n.has(7) ? r.part(7, d) : null;
          return (input, states) -> {
            Value cell = states[1];
            Value sum = c.add(input, plus(c, c.matMul(states[0], transposed), bias));
            Value in = r.activate(d, 0, r.peep(r.gate(sum, 0), peepholes, 0, cell));
            Value forget =
                coupled
                    ? c.sub(c.scalar(in, 1), in)
                    : r.activate(d, 0, r.peep(r.gate(sum, 2), peepholes, 2, cell));
            Value candidate = r.activate(d, 1, r.gate(sum, 3));
            Value next = c.add(c.mul(forget, cell), c.mul(in, candidate));
            Value out = r.activate(d, 0, r.peep(r.gate(sum, 1), peepholes, 1, next));
            return new Value[] {c.mul(out, r.activateCell(d, next)), next};
          };
        });
  }

  /** The cell's own function, which is not clipped. */
  private Value activateCell(int direction, Value cell) {
    return activations.get(direction * 3 + 2).apply(cell);
  }

  private Value peep(Value sum, @Nullable Value peepholes, int index, Value cell) {
    return peepholes == null ? sum : c.add(sum, c.mul(gate(peepholes, index), cell));
  }
}
