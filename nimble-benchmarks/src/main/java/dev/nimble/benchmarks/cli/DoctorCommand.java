package dev.nimble.benchmarks.cli;

import dev.nimble.cuda.Doctor;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** {@code nimble doctor}: what this machine has, and what is missing. */
@Command(
    name = "doctor",
    mixinStandardHelpOptions = true,
    description =
        "Says which GPUs, drivers and libraries this machine has, what is missing and how to get it,"
            + " and which device auto takes.")
final class DoctorCommand implements Callable<Integer> {
  @Spec private CommandSpec spec = CommandSpec.create();

  @Override
  public Integer call() {
    Doctor.examine().forEach(spec.commandLine().getOut()::println);
    spec.commandLine().getOut().flush();
    return 0;
  }
}
