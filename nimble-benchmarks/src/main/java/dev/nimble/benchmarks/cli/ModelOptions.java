package dev.nimble.benchmarks.cli;

import dev.nimble.Engine;
import dev.nimble.EngineOptions;
import dev.nimble.Nimble;
import dev.nimble.benchmarks.models.ModelSource;
import dev.nimble.device.Device;
import dev.nimble.device.Devices;
import dev.nimble.error.InvalidArgumentException;
import dev.nimble.schedule.Policies;
import dev.nimble.transform.Transforms;
import java.util.LinkedHashMap;
import java.util.Map;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** What every command that takes a model takes. */
final class ModelOptions {
  @Parameters(
      index = "0",
      paramLabel = "MODEL",
      description =
          "An .onnx file, a .plan file that was saved, or one of minilm, ppocr-det-v3, ppocr-det-v4, ppocr-rec-v3, ppocr-rec-v4,"
              + " ppocr-cls.")
  private String model = "";

  @Option(
      names = "--dim",
      paramLabel = "NAME=EXTENT",
      description =
          "Binds a symbolic dimension by its name, by INPUT.AXIS, or by *.AXIS for all inputs; may be"
              + " repeated.")
  private Map<String, Integer> dimensions = new LinkedHashMap<>();

  @Option(
      names = "--policy",
      paramLabel = "POLICY",
      defaultValue = "nimble",
      description = "single-stream or nimble (default: ${DEFAULT-VALUE}).")
  private String policy = "nimble";

  @Option(
      names = "--streams",
      paramLabel = "K",
      defaultValue = "0",
      description = "At most K streams (default: as many as the policy wants).")
  private int streams;

  @Option(
      names = "--device",
      paramLabel = "DEVICE",
      defaultValue = "auto",
      description =
          "auto, cpu, cuda, or cuda:N for GPU N; see nimble doctor (default: ${DEFAULT-VALUE}).")
  private String device = "auto";

  @Option(
      names = "--no-fuse",
      description = "Only exact rewrites that keep each operator a node of its own.")
  private boolean unfused;

  ModelSource open() {
    return ModelSource.open(model, dimensions);
  }

  /** Opens the device that is asked for; of itself, a saved plan asks for that of its own kind. */
  Device openDevice(ModelSource source) {
    boolean own = device.equals("auto") && source.saved().isPresent();
    return Devices.open(own ? source.saved().get().deviceKind() : device);
  }

  /** Prepares a model, or records a saved plan. */
  Engine engine(ModelSource source, Device opened) {
    if (source.saved().isEmpty()) {
      return Nimble.prepare(source.graph(), opened, engineOptions());
    }
    if (unfused || streams != 0 || !policy.equals("nimble")) {
      throw new InvalidArgumentException(
          source.name() + " is scheduled already; leave out --policy, --streams and --no-fuse");
    }
    return Nimble.load(source.name(), source.saved().get(), opened);
  }

  EngineOptions engineOptions() {
    return EngineOptions.defaults()
        .withDevice(device)
        .withPolicy(Policies.named(policy, streams))
        .withTransforms(unfused ? Transforms.unfused() : Transforms.all());
  }
}
