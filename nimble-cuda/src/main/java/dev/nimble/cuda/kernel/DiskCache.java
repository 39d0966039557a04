package dev.nimble.cuda.kernel;

import com.google.common.hash.Hashing;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Texts kept on disk between processes: compiled kernels, measured choices. Each entry is a file of
 * its own, written beside its place and moved there, so that processes may share the folder; an
 * entry carries the hash of its text, and a damaged one counts as missing. A folder that cannot be
 * read or written makes the cache useless, never an error.
 */
public final class DiskCache {
  private static final String MAGIC = "nimble-cache 1 ";

  private final @Nullable Path folder;

  /** A cache in {@code folder}, made when first written; null for none. */
  public DiskCache(@Nullable Path folder) {
    this.folder = folder;
  }

  /**
   * The cache of this user: the folder that the system property {@code nimble.cache} names ({@code
   * off} for none), else {@code nimble-java} in {@code XDG_CACHE_HOME} or {@code ~/.cache}.
   */
  public static DiskCache ofUser() {
    String named = System.getProperty("nimble.cache");
    if (named != null) {
      return new DiskCache(named.equals("off") ? null : Path.of(named));
    }
    String root = System.getenv("XDG_CACHE_HOME");
    String home = System.getProperty("user.home");
    if (root == null || root.isEmpty()) {
      return new DiskCache(home == null ? null : Path.of(home, ".cache", "nimble-java"));
    }
    return new DiskCache(Path.of(root, "nimble-java"));
  }

  /** The text last written under {@code key}, if it is there and whole. */
  public Optional<String> read(String key) {
    if (folder == null) {
      return Optional.empty();
    }
    try {
      String entry = Files.readString(file(folder, key));
      int end = entry.indexOf('\n');
      if (end < 0) {
        return Optional.empty();
      }
      String text = entry.substring(end + 1);
      return entry.substring(0, end).equals(header(key, text))
          ? Optional.of(text)
          : Optional.empty();
    } catch (IOException | RuntimeException e) {
      return Optional.empty();
    }
  }

  /** Keeps {@code text} under {@code key}, if the folder can be written. */
  public void write(String key, String text) {
    if (folder == null) {
      return;
    }
    @Nullable Path partial = null;
    try {
      Files.createDirectories(folder);
      partial = Files.createTempFile(folder, "partial", ".tmp");
      Files.writeString(partial, header(key, text) + "\n" + text);
      move(partial, file(folder, key));
    } catch (IOException | RuntimeException e) {
      if (partial != null) {
        partial.toFile().delete();
      }
    }
  }

  private static void move(Path from, Path to) throws IOException {
    try {
      Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
    } catch (AtomicMoveNotSupportedException e) {
      Files.move(from, to, StandardCopyOption.REPLACE_EXISTING);
    }
  }

  private static Path file(Path folder, String key) {
    return folder.resolve(hash(key));
  }

  private static String header(String key, String text) {
    return MAGIC + hash(key + "\n" + text);
  }

  static String hash(String text) {
    return Hashing.sha256().hashString(text, StandardCharsets.UTF_8).toString();
  }
}
