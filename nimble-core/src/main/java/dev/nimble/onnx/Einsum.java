package dev.nimble.onnx;

import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.Shape;
import dev.nimble.graph.Value;
import dev.nimble.op.Reduce;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Einstein summation as matrix products: operands are combined from the left, and an index is
 * summed as soon as nothing further needs it. An ellipsis stands for broadcast axes, which get
 * labels of their own (digits, aligned at the last).
 */
final class Einsum {
  private final Composition c;

  /** A value and the label of each of its axes. */
  private record Term(Value value, List<Character> labels) {
    int extent(char label) {
      return value.type().shape().extent(labels.indexOf(label));
    }
  }

  private Einsum(Composition c) {
    this.c = c;
  }

  static List<Value> einsum(NodeImport n) {
    List<Value> operands = n.operands(1, Integer.MAX_VALUE);
    String equation = n.attributes().text("equation", "").replace(" ", "");
    int arrow = equation.indexOf("->");
    String[] left = (arrow < 0 ? equation : equation.substring(0, arrow)).split(",", -1);
    if (left.length != operands.size()) {
      throw new InvalidModelException(
          "equation '" + equation + "' is for " + left.length + " operands");
    }
    Einsum einsum = new Einsum(new Composition(n));
    List<Term> terms = new ArrayList<>();
    for (int i = 0; i < left.length; i++) {
      terms.add(einsum.term(operands.get(i), left[i], equation));
    }
    List<Character> result =
        arrow < 0
            ? implicit(terms, left)
            : explicit(terms, equation.substring(arrow + 2), equation);
    return List.of(einsum.contract(terms, result));
  }

  private Term term(Value value, String text, String equation) {
    int rank = value.type().shape().rank();
    int dots = text.indexOf("...");
    List<Character> labels = new ArrayList<>();
    int hidden = rank - text.replace("...", "").length();
    if (hidden < 0 || (dots < 0 && hidden > 0) || hidden > 10) {
      throw new InvalidModelException(
          "'" + text + "' of equation '" + equation + "' does not fit " + value.type());
    }
    for (int i = 0; i < text.length(); i++) {
      if (i == dots) {
        for (int k = hidden - 1; k >= 0; k--) {
          labels.add((char) ('0' + k));
        }
        i += 2;
      } else if (Character.isLetter(text.charAt(i))) {
        labels.add(text.charAt(i));
      } else {
        throw new InvalidModelException("equation '" + equation + "' is malformed");
      }
    }
    return diagonal(value, labels, equation);
  }

  /** Takes the diagonal of axes with one label. */
  private Term diagonal(Value value, List<Character> labels, String equation) {
    for (int i = 0; i < labels.size(); i++) {
      int j = labels.lastIndexOf(labels.get(i));
      if (j == i) {
        continue;
      }
      int extent = value.type().shape().extent(i);
      if (value.type().shape().extent(j) != extent) {
        throw new InvalidModelException(
            "label '" + labels.get(i) + "' of '" + equation + "' has two extents");
      }
      int rank = labels.size();
      int[] order = new int[rank];
      List<Character> rest = new ArrayList<>();
      int next = 2;
      for (int k = 0; k < rank; k++) {
        if (k != i && k != j) {
          order[next++] = k;
          rest.add(labels.get(k));
        }
      }
      order[0] = i;
      order[1] = j;
      Value front = c.transpose(value, order);
      int[] extents = front.type().shape().toArray();
      int inner = front.type().elements() / Math.max(1, extent * extent);
      Value flat = c.reshape(front, extent * extent, inner);
      Value picked = c.gather(flat, 0, c.longs(Shape.of(extent), k -> (long) k * (extent + 1)));
      int[] left = new int[rank - 1];
      left[0] = extent;
      System.arraycopy(extents, 2, left, 1, rank - 2);
      rest.add(0, labels.get(i));
      return diagonal(c.reshape(picked, left), rest, equation);
    }
    return new Term(value, labels);
  }

  /** Hidden axes first, then every label that occurs once, in alphabetical order. */
  private static List<Character> implicit(List<Term> terms, String[] left) {
    String all = String.join("", left).replace("...", "");
    List<Character> result = hidden(terms);
    all.chars()
        .filter(label -> all.indexOf(label) == all.lastIndexOf(label))
        .sorted()
        .forEach(label -> result.add((char) label));
    return result;
  }

  private static List<Character> hidden(List<Term> terms) {
    List<Character> hidden = new ArrayList<>();
    for (char k = '9'; k >= '0'; k--) {
      char label = k;
      if (terms.stream().anyMatch(term -> term.labels().contains(label))) {
        hidden.add(label);
      }
    }
    return hidden;
  }

  private static List<Character> explicit(List<Term> terms, String text, String equation) {
    List<Character> result = new ArrayList<>();
    for (int i = 0; i < text.length(); i++) {
      char label = text.charAt(i);
      if (text.startsWith("...", i)) {
        result.addAll(hidden(terms));
        i += 2;
      } else if (terms.stream().anyMatch(term -> term.labels().contains(label))
          && !result.contains(label)) {
        result.add(label);
      } else {
        throw new InvalidModelException("equation '" + equation + "' is malformed");
      }
    }
    return result;
  }

  private Value contract(List<Term> terms, List<Character> result) {
    Term so = terms.get(0);
    for (int i = 1; i < terms.size(); i++) {
      Set<Character> needed = new LinkedHashSet<>(result);
      terms.subList(i + 1, terms.size()).forEach(term -> needed.addAll(term.labels()));
      so = product(so, terms.get(i), needed);
    }
    Term reduced = sumAllBut(so, result);
    int[] order = result.stream().mapToInt(reduced.labels()::indexOf).toArray();
    return c.transpose(reduced.value(), order);
  }

  private Term sumAllBut(Term term, Collection<Character> kept) {
    List<Character> left = new ArrayList<>(term.labels());
    left.retainAll(kept);
    int[] gone =
        term.labels().stream()
            .filter(label -> !kept.contains(label))
            .mapToInt(term.labels()::indexOf)
            .sorted()
            .toArray();
    return gone.length == 0
        ? term
        : new Term(c.reduce(Reduce.Function.SUM, term.value(), false, gone), left);
  }

  /** The product of two terms, summed over labels that are not {@code needed}. */
  private Term product(Term first, Term second, Set<Character> needed) {
    Set<Character> forFirst = new LinkedHashSet<>(needed);
    forFirst.addAll(second.labels());
    Set<Character> forSecond = new LinkedHashSet<>(needed);
    forSecond.addAll(first.labels());
    Term a = sumAllBut(first, forFirst);
    Term b = sumAllBut(second, forSecond);
    List<Character> batch = new ArrayList<>();
    List<Character> summed = new ArrayList<>();
    List<Character> rows = new ArrayList<>();
    for (char label : a.labels()) {
      (!b.labels().contains(label) ? rows : needed.contains(label) ? batch : summed).add(label);
    }
    List<Character> columns = new ArrayList<>(b.labels());
    columns.removeAll(a.labels());
    for (char label : summed) {
      int p = a.extent(label);
      int q = b.extent(label);
      if (p != q) { // 1 against n: sum what is broadcast by itself
        a = p == 1 ? widen(a, label, q) : a;
        b = q == 1 ? widen(b, label, p) : b;
      }
    }
    Value left = arrange(a, batch, rows, summed);
    Value right = arrange(b, batch, summed, columns);
    Value product = c.matMul(left, right);
    List<Character> labels = new ArrayList<>(batch);
    labels.addAll(rows);
    labels.addAll(columns);
    int[] extents = new int[labels.size()];
    for (int i = 0; i < extents.length; i++) {
      char label = labels.get(i);
      extents[i] =
          i < batch.size()
              ? product.type().shape().extent(i)
              : rows.contains(label) ? a.extent(label) : b.extent(label);
    }
    return new Term(c.reshape(product, extents), labels);
  }

  private Term widen(Term term, char label, int extent) {
    int[] extents = term.value().type().shape().toArray();
    extents[term.labels().indexOf(label)] = extent;
    return new Term(c.expand(term.value(), Shape.of(extents)), term.labels());
  }

  /** The term as [batch..., first flattened, second flattened]. */
  private Value arrange(
      Term term, List<Character> batch, List<Character> first, List<Character> second) {
    List<Character> order = new ArrayList<>(batch);
    order.addAll(first);
    order.addAll(second);
    Value ordered =
        c.transpose(
            term.value(), order.stream().mapToInt(label -> term.labels().indexOf(label)).toArray());
    int[] extents = new int[batch.size() + 2];
    for (int i = 0; i < batch.size(); i++) {
      extents[i] = ordered.type().shape().extent(i);
    }
    extents[batch.size()] = size(term, first);
    extents[batch.size() + 1] = size(term, second);
    return c.reshape(ordered, extents);
  }

  private static int size(Term term, List<Character> labels) {
    return Shape.of(labels.stream().mapToInt(term::extent).toArray()).elements();
  }
}
