package dev.nimble.device;

import dev.nimble.graph.Tensor;
import dev.nimble.graph.Value;
import dev.nimble.plan.Timeline;
import dev.nimble.plan.Tuning;

/**
 * A recorded step. Its memory is fixed for its life: replays always read and write the same
 * buffers. Not thread-safe: the owner serialises calls.
 */
public interface Recording extends AutoCloseable {
  /**
   * The buffer from which replays read graph input {@code index}: write it, then replay. The same
   * object at every call; invalid after close.
   */
  Tensor input(int index);

  /**
   * The buffer into which replays write graph output {@code index}; valid until the next replay.
   */
  Tensor output(int index);

  /**
   * Input or output {@code value} of the graph in the memory of the device; the same object at
   * every call.
   *
   * @throws dev.nimble.error.InvalidArgumentException if {@code value} was not among {@link
   *     RecordOptions#resident()}; {@link #input} or {@link #output} then is its buffer, and is not
   *     if it was
   */
  DeviceBuffer resident(Value value);

  /**
   * What was measured to make this recording, so that another can be made without ({@link
   * RecordOptions#tuning()}); by default, nothing.
   */
  default Tuning tuning() {
    return Tuning.NONE;
  }

  /** Runs the step and waits until its outputs are complete. Allocates no Java object. */
  void replay();

  /**
   * Starts the step and returns while it runs, where the device can; {@link #await} before its
   * outputs are read, its inputs written, or the next step started. {@link #replay()} is both.
   * Allocates no Java object.
   */
  default void launch() {
    replay();
  }

  /**
   * Waits until the outputs of a launched step are complete; returns at once if none is running.
   */
  default void await() {}

  /** As {@link #replay()}, and says when each launch ran. Slower: for pictures, not for timing. */
  Timeline replayTimed();

  /**
   * Copies variable {@code index} (position in {@code graph.variables()}) to {@code destination}.
   */
  void readVariable(int index, Tensor destination);

  /** Overwrites variable {@code index}. */
  void writeVariable(int index, Tensor source);

  /** Frees memory and stops threads. Idempotent. */
  @Override
  void close();
}
