package dev.nimble.onnx;

import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.error.InvalidModelException;
import dev.nimble.error.Location;
import dev.nimble.graph.Shape;
import dev.nimble.graph.TensorType;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Gives each input a static type; {@link OnnxModel} says how dimensions are named. */
final class DimensionBinding {
  private final ImmutableList<ModelInput> inputs;
  private final Map<String, Integer> dimensions;

  DimensionBinding(ImmutableList<ModelInput> inputs, Map<String, Integer> dimensions) {
    this.inputs = inputs;
    this.dimensions = dimensions;
  }

  /** The names that bind an axis of an input, the most particular first. */
  private static ImmutableList<String> names(ModelInput input, int axis) {
    String symbol = input.dimensions().get(axis).symbol();
    ImmutableList.Builder<String> names = ImmutableList.builder();
    names.add(input.name() + "." + axis, "*." + axis);
    return symbol.isEmpty() ? names.build() : names.add(symbol).build();
  }

  /**
   * The names of all open dimensions, in the order of the axes: symbols, and {@code input.axis}.
   */
  static ImmutableList<String> open(ImmutableList<ModelInput> inputs) {
    Set<String> open = new LinkedHashSet<>();
    for (ModelInput input : inputs) {
      for (int axis = 0; axis < input.dimensions().size(); axis++) {
        if (!input.dimensions().get(axis).isFixed()) {
          ImmutableList<String> names = names(input, axis);
          open.add(names.get(names.size() == 3 ? 2 : 0));
        }
      }
    }
    return ImmutableList.copyOf(open);
  }

  /**
   * The types of the inputs, in order.
   *
   * @throws InvalidArgumentException if a name or an extent is wrong
   * @throws InvalidModelException if a dimension is not bound
   */
  ImmutableMap<String, TensorType> types() {
    checkNames();
    ImmutableMap.Builder<String, TensorType> types = ImmutableMap.builder();
    List<String> unbound = new ArrayList<>();
    for (ModelInput input : inputs) {
      long[] extents = new long[input.dimensions().size()];
      for (int axis = 0; axis < extents.length; axis++) {
        Integer extent = extent(input, axis);
        if (extent == null) {
          unbound.add(describe(input, axis));
        } else {
          extents[axis] = extent;
        }
      }
      try {
        types.put(input.name(), new TensorType(input.dataType(), Shape.ofLongs(extents)));
      } catch (InvalidModelException e) {
        throw new InvalidArgumentException(
            "input '" + input.name() + "': " + e.what(), Location.NOWHERE, e);
      }
    }
    if (!unbound.isEmpty()) {
      String others = unbound.size() == 1 ? "" : " (" + (unbound.size() - 1) + " more are open)";
      throw new InvalidModelException(unbound.get(0) + others);
    }
    return types.buildOrThrow();
  }

  private void checkNames() {
    Set<String> known = new LinkedHashSet<>();
    for (ModelInput input : inputs) {
      for (int axis = 0; axis < input.dimensions().size(); axis++) {
        known.addAll(names(input, axis));
      }
    }
    for (String name : dimensions.keySet()) {
      if (!known.contains(name)) {
        throw new InvalidArgumentException(
            "the model has no dimension '" + name + "'; open are " + open(inputs));
      }
    }
  }

  private @Nullable Integer extent(ModelInput input, int axis) {
    ModelInput.Dimension dimension = input.dimensions().get(axis);
    ImmutableList<String> names = names(input, axis);
    if (dimension.isFixed()) { // "*.axis" passes over a fixed dimension
      Integer own = dimensions.get(names.get(0));
      if (own != null && own != dimension.extent()) {
        throw new InvalidArgumentException(
            names.get(0) + " is fixed at " + dimension.extent() + " by the model, not " + own);
      }
      return dimension.extent();
    }
    for (String name : names) {
      Integer bound = dimensions.get(name);
      if (bound != null && bound < 0) {
        throw new InvalidArgumentException("dimension " + name + " cannot be " + bound);
      }
      if (bound != null) {
        return bound;
      }
    }
    return null;
  }

  private static String describe(ModelInput input, int axis) {
    String symbol = input.dimensions().get(axis).symbol();
    return "axis "
        + axis
        + (symbol.isEmpty() ? "" : " ('" + symbol + "')")
        + " of input "
        + input
        + " is not bound; bind it by the name "
        + (symbol.isEmpty() ? "" : symbol + " or ")
        + input.name()
        + "."
        + axis;
  }
}
