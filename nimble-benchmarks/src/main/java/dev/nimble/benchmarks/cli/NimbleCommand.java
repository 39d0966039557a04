package dev.nimble.benchmarks.cli;

import dev.nimble.error.InvalidArgumentException;
import dev.nimble.error.InvalidModelException;
import dev.nimble.error.InvalidPlanException;
import dev.nimble.error.NimbleException;
import picocli.CommandLine;
import picocli.CommandLine.Command;

/** The command line. Exit codes: 0 done, 1 a check or the device failed, 2 the user's to mend. */
@Command(
    name = "nimble",
    mixinStandardHelpOptions = true,
    version = "nimble-java 0.1.0",
    description = "Schedules a network once, ahead of time, and replays it.",
    subcommands = {
      RunCommand.class,
      PlanCommand.class,
      BenchCommand.class,
      SimilarityCommand.class,
      CoverageCommand.class,
      DoctorCommand.class,
      CommandLine.HelpCommand.class
    })
public final class NimbleCommand {
  static final int FAILED = 1;
  static final int USER_ERROR = 2;

  /** Runs a command and ends the JVM with its exit code. */
  public static void main(String[] arguments) {
    System.exit(execute(arguments));
  }

  /** Runs a command and returns its exit code. */
  static int execute(String... arguments) {
    CommandLine line = new CommandLine(new NimbleCommand());
    line.setExecutionExceptionHandler(
        (exception, command, parsed) -> {
          if (exception instanceof NimbleException) {
            command.getErr().println("nimble: " + exception.getMessage());
            boolean users =
                exception instanceof InvalidModelException
                    || exception instanceof InvalidArgumentException
                    || (exception instanceof InvalidPlanException
                        && ((InvalidPlanException) exception).location().file() != null);
            return users ? USER_ERROR : FAILED;
          }
          throw exception; // a fault of ours: the stack trace is wanted
        });
    if (arguments.length == 0) {
      line.usage(line.getErr());
      return USER_ERROR;
    }
    return line.execute(arguments);
  }
}
