package dev.nimble.capture;

import dev.nimble.error.InvalidArgumentException;
import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.DataType;
import dev.nimble.graph.Operand;
import dev.nimble.graph.Tensor;
import dev.nimble.graph.TensorType;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * A piece of a model with named parameters and named children. Names join to paths such as {@code
 * encoder.layer0.weight}, which name parameters, nodes and errors. A module or parameter that is
 * reached by two paths is one, under the first in the order of registration.
 *
 * <p>Register parameters and children in the constructor (or field initialisers); write the
 * computation in {@link #forward}; use a module by {@link #apply}. The more common case of one
 * operand and one result is a {@link Layer}. Not thread-safe.
 */
public abstract class Module implements Model {
  private final Map<String, Module> children = new LinkedHashMap<>();
  private final Map<String, Parameter> own = new LinkedHashMap<>();

  /**
   * Computes the results from the operands. Called by tracing and by eager execution; must do the
   * same each time.
   */
  protected abstract List<Operand> forward(Ops f, List<Operand> inputs);

  // -- what subclasses register --

  /**
   * Registers {@code module} as a child and returns it.
   *
   * @throws InvalidArgumentException if the name is taken, empty, or contains a dot
   */
  protected final <M extends Module> M child(String name, M module) {
    children.put(fresh(name), module);
    return module;
  }

  /** Registers a learned parameter and returns it; names as for {@link #child}. */
  protected final Parameter parameter(String name, TensorType type, Initialiser initialiser) {
    return share(name, new Parameter(Parameter.Kind.LEARNED, type, initialiser));
  }

  /** Registers a parameter that training keeps but does not learn; names as for {@link #child}. */
  protected final Parameter buffer(String name, TensorType type, Initialiser initialiser) {
    return share(name, new Parameter(Parameter.Kind.BUFFER, type, initialiser));
  }

  /** Registers state that each step may update; names as for {@link #child}. */
  protected final Parameter state(String name, TensorType type, Initialiser initialiser) {
    return share(name, new Parameter(Parameter.Kind.STATE, type, initialiser));
  }

  /** Registers another module's parameter here too, and returns it. */
  protected final Parameter share(String name, Parameter parameter) {
    own.put(fresh(name), parameter);
    return parameter;
  }

  private String fresh(String name) {
    if (name.isEmpty() || name.indexOf('.') >= 0) {
      throw new InvalidArgumentException(
          "'" + name + "' cannot name a part of " + kind() + ": a name has letters and no dot");
    }
    if (children.containsKey(name) || own.containsKey(name)) {
      throw new InvalidArgumentException(kind() + " has two parts named '" + name + "'");
    }
    return name;
  }

  // -- use --

  /** Computes every result. */
  @Override
  public final List<Operand> run(Ops f, List<Operand> inputs) {
    return f.within(this, inputs);
  }

  /**
   * Computes the only result.
   *
   * @throws InvalidModelException if there is not just one
   */
  public final Operand apply(Ops f, Operand... inputs) {
    List<Operand> results = run(f, List.of(inputs));
    if (results.size() != 1) {
      throw new InvalidModelException(
          kind() + " has " + results.size() + " results; use run, which returns them all");
    }
    return results.get(0);
  }

  // -- the tree --

  /** The name of its class, for messages. */
  String kind() {
    Class<?> type = getClass();
    while (type.getSimpleName().isEmpty()) { // anonymous
      type = type.getSuperclass();
    }
    return type.getSimpleName();
  }

  boolean isLeaf() {
    return children.isEmpty();
  }

  /** Each module of the tree with its path; this one has the empty path. */
  final Map<Module, String> paths() {
    Map<Module, String> paths = new IdentityHashMap<>();
    collect("", paths, new LinkedHashMap<>());
    return paths;
  }

  /** Every parameter of this module and its children, by path, each once; an unmodifiable copy. */
  public final Map<String, Parameter> parameters() {
    Map<Parameter, String> found = new IdentityHashMap<>();
    Map<String, Parameter> byPath = new LinkedHashMap<>();
    Map<String, Parameter> all = new LinkedHashMap<>();
    collect("", new IdentityHashMap<>(), all);
    all.forEach(
        (path, parameter) -> {
          if (found.putIfAbsent(parameter, path) == null) {
            byPath.put(path, parameter);
          }
        });
    return Collections.unmodifiableMap(byPath);
  }

  private void collect(
      String path, Map<Module, String> modules, Map<String, Parameter> parameters) {
    if (modules.putIfAbsent(this, path) != null) {
      return;
    }
    String prefix = path.isEmpty() ? "" : path + ".";
    own.forEach((name, parameter) -> parameters.put(prefix + name, parameter));
    children.forEach((name, child) -> child.collect(prefix + name, modules, parameters));
  }

  /**
   * Fills every parameter that has no contents yet. Contents depend on the seed and the parameter's
   * path only. A capture does this with seed 0.
   */
  public final Module initialise(long seed) {
    parameters().forEach((path, p) -> p.initialise(new Random(mixed(seed, path))));
    return this;
  }

  private static long mixed(long seed, String path) { // FNV-1a over the path
    long hash = 0xcbf29ce484222325L ^ seed * 0x9E3779B97F4A7C15L;
    for (int i = 0; i < path.length(); i++) {
      hash = (hash ^ path.charAt(i)) * 0x100000001b3L;
    }
    return hash;
  }

  /**
   * Replaces the contents of parameters by copies; those not named keep theirs.
   *
   * @throws InvalidArgumentException if there is no parameter of that path, or of another type
   */
  public final Module load(Map<String, Tensor> contents) {
    Map<String, Parameter> all = parameters();
    contents.forEach(
        (path, tensor) -> {
          Parameter parameter = all.get(path);
          if (parameter == null) {
            throw new InvalidArgumentException(
                kind() + " has no parameter '" + path + "'; it has " + all.keySet());
          }
          parameter.load(path, tensor);
        });
    return this;
  }

  /** Converts every floating-point parameter to {@code floating}. */
  public final Module to(DataType floating) {
    if (!floating.isFloating()) {
      throw new InvalidArgumentException("parameters can be f16, f32 or f64, not " + floating);
    }
    for (Parameter parameter : parameters().values()) {
      if (parameter.type().dataType().isFloating()) {
        parameter.convert(floating);
      }
    }
    return this;
  }
}
