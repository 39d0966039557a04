package dev.nimble.onnx;

import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Value;
import dev.nimble.op.Compare;
import dev.nimble.op.Softmax;
import java.util.List;
import java.util.stream.IntStream;

/** The losses of classification. */
final class Losses {
  private Losses() {}

  static List<Value> negativeLogLikelihood(NodeImport n) {
    n.count(2, 3);
    return List.of(loss(n, new Composition(n), n.operand(0)));
  }

  static List<Value> softmaxCrossEntropy(NodeImport n) {
    n.count(2, 3);
    Composition c = new Composition(n);
    Value logProbability = c.apply(new Softmax(1, true), n.operand(0));
    return List.of(loss(n, c, logProbability), logProbability);
  }

  /** Of log probabilities [N, C, ...] by classes [N, ...] and optional weights [C]. */
  private static Value loss(NodeImport n, Composition c, Value logs) {
    Shape shape = logs.type().shape();
    int rank = shape.rank();
    if (rank < 2 || n.shape(1).rank() != rank - 1) {
      throw new InvalidModelException("needs scores [N, C, ...] and classes [N, ...]");
    }
    int[] extents = shape.toArray();
    extents[1] = 1;
    int classes = shape.extent(1);
    Value target = c.reshape(c.cast(n.operand(1), DataType.I64), extents);
    Value hot = c.equal(target, c.counting(1, rank, classes));
    Value zero = c.scalar(logs, 0);
    Value picked = c.sum(c.where(hot, logs, zero), false, 1);
    Value counted = hot;
    if (n.attributes().has("ignore_index")) {
      Value ignored = c.scalar(DataType.I64, n.attributes().integer("ignore_index", 0));
      counted = c.and(hot, c.not(c.compare(Compare.Relation.EQUAL, target, ignored)));
    }
    Value weight = c.scalar(logs, 1);
    if (n.has(2)) {
      if (!n.shape(2).equals(Shape.of(classes))) {
        throw new InvalidModelException("weights must be [" + classes + "], not " + n.shape(2));
      }
      weight = c.along(n.operand(2), 1, rank);
    }
    Value weights = c.sum(c.where(counted, weight, zero), false, 1);
    Value losses = c.mul(c.sub(zero, picked), weights);
    int[] all = IntStream.range(0, rank - 1).toArray();
    String reduction = n.attributes().text("reduction", "mean");
    switch (reduction) {
      case "none":
        return losses;
      case "sum":
        return c.sum(losses, false, all);
      case "mean":
        return c.div(c.sum(losses, false, all), c.sum(weights, false, all));
      default:
        throw new InvalidModelException("reduction '" + reduction + "' is not defined");
    }
  }
}
