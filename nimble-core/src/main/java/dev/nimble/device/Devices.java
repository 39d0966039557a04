package dev.nimble.device;

import dev.nimble.error.DeviceException;
import dev.nimble.error.InvalidArgumentException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;

/** The kinds of device on the class path. */
public final class Devices {
  private Devices() {}

  /**
   * Every provider found, the most preferred first. One that cannot even be loaded, for want of a
   * class that it needs, is among them: it is never available, and says why.
   */
  public static List<DeviceProvider> providers() {
    return providers(Devices.class.getClassLoader());
  }

  static List<DeviceProvider> providers(ClassLoader loader) {
    List<DeviceProvider> providers = new ArrayList<>();
    ServiceLoader.load(DeviceProvider.class, loader).stream()
        .forEach(found -> providers.add(loaded(found)));
    providers.sort(Comparator.comparingInt(DeviceProvider::preference).reversed());
    return providers;
  }

  private static DeviceProvider loaded(ServiceLoader.Provider<DeviceProvider> found) {
    try {
      return found.get();
    } catch (ServiceConfigurationError | LinkageError e) {
      return new UnloadableProvider(found.type().getSimpleName(), e);
    }
  }

  /** Stands for a provider that is on the class path but cannot be made. */
  private record UnloadableProvider(String name, Throwable reason) implements DeviceProvider {
    @Override
    public int preference() {
      return Integer.MIN_VALUE;
    }

    @Override
    public Availability availability() {
      Throwable cause = reason.getCause() == null ? reason : reason.getCause();
      return new Availability(false, "cannot be loaded: " + cause);
    }

    @Override
    public Device open(int ordinal) {
      throw new DeviceException(name + " " + availability().description());
    }
  }

  /** The available provider of the highest preference. */
  public static DeviceProvider best() {
    return best(providers());
  }

  static DeviceProvider best(List<DeviceProvider> providers) {
    return providers.stream()
        .filter(p -> p.availability().available())
        .findFirst()
        .orElseThrow(
            () -> new DeviceException("no device is available; " + descriptions(providers)));
  }

  /**
   * Opens a device.
   *
   * @param spec {@code auto}, a kind ({@code cpu}), or a kind and an ordinal ({@code cuda:1})
   * @throws InvalidArgumentException if there is no such kind; lists those that there are
   * @throws DeviceException if the kind is not available here; says what is missing
   */
  public static Device open(String spec) {
    return open(spec, providers());
  }

  static Device open(String spec, List<DeviceProvider> providers) {
    if (spec.equals("auto")) {
      return best(providers).open(0);
    }
    int colon = spec.indexOf(':');
    String kind = colon < 0 ? spec : spec.substring(0, colon);
    int ordinal = colon < 0 ? 0 : ordinal(spec, spec.substring(colon + 1));
    for (DeviceProvider provider : providers) {
      if (provider.name().equals(kind)) {
        DeviceProvider.Availability availability = provider.availability();
        if (!availability.available()) {
          throw new DeviceException(kind + " is not available: " + availability.description());
        }
        return provider.open(ordinal);
      }
    }
    throw new InvalidArgumentException(
        "there is no device '" + spec + "'; there are auto, " + descriptions(providers));
  }

  private static int ordinal(String spec, String digits) {
    if (!digits.matches("\\d{1,9}")) {
      throw new InvalidArgumentException(
          "device '" + spec + "' needs a number from 0 after the colon");
    }
    return Integer.parseInt(digits);
  }

  private static String descriptions(List<DeviceProvider> providers) {
    List<String> lines = new ArrayList<>();
    for (DeviceProvider provider : providers) {
      DeviceProvider.Availability availability = provider.availability();
      lines.add(
          provider.name()
              + (availability.available() ? " (" : " (not available: ")
              + availability.description()
              + ")");
    }
    return String.join(", ", lines);
  }
}
