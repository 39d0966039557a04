package dev.nimble.cuda.op;

import dev.nimble.cuda.library.LibraryStream;

/** Work for a GPU with its operands, which may be enqueued again and again; allocates nothing. */
public interface Launch extends AutoCloseable {
  /** What a launch becomes when it is captured. */
  enum Kind {
    /** One kernel node. */
    KERNEL,
    /** One copy node. */
    COPY,
    /** A call of cuBLAS: as many nodes as it likes. */
    BLAS,
    /** A call of cuDNN: as many nodes as it likes. */
    DNN
  }

  /** What it becomes. */
  Kind kind();

  /** Enqueues it. */
  void enqueue(LibraryStream on);

  /** Frees what it owns. Idempotent. */
  @Override
  default void close() {}
}
