package dev.nimble.capture;

import dev.nimble.error.InvalidModelException;
import java.util.IdentityHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The names of a model's modules and parameters. */
final class Paths {
  private final Map<Module, String> modules;
  private final Map<Parameter, String> parameters = new IdentityHashMap<>();

  /** A model that is no module has no parts with names. */
  Paths(Model model) {
    if (model instanceof Module) {
      modules = ((Module) model).paths();
      ((Module) model).parameters().forEach((path, p) -> parameters.put(p, path));
    } else {
      modules = Map.of();
    }
  }

  String of(Module module) {
    return known(modules.get(module), module.kind(), "child");
  }

  String of(Parameter parameter) {
    return known(parameters.get(parameter), parameter.toString(), "share");
  }

  private static String known(@Nullable String path, String what, String how) {
    if (path == null) {
      throw new InvalidModelException(
          "a part is used that the model does not have (" + what + "): register it with " + how);
    }
    return path;
  }
}
