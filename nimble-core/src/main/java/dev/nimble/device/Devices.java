package dev.nimble.device;

import dev.nimble.error.DeviceException;
import dev.nimble.error.InvalidArgumentException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.ServiceLoader;

/** The kinds of device on the class path. */
public final class Devices {
  private Devices() {}

  /** Every provider found, the most preferred first. */
  public static List<DeviceProvider> providers() {
    List<DeviceProvider> providers = new ArrayList<>();
    ServiceLoader.load(DeviceProvider.class, Devices.class.getClassLoader())
        .forEach(providers::add);
    providers.sort(Comparator.comparingInt(DeviceProvider::preference).reversed());
    return providers;
  }

  /** The available provider of the highest preference. */
  public static DeviceProvider best() {
    return providers().stream()
        .filter(p -> p.availability().available())
        .findFirst()
        .orElseThrow(() -> new DeviceException("no device is available; " + descriptions()));
  }

  /**
   * Opens a device.
   *
   * @param spec {@code auto}, a kind ({@code cpu}), or a kind and an ordinal ({@code cuda:1})
   * @throws InvalidArgumentException if there is no such kind; lists those that there are
   * @throws DeviceException if the kind is not available here; says what is missing
   */
  public static Device open(String spec) {
    if (spec.equals("auto")) {
      return best().open(0);
    }
    int colon = spec.indexOf(':');
    String kind = colon < 0 ? spec : spec.substring(0, colon);
    int ordinal = colon < 0 ? 0 : ordinal(spec, spec.substring(colon + 1));
    for (DeviceProvider provider : providers()) {
      if (provider.name().equals(kind)) {
        DeviceProvider.Availability availability = provider.availability();
        if (!availability.available()) {
          throw new DeviceException(kind + " is not available: " + availability.description());
        }
        return provider.open(ordinal);
      }
    }
    throw new InvalidArgumentException(
        "there is no device '" + spec + "'; there are auto, " + descriptions());
  }

  private static int ordinal(String spec, String digits) {
    try {
      return Integer.parseInt(digits);
    } catch (NumberFormatException e) {
      throw new InvalidArgumentException("device '" + spec + "' needs a number after the colon");
    }
  }

  private static String descriptions() {
    List<String> lines = new ArrayList<>();
    for (DeviceProvider provider : providers()) {
      lines.add(provider.name() + " (" + provider.availability().description() + ")");
    }
    return String.join(", ", lines);
  }
}
