package dev.nimble.cuda;

import dev.nimble.cuda.driver.CudaContext;
import dev.nimble.cuda.driver.CudaDriver;
import dev.nimble.cuda.library.Dnn;
import dev.nimble.device.DeviceProvider;
import dev.nimble.device.Devices;
import dev.nimble.error.NimbleException;
import java.util.ArrayList;
import java.util.List;

/** Says what this machine has for the CUDA device, what is missing, and how to get it. */
public final class Doctor {
  private Doctor() {}

  /** The report, a line an entry. */
  public static List<String> examine() {
    List<String> lines = new ArrayList<>();
    lines.add(
        "machine: "
            + System.getProperty("os.name")
            + " "
            + System.getProperty("os.arch")
            + ", Java "
            + System.getProperty("java.version"));
    NativeLibraries libraries = NativeLibraries.get();
    for (NativeLibraries.Needed needed : NativeLibraries.Needed.values()) {
      NativeLibraries.Found found = libraries.of(needed);
      if (found.loaded()) {
        lines.add(needed.title() + ": loaded " + needed.file() + version(needed));
      } else if (needed.required()) {
        lines.add("MISSING " + libraries.advice(needed));
      } else {
        lines.add(
            "absent " + libraries.advice(needed) + "; kernels of our own stand in, more slowly");
      }
    }
    gpus(libraries, lines);
    for (DeviceProvider provider : Devices.providers()) {
      DeviceProvider.Availability availability = provider.availability();
      lines.add(
          "device "
              + provider.name()
              + (availability.available() ? ": " : ": not available: ")
              + availability.description());
    }
    lines.add("auto takes: " + Devices.best().name());
    return lines;
  }

  private static String version(NativeLibraries.Needed needed) {
    try {
      switch (needed) {
        case DRIVER:
          return ", CUDA " + CudaDeviceProvider.text(CudaDriver.version());
        case DNN:
          return ", version " + Dnn.version();
        default:
          return "";
      }
    } catch (NimbleException e) {
      return ", which fails: " + e.getMessage();
    }
  }

  private static void gpus(NativeLibraries libraries, List<String> lines) {
    if (!libraries.of(NativeLibraries.Needed.DRIVER).loaded()) {
      return;
    }
    try {
      int count = CudaContext.deviceCount();
      if (count == 0) {
        lines.add("MISSING GPU: the driver shows none");
      }
      for (int ordinal = 0; ordinal < count; ordinal++) {
        try (CudaContext context = new CudaContext(ordinal)) {
          long[] memory = context.within(context::memory);
          lines.add(
              "GPU "
                  + context
                  + ", compute capability "
                  + context.computeCapability() / 10
                  + "."
                  + context.computeCapability() % 10
                  + ", "
                  + context.multiprocessors()
                  + " multiprocessors, "
                  + (memory[0] >> 20)
                  + " of "
                  + (memory[1] >> 20)
                  + " MiB free");
        }
      }
    } catch (NimbleException e) {
      lines.add("MISSING GPU: " + e.getMessage());
    }
  }
}
