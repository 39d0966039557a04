package dev.nimble.cuda.driver;

import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;

/** What one owner must close: latest first, and all of it even if some fails. Not thread-safe. */
public final class Resources implements AutoCloseable {
  private final Deque<AutoCloseable> owned = new ArrayDeque<>();

  /** Nothing yet. */
  public Resources() {}

  /** These, in the order of their making. */
  public static Resources of(AutoCloseable... resources) {
    Resources all = new Resources();
    for (AutoCloseable resource : resources) {
      all.own(resource);
    }
    return all;
  }

  /** Takes {@code resource} over, and returns it. */
  public <T extends AutoCloseable> T own(T resource) {
    owned.push(resource);
    return resource;
  }

  /**
   * Closes everything. Idempotent.
   *
   * @throws RuntimeException the first failure, with the others suppressed
   */
  @Override
  public void close() {
    RuntimeException failure = closeAll(null);
    if (failure != null) {
      throw failure;
    }
  }

  /** Closes everything after {@code failure}, to which further failures are added. */
  public void closeAfter(Throwable failure) {
    closeAll(failure);
  }

  private @Nullable RuntimeException closeAll(@Nullable Throwable because) {
    RuntimeException first = null;
    while (!owned.isEmpty()) {
      try {
        owned.pop().close();
      } catch (Exception e) {
        if (because != null) {
          because.addSuppressed(e);
        } else if (first != null) {
          first.addSuppressed(e);
        } else {
          first = e instanceof RuntimeException ? (RuntimeException) e : new RuntimeException(e);
        }
      }
    }
    return first;
  }
}
