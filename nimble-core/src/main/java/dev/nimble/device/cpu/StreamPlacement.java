package dev.nimble.device.cpu;

import dev.nimble.plan.Command;
import java.util.Arrays;
import java.util.List;

/**
 * Places streams on workers. A worker issues the commands of its streams in plan order, so every
 * placement is free of deadlock; the one with the least simulated makespan is taken. All on one
 * worker is among the candidates: where waiting costs more than concurrency gains, nothing is
 * gained by threads.
 */
final class StreamPlacement {
  /** What handing over from one worker to another costs. */
  private static final long HANDOVER_NANOS = 1_000;

  private static final long MOST_SIMULATED_COMMANDS = 20_000_000;

  private final Command[] commands;
  private final long[] launchNanos;
  private final int workers;
  private final long[] eventAt;
  private final int[] eventWorker;
  private final long[] free;

  private StreamPlacement(List<Command> commands, long[] launchNanos, int workers) {
    this.commands = commands.toArray(Command[]::new);
    this.launchNanos = launchNanos;
    this.workers = workers;
    int events = 0;
    for (Command command : commands) {
      events += command instanceof Command.RecordEvent ? 1 : 0;
    }
    this.eventAt = new long[events];
    this.eventWorker = new int[events];
    this.free = new long[workers];
  }

  /**
   * Returns the worker of each stream, in {@code [0, workers)}.
   *
   * @param launchNanos the run time of each Launch, in the order of the commands
   */
  static int[] of(List<Command> commands, long[] launchNanos, int streams, int workers) {
    StreamPlacement placement = new StreamPlacement(commands, launchNanos, workers);
    int[] best = new int[streams];
    long bestMakespan = placement.makespan(best);
    int[] greedy = placement.greedy(streams);
    long budget = MOST_SIMULATED_COMMANDS / Math.max(1, commands.size());
    long makespan = placement.improve(greedy, budget);
    // Threads must pay: measured times are noisy, and a second worker disturbs the first one's
    // caches.
    return makespan < bestMakespan * 95 / 100 ? greedy : best;
  }

  /** Streams by falling total time, each to the worker with the least so far. */
  private int[] greedy(int streams) {
    long[] total = new long[streams];
    int launch = 0;
    for (Command command : commands) {
      if (command instanceof Command.Launch) {
        total[command.stream()] += launchNanos[launch++];
      }
    }
    Integer[] order = new Integer[streams];
    Arrays.setAll(order, s -> s);
    Arrays.sort(order, (a, b) -> Long.compare(total[b], total[a]));
    int[] workerOf = new int[streams];
    long[] load = new long[workers];
    for (int stream : order) {
      int least = 0;
      for (int w = 1; w < workers; w++) {
        least = load[w] < load[least] ? w : least;
      }
      workerOf[stream] = least;
      load[least] += total[stream];
    }
    return workerOf;
  }

  /** Moves single streams while that helps, and simulations are left. */
  private long improve(int[] workerOf, long simulations) {
    long best = makespan(workerOf);
    boolean improved = true;
    while (improved) {
      improved = false;
      for (int stream = 0; stream < workerOf.length; stream++) {
        int home = workerOf[stream];
        for (int w = 0; w < workers; w++) {
          if (w != home && simulations-- > 0) {
            workerOf[stream] = w;
            long makespan = makespan(workerOf);
            if (makespan < best) {
              best = makespan;
              home = w;
              improved = true;
            }
          }
        }
        workerOf[stream] = home;
      }
    }
    return best;
  }

  private long makespan(int[] workerOf) {
    Arrays.fill(free, 0);
    int launch = 0;
    for (Command command : commands) {
      int worker = workerOf[command.stream()];
      if (command instanceof Command.Launch) {
        free[worker] += launchNanos[launch++];
      } else if (command instanceof Command.RecordEvent) {
        int event = ((Command.RecordEvent) command).event();
        eventAt[event] = free[worker];
        eventWorker[event] = worker;
      } else if (command instanceof Command.WaitEvent) {
        int event = ((Command.WaitEvent) command).event();
        if (eventWorker[event] != worker) {
          free[worker] = Math.max(free[worker], eventAt[event] + HANDOVER_NANOS);
        }
      }
    }
    return Arrays.stream(free).max().orElse(0);
  }
}
