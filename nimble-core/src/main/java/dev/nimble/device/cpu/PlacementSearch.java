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
final class PlacementSearch {
  /**
   * What handing over from one worker to another costs: the waiter sees the event so much later.
   */
  static final long HANDOVER_NANOS = 1_500;

  private static final long MOST_SIMULATED_COMMANDS = 20_000_000;
  private static final int LAUNCH = 0;
  private static final int RECORD = 1;
  private static final int WAIT = 2;

  private final int workers;
  private final int streams;
  private final int[] kinds;
  private final int[] streamOf;

  /** The run time of a launch, or the number of an event. */
  private final long[] arguments;

  private final long[] eventAt;
  private final int[] eventWorker;
  private final long[] free;

  private PlacementSearch(List<Command> commands, long[] launchNanos, int streams, int workers) {
    this.workers = workers;
    this.streams = streams;
    this.kinds = new int[commands.size()];
    this.streamOf = new int[commands.size()];
    this.arguments = new long[commands.size()];
    int launches = 0;
    int events = 0;
    for (int i = 0; i < kinds.length; i++) {
      Command command = commands.get(i);
      streamOf[i] = command.stream();
      if (command instanceof Command.RecordEvent) {
        kinds[i] = RECORD;
        arguments[i] = ((Command.RecordEvent) command).event();
        events = Math.max(events, 1 + ((Command.RecordEvent) command).event());
      } else if (command instanceof Command.WaitEvent) {
        kinds[i] = WAIT;
        arguments[i] = ((Command.WaitEvent) command).event();
      } else if (command instanceof Command.Launch) {
        kinds[i] = LAUNCH;
        arguments[i] = launchNanos[launches++];
      } // else a view: a launch that takes no time
    }
    this.eventAt = new long[events];
    this.eventWorker = new int[events];
    this.free = new long[workers];
  }

  /**
   * Returns the worker of each stream: numbers from 0, none left out; all 0 if one worker is best.
   *
   * @param launchNanos the run time of each Launch, in the order of the commands
   */
  static int[] of(List<Command> commands, long[] launchNanos, int streams, int workers) {
    PlacementSearch search = new PlacementSearch(commands, launchNanos, streams, workers);
    long simulations = MOST_SIMULATED_COMMANDS / Math.max(1, commands.size());
    int[] byLoad = search.byLoad();
    int[] byStart = search.byStart();
    long loadMakespan = search.improve(byLoad, simulations / 2);
    long startMakespan = search.improve(byStart, simulations / 2);
    int[] best = loadMakespan <= startMakespan ? byLoad : byStart;
    int[] single = new int[streams];
    // Threads must pay: measured times are noisy, and a second worker disturbs the first one's
    // caches.
    boolean pays = Math.min(loadMakespan, startMakespan) < search.makespan(single) * 95 / 100;
    return pays ? numbered(best) : single;
  }

  /** The simulated time of a step with streams placed so, in nanoseconds. */
  static long makespan(List<Command> commands, long[] launchNanos, int[] workerOf, int workers) {
    return new PlacementSearch(commands, launchNanos, workerOf.length, workers).makespan(workerOf);
  }

  /** Numbers the workers by their first stream. */
  private static int[] numbered(int[] workerOf) {
    int[] number = new int[Arrays.stream(workerOf).max().orElse(0) + 1];
    Arrays.fill(number, -1);
    int next = 0;
    int[] numbered = new int[workerOf.length];
    for (int stream = 0; stream < workerOf.length; stream++) {
      if (number[workerOf[stream]] < 0) {
        number[workerOf[stream]] = next++;
      }
      numbered[stream] = number[workerOf[stream]];
    }
    return numbered;
  }

  /** Streams by falling total time, each to the worker with the least so far. */
  private int[] byLoad() {
    long[] total = new long[streams];
    for (int i = 0; i < kinds.length; i++) {
      total[streamOf[i]] += kinds[i] == LAUNCH ? arguments[i] : 0;
    }
    Integer[] order = new Integer[streams];
    Arrays.setAll(order, s -> s);
    Arrays.sort(order, (a, b) -> Long.compare(total[b], total[a]));
    int[] workerOf = new int[streams];
    long[] load = new long[workers];
    for (int stream : order) {
      workerOf[stream] = least(load);
      load[workerOf[stream]] += total[stream];
    }
    return workerOf;
  }

  /** Each stream, at its first command, to the worker that has the least to do until then. */
  private int[] byStart() {
    int[] workerOf = new int[streams];
    Arrays.fill(workerOf, -1);
    long[] load = new long[workers];
    for (int i = 0; i < kinds.length; i++) {
      if (workerOf[streamOf[i]] < 0) {
        workerOf[streamOf[i]] = least(load);
      }
      load[workerOf[streamOf[i]]] += kinds[i] == LAUNCH ? arguments[i] : 0;
    }
    for (int stream = 0; stream < streams; stream++) {
      workerOf[stream] = Math.max(0, workerOf[stream]); // a stream without commands
    }
    return workerOf;
  }

  private static int least(long[] load) {
    int least = 0;
    for (int w = 1; w < load.length; w++) {
      least = load[w] < load[least] ? w : least;
    }
    return least;
  }

  /** Moves single streams while that helps, and simulations are left. Returns the makespan. */
  private long improve(int[] workerOf, long simulations) {
    long best = makespan(workerOf);
    long left = simulations;
    boolean improved = true;
    while (improved && left > 0) {
      improved = false;
      for (int stream = 0; stream < streams; stream++) {
        int home = workerOf[stream];
        for (int w = 0; w < workers && left > 0; w++) {
          if (w != home) {
            left--;
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
    for (int i = 0; i < kinds.length; i++) {
      int worker = workerOf[streamOf[i]];
      if (kinds[i] == LAUNCH) {
        free[worker] += arguments[i];
      } else if (kinds[i] == RECORD) {
        eventAt[(int) arguments[i]] = free[worker];
        eventWorker[(int) arguments[i]] = worker;
      } else if (eventWorker[(int) arguments[i]] != worker) {
        free[worker] = Math.max(free[worker], eventAt[(int) arguments[i]] + HANDOVER_NANOS);
      }
    }
    return Arrays.stream(free).max().orElse(0);
  }
}
