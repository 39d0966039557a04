package dev.nimble.onnx;

import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Value;
import dev.nimble.op.BinaryFunction;
import dev.nimble.op.UnaryFunction;
import java.util.ArrayList;
import java.util.List;

/** The optimisers of ai.onnx.preview.training: learning rate, step number, then the tensors. */
final class TrainingSteps {
  private TrainingSteps() {}

  /** Makes the new value and the new states of one tensor. */
  private interface Update {
    Value[] of(Value x, Value gradient, Value[] states);
  }

  /** Operands are R, T, then all X, all G, and all of each state; outputs all X, all states. */
  private static List<Value> each(NodeImport n, Composition c, int states, Update update) {
    int groups = 2 + states;
    int tensors = (n.operandCount() - 2) / groups;
    if (n.operandCount() != 2 + tensors * groups || tensors < 1) {
      throw new InvalidModelException(
          "takes 2 operands and " + groups + " for each tensor, not " + n.operandCount());
    }
    double norm = n.attributes().real("norm_coefficient", 0);
    List<List<Value>> results = new ArrayList<>();
    for (int i = 0; i <= states; i++) {
      results.add(new ArrayList<>());
    }
    for (int i = 0; i < tensors; i++) {
      Value x = n.operand(2 + i);
      Value gradient = n.operand(2 + tensors + i);
      if (norm != 0) {
        gradient = c.add(c.mul(x, c.scalar(x, norm)), gradient);
      }
      Value[] state = new Value[states];
      for (int s = 0; s < states; s++) {
        state[s] = n.operand(2 + (2 + s) * tensors + i);
      }
      Value[] made = update.of(x, gradient, state);
      for (int s = 0; s <= states; s++) {
        results.get(s).add(made[s]);
      }
    }
    List<Value> outputs = new ArrayList<>();
    results.forEach(outputs::addAll);
    return outputs;
  }

  private static Value rate(NodeImport n, Composition c) {
    return c.reshape(n.operand(0), Shape.scalar());
  }

  private static Value count(NodeImport n, Composition c, DataType type) {
    return c.cast(c.reshape(n.operand(1), Shape.scalar()), type);
  }

  private static Value mix(Composition c, Value old, double share, Value now, double rest) {
    return c.add(c.mul(old, c.scalar(old, share)), c.mul(now, c.scalar(now, rest)));
  }

  static List<Value> adagrad(NodeImport n) {
    n.count(5, Integer.MAX_VALUE);
    Composition c = new Composition(n);
    Value rate = rate(n, c);
    double decay = n.attributes().real("decay_factor", 0);
    Value steps = c.mul(count(n, c, rate.type().dataType()), c.scalar(rate, decay));
    Value slowed = c.div(rate, c.add(steps, c.scalar(rate, 1)));
    double epsilon = n.attributes().real("epsilon", 0);
    return each(
        n,
        c,
        1,
        (x, g, states) -> {
          Value sum = c.add(states[0], c.mul(g, g));
          Value scale = c.add(c.unary(UnaryFunction.SQRT, sum), c.scalar(x, epsilon));
          return new Value[] {c.sub(x, c.div(c.mul(slowed, g), scale)), sum};
        });
  }

  static List<Value> adam(NodeImport n) {
    n.count(6, Integer.MAX_VALUE);
    Composition c = new Composition(n);
    double alpha = n.attributes().real("alpha", 0.9f);
    double beta = n.attributes().real("beta", 0.999f);
    if (!n.attributes().has("epsilon")) {
      throw new InvalidModelException(
          "epsilon must be given: with the default of 0, zero gradients make a tensor NaN");
    }
    double epsilon = n.attributes().real("epsilon", 0);
    double after = n.attributes().real("norm_coefficient_post", 0);
    Value rate = rate(n, c);
    Value count = count(n, c, rate.type().dataType());
    Value one = c.scalar(rate, 1);
    dev.nimble.op.Binary power = new dev.nimble.op.Binary(BinaryFunction.POW);
    Value first = c.sub(one, c.apply(power, c.scalar(rate, alpha), count));
    Value second = c.sub(one, c.apply(power, c.scalar(rate, beta), count));
    Value corrected = c.div(c.mul(rate, c.unary(UnaryFunction.SQRT, second)), first);
    Value used = c.where(c.less(c.scalar(count, 0), count), corrected, rate);
    return each(
        n,
        c,
        2,
        (x, g, states) -> {
          Value mean = mix(c, states[0], alpha, g, 1 - alpha);
          Value square = mix(c, states[1], beta, c.mul(g, g), 1 - beta);
          Value scale = c.add(c.unary(UnaryFunction.SQRT, square), c.scalar(x, epsilon));
          Value moved = c.sub(x, c.div(c.mul(used, mean), scale));
          return new Value[] {
            after == 0 ? moved : c.mul(moved, c.scalar(x, 1 - after)), mean, square
          };
        });
  }

  static List<Value> momentum(NodeImport n) {
    n.count(5, Integer.MAX_VALUE);
    Composition c = new Composition(n);
    double alpha = n.attributes().real("alpha", 0);
    double beta = n.attributes().real("beta", 0);
    String mode = n.attributes().text("mode", "");
    if (!mode.equals("standard") && !mode.equals("nesterov")) {
      throw new InvalidModelException("mode '" + mode + "' is not defined");
    }
    Value rate = rate(n, c);
    Value count = count(n, c, rate.type().dataType());
    Value share =
        c.where(c.less(c.scalar(count, 0), count), c.scalar(rate, beta), c.scalar(rate, 1));
    return each(
        n,
        c,
        1,
        (x, g, states) -> {
          Value velocity = c.add(c.mul(states[0], c.scalar(x, alpha)), c.mul(share, g));
          Value step =
              mode.equals("standard") ? velocity : c.add(g, c.mul(velocity, c.scalar(x, alpha)));
          return new Value[] {c.sub(x, c.mul(rate, step)), velocity};
        });
  }
}
