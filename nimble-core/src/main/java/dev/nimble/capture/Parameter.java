package dev.nimble.capture;

import dev.nimble.error.InvalidArgumentException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Operand;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * A tensor that a {@link Module} owns. Model code uses it as any operand; what it becomes depends
 * on its kind and on how the model is captured. Two modules may hold the same parameter: it stays
 * one, under the path at which it is found first.
 */
public final class Parameter implements Operand {
  /** What a parameter is for. */
  public enum Kind {
    /** Learned: a constant in inference, a variable in training. */
    LEARNED,
    /** Statistics kept by training (a running mean): a constant in inference, else a variable. */
    BUFFER,
    /** Updated by every step: always a variable. */
    STATE
  }

  private final Kind kind;
  private final Initialiser initialiser;
  private TensorType type;
  private @Nullable Tensor contents;

  Parameter(Kind kind, TensorType type, Initialiser initialiser) {
    this.kind = kind;
    this.type = type;
    this.initialiser = initialiser;
  }

  /** What it is for. */
  public Kind kind() {
    return kind;
  }

  @Override
  public TensorType type() {
    return type;
  }

  /** Whether a capture makes a variable of it. */
  boolean isVariable(boolean training) {
    return training || kind == Kind.STATE;
  }

  /**
   * The contents, or initial contents, shared with captured graphs: do not modify.
   *
   * @throws IllegalStateException before {@link Module#initialise}, {@link Module#load}, or the
   *     first capture
   */
  public Tensor contents() {
    if (contents == null) {
      throw new IllegalStateException("a parameter " + type + " has not been initialised");
    }
    return contents;
  }

  /** Fills it unless it has contents already. */
  void initialise(Random random) {
    if (contents == null) {
      Tensor fresh = Tensor.zeros(type);
      initialiser.fill(fresh, random);
      contents = fresh;
    }
  }

  /** Replaces the contents by a copy. */
  void load(String path, Tensor source) {
    if (!source.type().equals(type)) {
      throw new InvalidArgumentException(
          "parameter '" + path + "' is " + type + "; cannot load " + source.type());
    }
    contents = source.copy();
  }

  /** Changes the element type; contents are converted. */
  void convert(DataType dataType) {
    type = new TensorType(dataType, type.shape());
    Tensor old = contents;
    if (old != null) {
      Tensor converted = Tensor.zeros(type);
      for (int i = 0; i < type.elements(); i++) {
        converted.setDouble(i, old.getDouble(i));
      }
      contents = converted;
    }
  }

  @Override
  public String toString() {
    return kind + " " + type;
  }
}
