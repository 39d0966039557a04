package dev.nimble.onnx;

import com.google.common.collect.ImmutableMap;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.error.InvalidModelException;
import dev.nimble.graph.Shape;
import dev.nimble.graph.TensorType;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/** Gives each input a static type. */
final class DimensionBinding {
  private DimensionBinding() {}

  static ImmutableMap<String, TensorType> types(
      Iterable<ModelInput> inputs, Map<String, Integer> dimensions) {
    Set<String> known = new LinkedHashSet<>();
    ImmutableMap.Builder<String, TensorType> types = ImmutableMap.builder();
    String unbound = "";
    for (ModelInput input : inputs) {
      long[] extents = new long[input.dimensions().size()];
      for (int axis = 0; axis < extents.length; axis++) {
        ModelInput.Dimension dimension = input.dimensions().get(axis);
        String place = input.name() + "." + axis;
        String[] names =
            dimension.isFixed()
                ? new String[] {place, "*." + axis}
                : new String[] {place, "*." + axis, dimension.symbol()};
        known.addAll(java.util.List.of(names));
        Integer bound = first(dimensions, names);
        if (dimension.isFixed()) {
          Integer own = dimensions.get(place); // "*.axis" passes over fixed dimensions
          if (own != null && own != dimension.extent()) {
            throw new InvalidArgumentException(
                place + " is fixed at " + dimension.extent() + " by the model, not " + own);
          }
          extents[axis] = dimension.extent();
        } else if (bound == null) {
          unbound = unbound.isEmpty() ? describe(input, axis) : unbound;
        } else if (bound < 0) {
          throw new InvalidArgumentException("dimension " + place + " cannot be " + bound);
        } else {
          extents[axis] = bound;
        }
      }
      if (unbound.isEmpty()) {
        types.put(input.name(), new TensorType(input.dataType(), Shape.ofLongs(extents)));
      }
    }
    known.remove("");
    for (String name : dimensions.keySet()) {
      if (!known.contains(name)) {
        throw new InvalidArgumentException(
            "there is no dimension '" + name + "'; there are " + known);
      }
    }
    if (!unbound.isEmpty()) {
      throw new InvalidModelException(unbound);
    }
    return types.buildOrThrow();
  }

  private static @org.jspecify.annotations.Nullable Integer first(
      Map<String, Integer> dimensions, String[] names) {
    for (String name : names) {
      Integer bound = name.isEmpty() ? null : dimensions.get(name);
      if (bound != null) {
        return bound;
      }
    }
    return null;
  }

  private static String describe(ModelInput input, int axis) {
    String symbol = input.dimensions().get(axis).symbol();
    return "axis " + axis + " of input " + input + " is not bound; bind it by "
        + (symbol.isEmpty() ? "" : "'" + symbol + "' or ") + "'" + input.name() + "." + axis + "'";
  }
}
