package dev.nimble.device.cpu;

import dev.nimble.error.DeviceException;
import dev.nimble.error.Location;
import dev.nimble.graph.Node;
import dev.nimble.plan.Command;
import dev.nimble.plan.ExecutionPlan;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The threads of one recording and their programs. Worker 0 is whichever thread calls; the others
 * wait for the next step, spinning briefly and then parked. Steps are numbered; an event or a
 * worker has reached this step when its cell holds the step's number, so nothing is reset between
 * steps.
 *
 * <p>A program is an array of ints: a launch's index, or below zero a wait or a signal. Each worker
 * issues the commands of its streams in plan order, in which every event is recorded before it is
 * waited for; so the earliest unfinished command of the plan can always go on, and there is no
 * deadlock.
 */
final class Workers implements AutoCloseable {
  private static final VarHandle INTS = MethodHandles.arrayElementVarHandle(int[].class);

  /** Cells are a cache line apart. */
  private static final int PAD = 16;

  private static final int SPINS = 4_000;
  private static final int YIELDS = 50;
  private static final long PARK_NANOS = 50_000;

  private final BoundStep.Launch[] launches;
  private final Runnable[] kernels;
  private final int[] workerOf;
  private final int[][] programs;
  private final int[] events;
  private final int[] finished;
  private final int[] parked;
  private final Thread[] threads;
  private volatile int step;
  private volatile boolean closing;
  private volatile boolean aborted;
  private volatile long @Nullable [] starts;
  private volatile long @Nullable [] ends;
  private @Nullable Throwable failure;
  private int failedLaunch;

  /**
   * Starts the threads.
   *
   * @param workerOfStream the worker of each stream; the highest says how many there are
   * @throws DeviceException if a thread cannot be started; no thread is left then
   */
  Workers(ExecutionPlan plan, BoundStep.Launch[] launches, int[] workerOfStream) {
    this.launches = launches;
    this.workerOf = workerOfStream.clone();
    this.kernels = new Runnable[launches.length];
    for (int i = 0; i < launches.length; i++) {
      kernels[i] = launches[i].kernel();
    }
    int count = 1;
    for (int worker : workerOfStream) {
      count = Math.max(count, worker + 1);
    }
    this.programs = programs(plan.commands(), workerOf, count, plan.events());
    this.events = new int[(plan.events() + 1) * PAD];
    this.finished = new int[(count + 1) * PAD];
    this.parked = new int[(count + 1) * PAD];
    this.threads = new Thread[count];
    for (int worker = 1; worker < count; worker++) {
      int own = worker;
      threads[worker] = new Thread(() -> serve(own), "nimble-cpu-worker-" + worker);
      threads[worker].setDaemon(true);
    }
    start();
  }

  private void start() {
    try {
      for (int worker = 1; worker < threads.length; worker++) {
        threads[worker].start();
      }
    } catch (OutOfMemoryError e) {
      close();
      throw new DeviceException(
          "cannot start " + (threads.length - 1) + " threads; use fewer workers",
          Location.NOWHERE,
          e);
    }
  }

  /**
   * One program a worker: waits for an own event, and events that no other worker waits for, fall
   * away.
   */
  private static int[][] programs(
      List<Command> commands, int[] workerOfStream, int workers, int eventCount) {
    int[] recorder = new int[eventCount];
    boolean[] needed = new boolean[eventCount];
    for (Command command : commands) {
      int worker = workerOfStream[command.stream()];
      if (command instanceof Command.RecordEvent) {
        recorder[((Command.RecordEvent) command).event()] = worker;
      } else if (command instanceof Command.WaitEvent) {
        int event = ((Command.WaitEvent) command).event();
        needed[event] |= recorder[event] != worker;
      }
    }
    List<List<Integer>> programs = new ArrayList<>();
    for (int w = 0; w < workers; w++) {
      programs.add(new ArrayList<>());
    }
    boolean[][] waited = new boolean[workers][eventCount];
    int launch = 0;
    for (Command command : commands) {
      int worker = workerOfStream[command.stream()];
      List<Integer> program = programs.get(worker);
      if (command instanceof Command.Launch) {
        program.add(launch++);
      } else if (command instanceof Command.RecordEvent) {
        int event = ((Command.RecordEvent) command).event();
        if (needed[event]) {
          program.add(~(2 * event));
        }
      } else if (command instanceof Command.WaitEvent) {
        int event = ((Command.WaitEvent) command).event();
        if (recorder[event] != worker && !waited[worker][event]) {
          waited[worker][event] = true;
          program.add(~(2 * event + 1));
        }
      }
    }
    return programs.stream()
        .map(program -> program.stream().mapToInt(Integer::intValue).toArray())
        .toArray(int[][]::new);
  }

  /** Which worker issues the commands of {@code stream}. */
  int workerOf(int stream) {
    return workerOf[stream];
  }

  /** Runs a step; false if a kernel threw. Allocates nothing. */
  boolean run() {
    if (threads.length == 1) {
      return runAlone();
    }
    return runTogether();
  }

  /** As {@link #run}, and notes when each launch started and ended. */
  boolean runTimed(long[] startOf, long[] endOf) {
    starts = startOf;
    ends = endOf;
    try {
      return runTogether();
    } finally {
      starts = null;
      ends = null;
    }
  }

  private boolean runAlone() {
    Runnable[] all = kernels;
    int i = 0;
    try {
      for (; i < all.length; i++) {
        all[i].run();
      }
      return true;
    } catch (RuntimeException | Error e) {
      failure = e;
      failedLaunch = i;
      return false;
    }
  }

  private boolean runTogether() {
    aborted = false;
    failure = null;
    int next = step + 1;
    step = next;
    for (int worker = 1; worker < threads.length; worker++) {
      if ((int) INTS.getVolatile(parked, worker * PAD) != 0) {
        LockSupport.unpark(threads[worker]);
      }
    }
    follow(0, next);
    boolean interrupted = false;
    for (int worker = 1; worker < threads.length; worker++) {
      interrupted |= await(finished, worker * PAD, next, false);
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return !aborted;
  }

  private void serve(int worker) {
    int done = 0;
    while (true) {
      int next = awaitStep(worker, done);
      if (closing) {
        return;
      }
      follow(worker, next);
      done = next;
      INTS.setRelease(finished, worker * PAD, done);
    }
  }

  private int awaitStep(int worker, int done) {
    for (int spin = 0; spin < SPINS; spin++) {
      if (step != done || closing) {
        return step;
      }
      Thread.onSpinWait();
    }
    INTS.setVolatile(parked, worker * PAD, 1);
    while (step == done && !closing) {
      LockSupport.park(this);
      Thread.interrupted(); // a stray interrupt must not turn parking into spinning
    }
    INTS.setVolatile(parked, worker * PAD, 0);
    return step;
  }

  private void follow(int worker, int number) {
    int[] program = programs[worker];
    Runnable[] all = kernels;
    long[] startOf = starts;
    long[] endOf = ends;
    int launch = 0;
    boolean interrupted = false;
    try {
      for (int code : program) {
        if (code >= 0) {
          launch = code;
          if (startOf == null || endOf == null) {
            all[code].run();
          } else {
            startOf[code] = System.nanoTime();
            all[code].run();
            endOf[code] = System.nanoTime();
          }
        } else {
          int event = ~code >> 1;
          if ((~code & 1) == 0) {
            INTS.setRelease(events, event * PAD, number);
          } else {
            interrupted |= await(events, event * PAD, number, true);
            if (aborted) {
              break;
            }
          }
        }
      }
    } catch (RuntimeException | Error e) {
      fail(e, launch);
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private synchronized void fail(Throwable cause, int launch) {
    if (!aborted) {
      failure = cause;
      failedLaunch = launch;
      aborted = true;
    }
  }

  /**
   * Waits until a cell holds {@code number}; gives up if the step is aborted and {@code abortable}.
   * Spins, then yields, then sleeps in short naps.
   *
   * @return whether the thread was interrupted while it waited, its flag being cleared
   */
  private boolean await(int[] cells, int index, int number, boolean abortable) {
    boolean interrupted = false;
    for (int turn = 0; (int) INTS.getAcquire(cells, index) != number; turn++) {
      if (abortable && aborted) {
        break;
      }
      if (turn < SPINS) {
        Thread.onSpinWait();
      } else if (turn < SPINS + YIELDS) {
        Thread.yield();
      } else {
        interrupted |= Thread.interrupted(); // else parking would not wait
        LockSupport.parkNanos(PARK_NANOS);
      }
    }
    return interrupted;
  }

  /** Why the last step failed. */
  synchronized @Nullable Throwable failure() {
    return failure;
  }

  /** Whose kernel failed in the last step. */
  synchronized @Nullable Node failedNode() {
    return failure == null ? null : launches[failedLaunch].node();
  }

  /** Ends the threads and waits for them. */
  @Override
  public void close() {
    closing = true;
    boolean interrupted = false;
    for (int worker = 1; worker < threads.length; worker++) {
      LockSupport.unpark(threads[worker]);
      while (threads[worker].isAlive()) { // false also if it was never started
        try {
          threads[worker].join();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
